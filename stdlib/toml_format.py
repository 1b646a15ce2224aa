"""TOML 1.0: text to maps and back."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import MISSING, Family
from language.values import FALSE, TRUE, Bool, Secret, as_map, type_of
from language.values.display import number_text, quote
from language.values.unfolding import refuse_unfolded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.runtime.context import Context

family = Family("toml_format", "TOML")

MOST_DEPTH = 128

_BARE_KEY = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


@family.builtin("toml_parse(text, default?)")
def toml_parse(text: Any, default: Any = MISSING) -> Any:
    """The map of a TOML 1.0 text. With a `default`, that is the result for an invalid text.

    Integers are exact, floats may be `inf` and `nan`, dates and datetimes are values, a time of day is its text. Nesting
    deeper than 128 levels is an error like any other: `toml_parse: invalid TOML: ...`.

    `toml_parse("[server]\\nport = 8080")` is `{server: {port: 8080}}`.
    """
    try:
        if type(text) is not str:
            raise RuntimeFault(f"toml_parse expects text, got {type_of(text)}", kind="type")
        return _parsed(text)
    except RuntimeFault:
        if default is MISSING:
            raise
        return default


@family.builtin("toml_encode(map)", context=True)
def toml_encode(ctx: Context, value: Any) -> str:
    """The TOML 1.0 text of a map: first its plain entries, then a `[table]` for each map in it and `[[table]]` entries for
    each list of maps.

    Decimals are written exactly, bytes as base64 text, a secret as `"[redacted]"` with a warning. TOML has no `nothing`: it
    is an error that names its place, as is a task.

    `toml_encode({"name": "x", "server": {"port": 8080}})` is `name = "x"\\n\\n[server]\\nport = 8080\\n`.
    """
    from stdlib.json_format import warn_of_secret

    entries = as_map(value)
    if entries is None:
        raise RuntimeFault(f"toml_encode expects a map, got {type_of(value)}", kind="type")
    refuse_unfolded(entries, "toml_encode: ")
    writer = _Writer(warn_of_secret(ctx, "toml_encode"))
    writer.write_table(entries, [], "the value")
    return "".join([line + "\n" for line in writer.lines])


def _parsed(text: str) -> dict[str, Any]:
    import tomllib

    if text.count(".") >= MOST_DEPTH and _has_a_very_long_key(text):
        raise _too_deep()
    try:
        root = tomllib.loads(text.removeprefix("\ufeff"), parse_float=_checked_float)
    except tomllib.TOMLDecodeError as error:
        raise RuntimeFault(f"toml_parse: invalid TOML: {error}", code="E0407") from None
    except ValueError as error:
        detail = str(error) if isinstance(error, _OutOfRange) else "a number has more than 4300 digits"
        raise RuntimeFault(f"toml_parse: invalid TOML: {detail}", code="E0407") from None
    except RecursionError:
        raise _too_deep() from None
    _settle(root)
    return root


# Strings and comments: anywhere else a quote or # begins one of them.
_STRING_OR_COMMENT = (
    r'"{3}[^"\\]*(?:(?:\\.|"{1,2}(?!"))[^"\\]*)*"{3}'
    r"|'{3}[^']*(?:'{1,2}(?!')[^']*)*'{3}"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
)


def _has_a_very_long_key(text: str) -> bool:
    """Whether a dotted key has more levels than allowed. The parser takes quadratic time in their number."""
    import re

    bare = re.sub(_STRING_OR_COMMENT, "x", text, flags=re.DOTALL)
    return re.search(rf"(?:\.[^.,={{}}\[\]\n]*){{{MOST_DEPTH}}}", bare) is not None


class _OutOfRange(ValueError):
    """A number beyond the largest float."""


def _checked_float(text: str) -> float:
    number = float(text)
    if number - number != 0 and text.lstrip("+-") not in ("inf", "nan"):
        raise _OutOfRange(f"{text if len(text) <= 40 else text[:40] + '…'} is out of range for a float")
    return number


def _too_deep() -> RuntimeFault:
    return RuntimeFault(f"toml_parse: invalid TOML: nested more than {MOST_DEPTH} levels deep", kind="resources")


def _settle(root: dict[str, Any]) -> None:
    """Replaces Python's booleans, dates and times by values of the language, in place, and checks the depth."""
    level: list[Any] = [root]
    depth = 0
    while level:
        depth += 1
        if depth > MOST_DEPTH:
            raise _too_deep()
        below: list[Any] = []
        for container in level:
            for key, item in container.items() if type(container) is dict else enumerate(container):
                kind = type(item)
                if kind is str or kind is int or kind is float:
                    continue
                if kind is bool:
                    container[key] = TRUE if item else FALSE
                elif kind is dict or kind is list:
                    below.append(item)
                else:
                    container[key] = _time(item)
        level = below


def _time(item: Any) -> Any:
    """The value of one of Python's dates or datetimes; a time of day, which the language lacks, as text."""
    from language.values.iso_times import read_date, read_datetime

    text: str = item.isoformat()
    found = read_datetime(text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text) or read_date(text)
    return text if found is None else found


class _Writer:
    """Collects the lines of a document, table by table."""

    def __init__(self, on_secret: Callable[[Secret], None]) -> None:
        self.lines: list[str] = []
        self._on_secret = on_secret

    def write_table(self, entries: dict[str, Any], path: list[str], place: str, header: str | None = None) -> None:
        if len(path) >= MOST_DEPTH:
            raise self._deep()
        tables = {key: table for key, item in entries.items() if (table := _tables(item)) is not None}
        plain = [key for key in entries if key not in tables]
        if header is not None:
            self._write_header(header)
        elif path and (plain or not tables):
            self._write_header(f"[{'.'.join(path)}]")
        for key in plain:
            self.lines.append(f"{_key(key)} = {self._value(entries[key], f'{place}[{quote(key)}]', len(path) + 1)}")
        for key, table in tables.items():
            inner, there = [*path, _key(key)], f"{place}[{quote(key)}]"
            if isinstance(table, dict):
                self.write_table(table, inner, there)
                continue
            for number, row in enumerate(table):
                self.write_table(row, inner, f"{there}[{number}]", f"[[{'.'.join(inner)}]]")

    def _write_header(self, header: str) -> None:
        if self.lines:
            self.lines.append("")
        self.lines.append(header)

    def _value(self, value: Any, place: str, depth: int) -> str:
        if depth > MOST_DEPTH:
            raise self._deep()
        kind = type(value)
        if kind is str:
            return _text(value)
        if kind is Bool:
            return "true" if value else "false"
        if kind is list:
            return f"[{', '.join([self._value(item, f'{place}[{at}]', depth + 1) for at, item in enumerate(value)])}]"
        if kind is bytes:
            from language.values.json_encoding import base64_text

            return _text(base64_text(value))
        if kind is Secret:
            self._on_secret(value)
            return '"[redacted]"'
        entries = as_map(value)
        if entries is not None:
            items = [f"{_key(key)} = {self._value(item, f'{place}[{quote(key)}]', depth + 1)}" for key, item in entries.items()]
            return f"{{{', '.join(items)}}}"
        name = type_of(value)
        if name in ("number", "decimal"):
            return number_text(value)
        if name in ("date", "datetime"):
            return value.display()  # type: ignore[no-any-return]
        if value is None:
            raise RuntimeFault(f"toml_encode: {place} is nothing, which TOML cannot write")
        raise RuntimeFault(f"toml_encode: {place} is a {name}, not data", kind="type")

    @staticmethod
    def _deep() -> RuntimeFault:
        return RuntimeFault(f"toml_encode: the value is nested more than {MOST_DEPTH} levels deep", kind="resources")


def _tables(value: Any) -> dict[str, Any] | list[dict[str, Any]] | None:
    """The map or the maps that get a header of their own; ``None`` for a value that is written after ``key =``."""
    entries = as_map(value)
    if entries is not None:
        return entries
    if type(value) is list and value:
        rows = [row for item in value if (row := as_map(item)) is not None]
        if len(rows) == len(value):
            return rows
    return None


def _key(key: str) -> str:
    return key if key and not key.strip(_BARE_KEY) else _text(key)


def _text(text: str) -> str:
    return quote(text).replace("\x7f", "\\u007f")
