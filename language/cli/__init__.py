"""The command line: ``lang``. Only the command's own entry points import this package."""
