"""Small modules in the place of large ones of Python's library, of which the builds need little."""
