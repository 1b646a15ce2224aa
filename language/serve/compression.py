"""Content codings: chooses one that a client accepts (RFC 9110 section 12.5.3) and encodes bodies.

Brotli comes from the package ``brotli``, zlib from Python; where one is missing, as in the WebAssembly builds, its coding is
not offered.
"""

from __future__ import annotations

from language.serve.reply import Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

#: Bytes of the smallest body of a program's reply that is compressed.
SMALLEST = 1024

BROTLI = "br"
GZIP = "gzip"

# The body of a program's reply is compressed for one client, so its levels are fast. A file is compressed once for all clients.
_MADE_LEVELS = {BROTLI: 3, GZIP: 4}
_FILE_LEVELS = {BROTLI: 6, GZIP: 6}

_SUBTYPES = frozenset({"html", "css", "javascript", "json", "svg", "plain", "xml"})
_NO_BODY = frozenset({204, 205, 206, 304})

_REMEMBERED = 512
_chosen: dict[str, str] = {}
_compressible: dict[str, bool] = {}


def is_compressible(content_type: str | None) -> bool:
    """Whether bodies of that type are compressed: HTML, CSS, JavaScript, JSON, SVG, plain text, XML, and types based on them
    (``application/ld+json``).
    """
    if content_type is None:
        return False
    known = _compressible.get(content_type)
    if known is None:
        subtype = content_type.partition(";")[0].strip().lower().partition("/")[2]
        known = not _SUBTYPES.isdisjoint(subtype.split("+"))
        _remember(_compressible, content_type, known)
    return known


def negotiate(accept_encoding: str | None) -> str:
    """The coding to send: ``br``, ``gzip``, or ``""`` for none.

    The highest weight wins, and brotli wins a tie. A weight of 0 refuses a coding, ``*`` stands for codings that are not named,
    and ``identity`` with the highest weight means none. An element that is not valid is ignored.
    """
    if not accept_encoding:
        return ""
    known = _chosen.get(accept_encoding)
    if known is None:
        known = _negotiate(accept_encoding)
        _remember(_chosen, accept_encoding, known)
    return known


def _negotiate(accept_encoding: str) -> str:
    weights: dict[str, float] = {}
    for element in accept_encoding.lower().split(","):
        coding, _, parameter = element.partition(";")
        weight = weight_of(parameter.strip())
        if weight is not None:
            coding = coding.strip()
            weights[GZIP if coding == "x-gzip" else coding] = weight
    best, best_weight = "", 0.0
    for coding in _encoders():
        weight = weights.get(coding, weights.get("*", 0.0))
        if weight > best_weight:
            best, best_weight = coding, weight
    return "" if weights.get("identity", 0.0) > best_weight else best


def weight_of(parameter: str) -> float | None:
    """A ``q=0.5`` (RFC 9110 section 12.4.2), 1 for nothing, ``None`` for anything else."""
    if not parameter:
        return 1.0
    name, _, value = parameter.partition("=")
    whole, _, fraction = value.strip().partition(".")
    if name.strip() != "q" or whole not in ("0", "1") or len(fraction) > 3:
        return None
    if fraction and not (fraction.isascii() and fraction.isdigit()):
        return None
    weight = float(f"{whole}.{fraction or 0}")
    return weight if weight <= 1 else None


def encode_file(data: bytes, coding: str) -> bytes:
    """The content of a file in a coding that :func:`negotiate` chose, compressed well because many clients get it."""
    return _encoders()[coding](data, _FILE_LEVELS[coding])


def compress(reply: Reply, accept_encoding: str | None) -> Reply | None:
    """The compressed form of a reply of a program; ``None`` if it is sent as it is.

    Bodies of :data:`SMALLEST` bytes or more of the listed types are compressed, unless they are already encoded, partial, or
    not ``compressible``. Such a reply has ``Vary: Accept-Encoding`` even if this client accepts no coding.
    A strong ``ETag`` of the program becomes weak: the bytes are no longer those it was made for (RFC 9110 section 8.8.1).
    """
    body = reply.body
    if len(body) < SMALLEST or not reply.compressible or type(reply) is not Reply or reply.status in _NO_BODY:
        return None
    if not is_compressible(reply.content_type):
        return None
    if any(name.lower() == "content-encoding" for name, _ in reply.headers):
        return None
    coding = negotiate(accept_encoding)
    headers = _varying(reply.headers)
    encoded = _encoders()[coding](body, _MADE_LEVELS[coding]) if coding else body
    if len(encoded) < len(body):
        body = encoded
        headers = [_weakened(name, value) for name, value in headers]
        headers.append(("Content-Encoding", coding))
    return Reply(reply.status, reply.content_type, body, headers, closes=reply.closes, compressible=False)


def _varying(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers with ``Accept-Encoding`` added to ``Vary``."""
    for name, value in headers:
        if name.lower() == "vary":
            named = [field.strip().lower() for field in value.split(",")]
            if "*" in named or "accept-encoding" in named:
                return list(headers)
    return [*headers, ("Vary", "Accept-Encoding")]


def _weakened(name: str, value: str) -> tuple[str, str]:
    return (name, "W/" + value) if name.lower() == "etag" and value.startswith('"') else (name, value)


def _remember(memory: dict[str, T], key: str, value: T) -> None:
    """Caches a parsed header. The cache is bounded, so that a client which sends many different ones cannot fill the memory."""
    if len(memory) >= _REMEMBERED:
        memory.clear()
    if len(key) <= _REMEMBERED:
        memory[key] = value


_available: dict[str, Callable[[bytes, int], bytes]] | None = None


def _encoders() -> dict[str, Callable[[bytes, int], bytes]]:
    """The available codings, the preferred one first."""
    global _available
    if _available is None:
        _available = {
            coding: encoder for coding, encoder in ((BROTLI, _brotli_encoder()), (GZIP, _gzip_encoder())) if encoder is not None
        }
    return _available


def _brotli_encoder() -> Callable[[bytes, int], bytes] | None:
    try:
        from brotli import compress as brotli_compress
    except ImportError:
        return None

    def encode(data: bytes, level: int) -> bytes:
        encoded: bytes = brotli_compress(data, quality=level)
        return encoded

    return encode


def _gzip_encoder() -> Callable[[bytes, int], bytes] | None:
    try:
        from zlib import DEFLATED, MAX_WBITS, compressobj
    except ImportError:
        return None

    def encode(data: bytes, level: int) -> bytes:
        # MAX_WBITS + 16 selects the gzip format (RFC 1952). The time in its header is 0.
        stream = compressobj(level, DEFLATED, MAX_WBITS + 16)
        return stream.compress(data) + stream.flush()

    return encode
