"""Runs a compiled program: the instance, its context, the functions that compiled code calls, limits and threads."""
