"""What was asked and what was found, as data, and the words for its values."""
