"""What a run tells of itself: the records of its ``trace``, ``measure`` and ``checkpoint`` statements, and its spans as a file
or as a tree.
"""
