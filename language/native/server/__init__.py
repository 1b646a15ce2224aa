"""The HTTP/1.1 server of ``lang serve``: sockets, threads, TLS, WebSockets and proxied requests before an application.

    listener = bind("127.0.0.1", 8080)
    server = Server(listener, application, Settings())
    server.start()
    serve_until_signalled([server], grace=10.0)

``application`` is anything with the methods of :class:`RequestHandler`; it never sees a socket.

Why there is a server here at all
---------------------------------

Parsing is left to libraries: llhttp (httptools) reads HTTP, wsproto reads and writes the frames of WebSockets, ``ssl`` is
OpenSSL. What remains is what no server library offers to blocking handlers in one process:

- a handler that waits for a person holds its thread for minutes, thousands of them at once, and costs the others nothing;
- a handler that returns quickly is run by the thread that read the request, without a context switch;
- WebSockets and streams are spoken by blocking handlers, at the pace of the client, and end when it leaves;
- a handler is notified when its client has gone and at shutdown, and is cancelled after the grace period;
- requests and bodies are checked before they are read completely: limits, the program's own words for 413, ``100 Continue``;
- ``proxy to`` streams in both directions with new framing; several programs and listeners share one pool of threads;
- it is pure Python, so it runs wherever Python 3.11 to 3.15 runs, and in a forked worker.

Measured beside granian 2.8.7 (Rust, hyper) on 22 November 2026, on 2 cores that others used too, CPython 3.11: one worker
process, a handler that returns 42 bytes of JSON, wrk with 50 connections, alternating rounds of 4 seconds. The figures are
requests per second of processor time (medians; wall-clock rates depended on the other users of the machine) and the memory of
the process tree (PSS):

======================================== ============== ======= =========================== =======
server                                   requests/CPU s  MiB     with 2,000 handlers waiting  MiB
======================================== ============== ======= =========================== =======
this one                                 61,000          10      52,900                       42
granian, WSGI (1 or 2,100 threads)       58,100          38      37,100                       192
granian, RSGI (asyncio, cannot wait so)  34,100          39      -                            -
======================================== ============== ======= =========================== =======

``python tests/bench/serve.py`` compares a whole program with servers of other languages.
"""

from __future__ import annotations

from language.native.server.engine import ServerEngine
from language.native.server.listening import UNIX, Listener, bind, bind_error, is_loopback, place
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
    "is_loopback",
    "place",
    "serve_until_signalled",
]
