"""Tracing of a run: the records of its ``trace``, ``measure`` and ``checkpoint`` statements, and the output of its spans as a
file or as a tree.
"""
