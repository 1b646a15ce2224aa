"""The HTTP/1.1 server of ``lang serve``: sockets, threads, TLS, WebSockets and proxied requests before an application.

    listener = bind("127.0.0.1", 8080)
    server = Server(listener, application, Settings())
    server.start()
    serve_until_signalled([server], grace=10.0)

``application`` is anything with the methods of :class:`Application`; it never sees a socket.
"""

from __future__ import annotations

from language.native.server.listening import Listener, bind
from language.native.server.serving import Server, serve_until_signalled
from language.native.server.settings import Application, Certificate, Settings, from_environment

__all__ = [
    "Application",
    "Certificate",
    "Listener",
    "Server",
    "Settings",
    "bind",
    "from_environment",
    "serve_until_signalled",
]
