"""Programs that serve: from the record of a request to the record of a reply, without a socket anywhere.

What listens (``language.native.server``) and what is handed one request at a time (``Program.handle``) both stand on this.
"""
