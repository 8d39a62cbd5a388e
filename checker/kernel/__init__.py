"""Packed states and native code: a transition system becomes LLVM text, and the text becomes callable functions."""
