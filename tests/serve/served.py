"""A program served without sockets: its application, and what it wrote."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from language.compiler.compilation import compile_source
from language.gates.queue import GateQueue
from language.native.cancellation import Cancellation
from language.native.host import NativeHost
from language.native.server import is_loopback
from language.native.static_denylist import StaticDenylist
from language.runtime.context import Context
from language.runtime.instance import Instance
from language.runtime.modules import Sources
from language.serve.application import Application
from language.serve.hosting import ServeBlock
from language.serve.reply import Reply
from language.serve.request import Request, split_target
from language.shared.memory_store import InMemorySharedStore


class QuietHost(NativeHost):
    """The host of a command, its lines kept."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.errors: list[str] = []

    def write_line(self, line: str) -> None:
        self.lines.append(line)

    def write_error_line(self, line: str) -> None:
        self.errors.append(line)


class Shielded:
    """Listens to nothing and keeps the block."""

    def __init__(self, *, secure: bool = False, tls: bool = False, local: bool = False, access_log: bool = False) -> None:
        self.secure = secure
        self.local = local
        self.access_log = access_log
        self.names: tuple[str, ...] = ()
        self.tls = tls
        self.blocks: list[ServeBlock] = []

    def port(self, declared: int) -> int:
        return declared

    def cancellation(self, wake: Callable[[int], None]) -> Cancellation:
        return Cancellation(wake)

    def static_denylist(self, instance: Instance) -> Callable[[str, os.stat_result], bool]:
        return StaticDenylist(instance)

    def local_only(self, declared: str | None) -> bool:
        return self.local and is_loopback(declared or "127.0.0.1")

    def shutdown(self) -> None:
        return

    def listen(self, block: ServeBlock) -> None:
        self.blocks.append(block)


class Served:
    """A program whose top level has run. ``files`` lie in ``folder`` beside it."""

    def __init__(
        self,
        source: str,
        folder: Path | None = None,
        *,
        secure: bool = False,
        tls: bool = False,
        health: str | None = None,
        local: bool = False,
        access_log: bool = False,
        settings: dict[str, str] | None = None,
    ) -> None:
        self.host = QuietHost()
        file = "app.lang"
        if folder is not None:
            file = str(folder / "app.lang")
            Path(file).write_text(source, encoding="utf-8")
        self.context = Context(self.host, mode="serve")
        self.kept = Shielded(secure=secure, tls=tls, local=local, access_log=access_log)
        gates = GateQueue(self.host, settings or {})
        self.context.gates = gates
        self.gates = gates
        services = self.context.services
        services.hosting, services.gates, services.health = self.kept, gates, health
        services.store = InMemorySharedStore(self.host)
        code = compile_source(source, file).named(file)
        self.instance = Instance(code, self.host, context=self.context, sources=Sources(os.path.dirname(file) or "."))
        self.instance.run()

    @property
    def block(self) -> ServeBlock:
        return self.kept.blocks[0]

    @property
    def application(self) -> Application:
        application = self.block.application
        assert isinstance(application, Application)
        return application

    def __call__(self, method: str, target: str, body: bytes | str = b"", **fields: str) -> Reply:
        """One request; ``fields`` are header fields, ``_`` for ``-``."""
        return self.application.respond(request(method, target, body, **fields))


def request(method: str, target: str, body: bytes | str = b"", address: str = "127.0.0.1", **fields: str) -> Request:
    path, query = split_target(target)
    pairs = [(name.replace("_", "-"), value) for name, value in fields.items()]
    data = body.encode() if isinstance(body, str) else body
    return Request(method, path, query, pairs, data, address=address)


def header(reply: Reply, name: str) -> list[str]:
    """The values of a header field of the reply, in order."""
    return [value for key, value in reply.headers if key.lower() == name.lower()]


class Collected:
    """A sink that keeps what is sent; ``limit`` frames until the client is gone."""

    def __init__(self, limit: int | None = None) -> None:
        self.data = b""
        self._limit = limit

    def send(self, data: bytes) -> None:
        from language.serve.reply import ClientGone

        if self._limit is not None:
            if self._limit == 0:
                raise ClientGone
            self._limit -= 1
        self.data += data


def streamed(reply: Any, limit: int | None = None) -> str:
    """What a streaming reply writes."""
    sink = Collected(limit)
    reply.produce(sink)
    return sink.data.decode()
