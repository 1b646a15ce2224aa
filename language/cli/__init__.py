"""The command line: ``lang``. Imported by nothing but its own entry points."""
