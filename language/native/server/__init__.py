"""The HTTP/1.1 server of ``lang serve``: sockets, threads, TLS, WebSockets and proxied requests before an application.

    listener = bind("127.0.0.1", 8080)
    server = Server(listener, application, Settings())
    server.start()
    serve_until_signalled([server], grace=10.0)

``application`` is anything with the methods of :class:`RequestHandler`; it never sees a socket.
"""

from __future__ import annotations

from language.native.server.engine import ServerEngine
from language.native.server.listening import UNIX, Listener, bind, bind_error, place
from language.native.server.serving import Server, StopSignal, serve_until_signalled
from language.native.server.settings import Certificate, RequestHandler, Settings, from_environment, grace_from_environment
from language.native.server.worker_processes import WorkerProcesses

__all__ = [
    "UNIX",
    "Certificate",
    "Listener",
    "RequestHandler",
    "Server",
    "ServerEngine",
    "Settings",
    "StopSignal",
    "WorkerProcesses",
    "bind",
    "bind_error",
    "from_environment",
    "grace_from_environment",
    "place",
    "serve_until_signalled",
]
