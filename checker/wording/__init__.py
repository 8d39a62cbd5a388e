"""Words and numbers in readable form: values, lines in columns, places of files. All reports use them."""
