"""The host link: one socket between a running program and the runner that started it (``docs/host-link.md``).

Over it the program gets its variables, its secrets and its listening socket, asks for every connection, hands over its audit
and its gates, and is told to end. This door is what both ends share: the messages and their form on the wire. The end inside
the interpreter is ``language.host_link.client``; nothing of it is loaded without ``--host-link``.
"""

from __future__ import annotations

from language.host_link.messages import (
    CAPABILITIES,
    LONGEST_LINE,
    PROTOCOL,
    Audited,
    AuditSent,
    Connected,
    ConnectRefused,
    ConnectWanted,
    Decide,
    Decided,
    Drain,
    GateAsked,
    GateEnded,
    Health,
    Hello,
    Listen,
    Message,
    Ping,
    Ready,
    Resumed,
    Start,
    Stop,
    WireError,
    decode,
    encode,
)

__all__ = [
    "CAPABILITIES",
    "LONGEST_LINE",
    "PROTOCOL",
    "AuditSent",
    "Audited",
    "ConnectRefused",
    "ConnectWanted",
    "Connected",
    "Decide",
    "Decided",
    "Drain",
    "GateAsked",
    "GateEnded",
    "Health",
    "Hello",
    "Listen",
    "Message",
    "Ping",
    "Ready",
    "Resumed",
    "Start",
    "Stop",
    "WireError",
    "decode",
    "encode",
]
