"""The record of one request, as the server or handler mode gives it to the application."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Request:
    """One request. Bytes are decoded to text, and nothing else is decoded.

    Args:
        method: in upper case.
        path: the target up to ``?`` or ``#``, not percent-decoded.
        query_text: the text between ``?`` and ``#``.
        fields: the header fields in the order sent, names in lower case, values without blanks at either end.
        octets: whether values of fields are bytes as Latin-1 text (RFC 9110 section 5.5), false if they came as text.
        body: the whole body; ``b""`` if it is in the file ``body_file``.
        address: that of the client, which is taken from a header field of a trusted proxy if there is one.
        secure: whether the client uses TLS.
        arrived: monotonic seconds.
        public_host: host and port that the client used, if they are not those of ``Host``: the ``X-Forwarded-Host`` of a
            trusted proxy, in handler mode those of the URL.
        version: that of HTTP, ``1.1`` or ``1.0``.
    """

    __slots__ = (
        "address",
        "arrived",
        "body",
        "body_file",
        "fields",
        "method",
        "octets",
        "path",
        "public_host",
        "query_text",
        "secure",
        "version",
    )  # fmt: skip

    def __init__(
        self,
        method: str,
        path: str,
        query_text: str = "",
        fields: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        *,
        body_file: str | None = None,
        address: str = "",
        secure: bool = False,
        arrived: float = 0.0,
        octets: bool = True,
    ) -> None:
        self.method = method
        self.path = path
        self.query_text = query_text
        self.fields = fields
        self.body = body
        self.body_file = body_file
        self.address = address
        self.secure = secure
        self.arrived = arrived
        self.octets = octets
        self.public_host = ""
        self.version = "1.1"

    def field(self, name: str) -> str | None:
        """The value of a header field by its lower-case name, the last one where it is repeated; ``None`` without one."""
        found = None
        for key, value in self.fields:
            if key == name:
                found = value
        return found

    def combined_field(self, name: str) -> str | None:
        """The value of a header field by its lower-case name; the values of a repeated one are joined with ``, `` (RFC 9110
        section 5.3). ``None`` without one.
        """
        values = [value for key, value in self.fields if key == name]
        return ", ".join(values) if values else None

    def text(self, value: str) -> str:
        """The value of a header field as a program sees it: decoded as UTF-8 if its octets are valid UTF-8, else as Latin-1."""
        if self.octets and not value.isascii():
            try:
                return value.encode("latin-1").decode("utf-8")
            except UnicodeError:
                return value
        return value

    @property
    def host(self) -> str:
        """The name in ``Host`` without the port, in lower case; the empty text without one."""
        name = (self.field("host") or "").lower()
        if name.startswith("["):
            return name.partition("]")[0] + "]"
        return name.partition(":")[0]


def authority(target: str) -> str:
    """The host and port of a request target that is an absolute URL; empty for one that is a path."""
    rest = "" if target.startswith("/") else target.partition("://")[2]
    cut = min((at for at in (rest.find(mark) for mark in "/?#") if at >= 0), default=len(rest))
    return rest[:cut].rpartition("@")[2]


def split_target(target: str) -> tuple[str, str]:
    """The path and the query of a request target: ``/a?b#c`` is ``("/a", "b")``. An absolute URL is split in the same way."""
    if not target.startswith("/") and "://" in target:
        rest = target.partition("://")[2]
        cut = min((at for at in (rest.find(mark) for mark in "/?#") if at >= 0), default=len(rest))
        target = rest[cut:] if rest[cut:].startswith("/") else "/" + rest[cut:]
    path, _, query = target.partition("#")[0].partition("?")
    return path, query
