"""Packed states and native code: a transition system as LLVM text, and that text as callable functions."""
