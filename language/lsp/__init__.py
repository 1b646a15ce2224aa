"""The language server, ``lang lsp``: what an editor asks of a program while it is written. Nothing here runs a program."""
