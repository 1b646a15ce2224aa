"""From a value to JSON text (RFC 8259): by the interpreter's C encoder where its result is exactly ours, else step by step."""

from __future__ import annotations

from language.display import number_text, quote
from language.errors import RuntimeFault
from language.values import FALSE, TRUE, Bool, Secret, as_map, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST_DEPTH = 1000
REDACTED = '"[redacted]"'

# Up to here the C encoder may recurse; it runs on the stack of whatever thread calls.
_FAST_DEPTH = 64


class _NeedsExactPath(Exception):
    """A value that the C encoder cannot write as the language wants it."""


def encode(
    value: Any, builtin: str = "json_encode", on_secret: Callable[[Secret], None] | None = None, place: str = "the value"
) -> str:
    """JSON text of a value on one line, ASCII only.

    ``on_secret`` is called for each secret, which is written as ``"[redacted]"``. Raises ``RuntimeFault`` beginning with the
    name of the builtin, and naming the place (``the value["f"]``), for what is no data (a task) or is nested deeper than
    ``MOST_DEPTH``.
    """
    if not _is_deep(value):
        try:
            return _fast_encoder().encode(value)  # type: ignore[no-any-return]
        except _NeedsExactPath:
            pass
        except ValueError:
            pass  # An integer with more digits than the process lets Python print.
    writer = _Writer(builtin, on_secret, place)
    writer.write(value)
    return "".join(writer.out)


def encode_for_script(value: Any, builtin: str, on_secret: Callable[[Secret], None] | None = None) -> str:
    """As :func:`encode`, and safe inside an HTML ``<script>`` element."""
    text = encode(value, builtin, on_secret)
    # These three stand in JSON only inside text, where an escape means the same.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def base64_text(data: bytes) -> str:
    """Standard padded base64, the form of bytes in JSON, CSV and TOML."""
    from binascii import b2a_base64

    return b2a_base64(data, newline=False).decode()


def _is_deep(value: Any) -> bool:
    level = [value] if type(value) is dict or type(value) is list else []
    for _ in range(_FAST_DEPTH):
        if not level:
            return False
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) is dict or type(item) is list
        ]
    return True


def _plain(value: Any) -> Any:
    if value is TRUE:
        return True
    if value is FALSE:
        return False
    if value.__class__ is bytes:
        return base64_text(value)
    raise _NeedsExactPath


def _fast_encoder() -> Any:
    global _encoder
    if _encoder is None:
        from json import JSONEncoder

        _encoder = JSONEncoder(check_circular=False, default=_plain)
    return _encoder


_encoder: Any = None


class _Writer:
    """The exact path: knows where it stands, writes every type, goes as deep as ``MOST_DEPTH`` and no deeper."""

    def __init__(self, builtin: str, on_secret: Callable[[Secret], None] | None, place: str) -> None:
        from json.encoder import encode_basestring_ascii

        self.out: list[str] = []
        self._text: Callable[[str], str] = encode_basestring_ascii
        self._builtin = builtin
        self._on_secret = on_secret
        self._place = place
        self._path: list[str | int] = []

    def write(self, value: Any) -> None:
        kind = value.__class__
        if kind is str:
            self.out.append(self._text(value))
        elif kind is list:
            self._write_list(value)
        elif kind is dict:
            self._write_map(value)
        else:
            self.out.append(self._scalar(value))

    def _write_list(self, items: list[Any]) -> None:
        path, out = self._path, self.out
        self._enter()
        out.append("[")
        for index, item in enumerate(items):
            if index:
                out.append(", ")
            path[-1] = index
            self.write(item)
        out.append("]")
        path.pop()

    def _write_map(self, entries: dict[str, Any]) -> None:
        path, out = self._path, self.out
        self._enter()
        separator = "{"
        for key, item in entries.items():
            out.append(separator + self._text(key) + ": ")
            separator = ", "
            path[-1] = key
            self.write(item)
        out.append("}" if entries else "{}")
        path.pop()

    def _enter(self) -> None:
        if len(self._path) == MOST_DEPTH:
            raise RuntimeFault(f"{self._builtin}: the value is nested more than {MOST_DEPTH} levels deep")
        self._path.append(0)

    def _scalar(self, value: Any) -> str:
        kind = value.__class__
        if kind is int:
            return number_text(value)
        if kind is float:
            return _float_text(value)
        if value is None:
            return "null"
        if kind is Bool:
            return "true" if value else "false"
        if kind is Secret:
            if self._on_secret is not None:
                self._on_secret(value)
            return REDACTED
        if kind is bytes:
            return '"' + base64_text(value) + '"'
        if kind is complex:
            return f'{{"re": {_float_text(value.real)}, "im": {_float_text(value.imag)}}}'
        return self._other(value)

    def _other(self, value: Any) -> str:
        entries = as_map(value)
        if entries is not None:
            self._write_map(entries)
            return ""
        name = type_of(value)
        if name == "decimal":
            return number_text(value)
        if name in ("date", "datetime", "duration"):
            return self._text(value.display())
        raise RuntimeFault(f"{self._builtin}: {self._here()} is a {name}, not data")

    def _here(self) -> str:
        return self._place + "".join(f"[{quote(step) if isinstance(step, str) else step}]" for step in self._path)


def _float_text(number: float) -> str:
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    return repr(number)
