"""Small replacements for large modules of Python's library, of which the builds need little."""
