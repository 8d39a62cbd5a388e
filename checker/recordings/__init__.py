"""A run of a real system held against a model: is the observed run one of the model's behaviours?"""
