"""A server for the playground on this machine, with the headers that give the page its isolation."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from wasm_abi.playground.layout import files

TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "lang": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
    "wasm": "application/wasm",
}
HEADERS = {
    # Without these two headers a page gets no shared memory, and a program could not wait for a hook.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "frame-ancestors 'self'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    headers_of_all: ClassVar[dict[str, str]] = HEADERS

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        name = unquote(urlsplit(self.path).path).removeprefix("/") or "index.html"
        path = files().get(name)
        if path is None or not path.is_file():
            self._head(404, {"Content-Length": "0"})
            return
        info = path.stat()
        tag = f'"{info.st_mtime_ns:x}-{info.st_size:x}"'
        if self.headers.get("If-None-Match") == tag:
            self._head(304, {"ETag": tag})
            return
        content = path.read_bytes()
        kind = TYPES[path.suffix.removeprefix(".")]
        self._head(200, {"Content-Type": kind, "Content-Length": str(len(content)), "ETag": tag})
        if body:
            self.wfile.write(content)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, **self.headers_of_all}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing: a line for each request would be useless here."""


class _BareHandler(_Handler):
    headers_of_all: ClassVar[dict[str, str]] = {"Cache-Control": "no-cache"}


def server(port: int, *, isolated: bool = True) -> ThreadingHTTPServer:
    """A server on 127.0.0.1; port 0 takes a free one. With ``isolated`` false it behaves like a server that does not send those
    headers.
    """
    return ThreadingHTTPServer(("127.0.0.1", port), _Handler if isolated else _BareHandler)
