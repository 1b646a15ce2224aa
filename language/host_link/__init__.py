"""The host link: one socket between a running program and the runner that started it (``docs/host-link.md``).

Through it the program receives its variables, its secrets and its listening socket, requests every connection, sends its
audit records and its gates, and is told to stop. This package module is shared by both ends: the messages and their
encoding. The program's end is ``language.host_link.client``; it is only imported with ``--host-link``.
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
from language.host_link.model_place import model_place

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
    "model_place",
]
