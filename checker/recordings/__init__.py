"""A run of a real system held against a model: is what was seen of it one of the model's behaviours?"""
