"""Compares a run of a real system with a model: is the observed run one of the model's behaviours?"""
