"""Served programs: turns the record of a request into the record of a reply, without sockets.

Both the HTTP server (``language.native.server``) and handler mode (``Program.handle``) use it.
"""
