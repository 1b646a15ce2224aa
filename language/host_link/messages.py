"""The messages between a program and its runner: records, each encoded as one line of JSON.

A line is a JSON object in UTF-8; ``type`` names the message. Unknown types and fields are ignored, so that either side may
be newer. A line with ``descriptors`` uses that many of the file descriptors that came with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from math import isfinite
from typing import Any, ClassVar

PROTOCOL = 1
#: The most bytes of a line without its end.
LONGEST_LINE = 1024 * 1024
#: The capabilities under which a connection can be requested.
CAPABILITIES = ("net", "db", "llm")
KINDS = ("approve", "confirm", "ask")
OUTCOMES = ("approved", "denied", "answered", "expired")


class WireError(Exception):
    """A line that violates the protocol. The text never quotes a value."""


@dataclass(frozen=True, slots=True)
class Message:
    """One of the messages below."""

    type: ClassVar[str] = ""


# ---- from the program --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello(Message):
    """The first line. ``resume`` is the secret of ``Start`` when the program reconnects, ``secret`` that of a link over TCP."""

    type: ClassVar[str] = "hello"
    protocol: int
    version: str
    mode: str
    resume: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Ready(Message):
    """A service listens and its top level has ended, or a run begins."""

    type: ClassVar[str] = "ready"


@dataclass(frozen=True, slots=True)
class Health(Message):
    """The answer to a ``Ping``."""

    type: ClassVar[str] = "health"
    id: int


@dataclass(frozen=True, slots=True)
class AuditSent(Message):
    """A record of the program's audit. ``seq`` counts from 1. Records that are not acknowledged are sent again after a loss."""

    type: ClassVar[str] = "audit"
    seq: int
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GateAsked(Message):
    """A person is asked; the holder of ``token`` may decide. Sent again after a loss.

    ``expires_at`` is in Unix seconds by the program's clock. ``left_ms`` is the time left when it is sent, in milliseconds of
    the monotonic clock; programs of older versions leave it out.
    """

    type: ClassVar[str] = "gate"
    id: str
    kind: str
    message: str
    expires_at: int
    token: str = field(repr=False)
    options: tuple[str, ...] | None = None
    left_ms: int | None = None


@dataclass(frozen=True, slots=True)
class GateEnded(Message):
    """A gate has ended. ``channel`` says how: ``api``, ``link``, ``page``, ``deadline`` or ``exit``."""

    type: ClassVar[str] = "closed"
    id: str
    outcome: str
    channel: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectWanted(Message):
    """Requests a connection to this host and port under one of ``CAPABILITIES``."""

    type: ClassVar[str] = "connect"
    id: int
    host: str
    port: int
    capability: str


@dataclass(frozen=True, slots=True)
class Decided(Message):
    """The answer to ``Decide``: whether the program has accepted the decision, and if not, why."""

    type: ClassVar[str] = "decided"
    id: int
    gate: str
    delivered: bool
    reason: str = ""


# ---- from the runner ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start(Message):
    """The answer to the first ``Hello``: everything that the program is given. ``resume`` is the secret for reconnecting.

    ``host`` holds settings of the platform: ``public_url``, ``approvals_url``, ``trust_proxy``, ``human_timeout``, ``llm``;
    over TCP also ``egress``, the port of the proxy for connections.
    """

    type: ClassVar[str] = "start"
    resume: str = field(repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    host: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Resumed(Message):
    """The answer to the ``Hello`` of a reconnection: records up to ``audited`` are stored."""

    type: ClassVar[str] = "resumed"
    audited: int


@dataclass(frozen=True, slots=True)
class Listen(Message):
    """Comes with the listening socket of the service, or over TCP names the port to listen on."""

    type: ClassVar[str] = "listen"
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Ping(Message):
    """Answered by ``Health``."""

    type: ClassVar[str] = "ping"
    id: int


@dataclass(frozen=True, slots=True)
class Audited(Message):
    """Records up to this one are stored."""

    type: ClassVar[str] = "audited"
    seq: int


@dataclass(frozen=True, slots=True)
class Connected(Message):
    """Comes with the connected socket."""

    type: ClassVar[str] = "connected"
    id: int


@dataclass(frozen=True, slots=True)
class ConnectRefused(Message):
    """There is no connection. ``denied``: the ceiling forbids it; otherwise the server did not answer."""

    type: ClassVar[str] = "refused"
    id: int
    reason: str
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Decide(Message):
    """Decides a gate: ``decision`` of an approve or confirm, ``value`` of an ask. Answered by ``Decided``."""

    type: ClassVar[str] = "decide"
    id: int
    gate: str
    token: str = field(repr=False)
    decision: bool | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Drain(Message):
    """Stop accepting and finish requests under way: a newer program has the listening socket."""

    type: ClassVar[str] = "drain"


@dataclass(frozen=True, slots=True)
class Stop(Message):
    """Stop gracefully within ``grace`` seconds."""

    type: ClassVar[str] = "stop"
    grace: float


MESSAGES: Mapping[str, type[Message]] = {
    known.type: known
    for known in (
        Hello, Ready, Health, AuditSent, GateAsked, GateEnded, ConnectWanted, Decided,
        Start, Resumed, Listen, Ping, Audited, Connected, ConnectRefused, Decide, Drain, Stop,
    )
}  # fmt: skip


# ---- as JSON -----------------------------------------------------------------------------------------------------------


def encode(message: Message, descriptors: int = 0) -> bytes:
    """The line of a message, with its line end. Raises ``WireError`` if it is longer than ``LONGEST_LINE``."""
    given: dict[str, Any] = {"type": message.type}
    for each in fields(message):
        value = getattr(message, each.name)
        if each.default is MISSING or value != each.default:
            given[each.name] = value
    if descriptors:
        given["descriptors"] = descriptors
    line = json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    if len(line) > LONGEST_LINE:
        raise WireError(f"a {message.type} message of {len(line)} bytes: a line has at most {LONGEST_LINE}")
    return line + b"\n"


def decode(line: bytes) -> tuple[Message | None, int]:
    """The message of a line without its end, ``None`` for an unknown type; and how many descriptors it uses.

    Raises ``WireError``.
    """
    try:
        # As text: from bytes ``json.loads`` accepts other encodings too, and surrogates.
        given = json.loads(line.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
        if b"\\u" in line:  # a lone surrogate is not valid text and cannot be encoded
            json.dumps(given, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        raise WireError("a line that is not JSON") from None
    if not isinstance(given, dict):
        raise WireError("a line that is not a JSON object")
    count = given.get("descriptors", 0)
    if not (_is_int(count) and 0 <= count <= 16):
        raise WireError("descriptors is no small number")
    name = given.get("type")
    if not isinstance(name, str):
        raise WireError("a line without a type")
    known = MESSAGES.get(name)
    if known is None:
        return None, count
    values: dict[str, Any] = {}
    for each in fields(known):
        if each.name not in given:
            if each.default is MISSING and each.default_factory is MISSING:
                raise WireError(f"{name} without {each.name}")
            continue
        fits = _FITS[str(each.type)](given[each.name])
        if fits is _WRONG:
            raise WireError(f"{each.name} of {name} is no {each.type}")
        values[each.name] = fits
    return known(**values), count


def _no_number(text: str) -> Any:
    raise ValueError(text)


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(text)
    return value


_WRONG: Any = object()


def _is_int(value: object) -> bool:
    return type(value) is int and -(2**53) < value < 2**53


def _when(fits: Callable[[Any], bool]) -> Callable[[Any], Any]:
    return lambda value: value if fits(value) else _WRONG


def _texts(value: object) -> Any:
    if value is None:
        return None
    return tuple(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else _WRONG


_FITS: Mapping[str, Callable[[Any], Any]] = {
    "int": _when(_is_int),
    "int | None": _when(lambda value: value is None or _is_int(value)),
    "float": _when(lambda value: _is_int(value) or type(value) is float),
    "bool": _when(lambda value: type(value) is bool),
    "bool | None": _when(lambda value: value is None or type(value) is bool),
    "str": _when(lambda value: isinstance(value, str)),
    "str | None": _when(lambda value: value is None or isinstance(value, str)),
    "tuple[str, ...] | None": _texts,
    "Mapping[str, Any]": _when(lambda value: isinstance(value, dict)),
    "Mapping[str, str]": _when(lambda value: isinstance(value, dict) and all(isinstance(v, str) for v in value.values())),
}
