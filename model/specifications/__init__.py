"""What designs are to do, without how: specifications, and for each family of models which state stands for which."""
