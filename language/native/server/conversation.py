"""Replies of unknown length. Event streams are sent here; WebSockets and proxied requests have modules of their own."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from language.native.server.heads import unsized_head
from language.native.server.writing import Writer
from language.serve.reply import ClientGone, ProxyReply, SocketReply, StreamReply

if TYPE_CHECKING:
    from language.native.server.connection import Connection
    from language.native.server.engine import ServerEngine
    from language.native.server.requests import Incoming
    from language.serve.reply import Reply


def converse(engine: ServerEngine, connection: Connection, incoming: Incoming, reply: Reply) -> None:
    """Sends a reply of unknown length and returns at its end. Raises ``OSError`` when the client has closed the connection."""
    if isinstance(reply, StreamReply):
        stream(engine, connection, reply)
    elif isinstance(reply, ProxyReply):
        from language.native.server.proxying import forward

        forward(engine, connection, incoming, reply)
    elif isinstance(reply, SocketReply):
        from language.native.server.websockets import talk

        talk(engine, connection, incoming, reply)
    else:
        raise TypeError(f"no way to send a {type(reply).__name__}")


def stream(engine: ServerEngine, connection: Connection, reply: StreamReply) -> None:
    """Sends what the program produces as it is produced. The end of the connection is the end of the reply."""
    connection.leaving = True
    settings = connection.site.settings
    writer = Writer(connection, settings.write_seconds)

    def keep_alive(_: float) -> None:
        try:
            writer.push_if_idle(reply.keepalive, settings.keepalive)
        except ClientGone:
            return  # the producer gets the error at its next write

    with suppress(ClientGone):  # the producer gets the error at its first write
        writer.send(unsized_head(reply))
    keeps = bool(settings.keepalive and reply.keepalive)
    if keeps:
        engine.watchers.add(keep_alive)
    try:
        reply.produce(writer)
        writer.send(b"")
    except ClientGone:
        raise ConnectionResetError from None
    finally:
        if keeps:
            engine.watchers.discard(keep_alive)
