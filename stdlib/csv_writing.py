"""Writes rows as CSV text."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import Secret, as_map, type_of
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class EncodeOptions:
    """The options of ``csv_encode``; ``headers``, ``eol`` and ``missing`` are language values that are not validated yet."""

    __slots__ = ("delimiter", "eol", "escape_formulas", "headers", "missing")

    def __init__(self, *, headers: Any, delimiter: str, eol: Any, missing: Any, escape_formulas: bool) -> None:
        self.headers = headers
        self.delimiter = delimiter
        self.eol = eol
        self.missing = missing
        self.escape_formulas = escape_formulas


def encode(rows: list[Any], options: EncodeOptions, on_secret: Callable[[Secret], None]) -> str:
    """The text of a list of maps or of a list of lists. Raises ``RuntimeFault`` naming the row, counted from 1."""
    eol = _eol(options)
    headers = _headers(options)
    writer = _FieldWriter(options, on_secret)
    lines: list[str] = []
    as_maps = bool(rows) and as_map(rows[0]) is not None
    if as_maps and headers is None:
        headers = list(as_map(rows[0]) or {})
        if not headers:
            raise RuntimeFault("csv_encode: the first row has no keys, so there are no columns")
    if headers is not None:
        lines.append(_record([writer.quoted_if_needed(header) for header in headers], options.delimiter))
    for number, row in enumerate(rows, 1):
        entries = as_map(row)
        if (entries is None) == as_maps or (entries is None and type(row) is not list):
            expected = "maps" if as_maps else "lists" if type(rows[0]) is list else "maps or lists"
            raise RuntimeFault(f"csv_encode: the rows must be {expected}, but row {number} is a {type_of(row)}", kind="type")
        if entries is not None:
            columns = headers or []
            fields = [writer.field(entries.get(column), number, column) for column in columns]
        else:
            fields = [writer.field(value, number, position) for position, value in enumerate(row)]
            if not fields:
                raise RuntimeFault(f"csv_encode: row {number} has no fields; a blank line is no row")
        lines.append(_record(fields, options.delimiter))
    return "".join([line + eol for line in lines])


def _record(fields: list[str], delimiter: str) -> str:
    # A single empty field would be a blank line, which readers skip.
    return '""' if fields == [""] else delimiter.join(fields)


def _eol(options: EncodeOptions) -> str:
    if options.eol is None:
        return "\r\n"
    if options.eol not in ("\r\n", "\n"):
        raise RuntimeFault('csv_encode: option "eol" must be "\\r\\n" or "\\n"')
    return options.eol  # type: ignore[no-any-return]


def _headers(options: EncodeOptions) -> list[str] | None:
    headers = options.headers
    if headers is None:
        return None
    if type(headers) is not list or not headers or not all(type(header) is str for header in headers):
        raise RuntimeFault('csv_encode: option "headers" must be a list of column names', kind="type")
    return headers


class _FieldWriter:
    """Writes one field; holds the characters that require quotes."""

    def __init__(self, options: EncodeOptions, on_secret: Callable[[Secret], None]) -> None:
        self._delimiter = options.delimiter
        self._escape_formulas = options.escape_formulas
        self._on_secret = on_secret
        self._missing = ""
        if options.missing is not None:
            if type(options.missing) is not str or not options.missing or self._must_quote(options.missing):
                raise RuntimeFault(
                    'csv_encode: option "missing" must be a text that is not empty and needs no quotes', kind="type"
                )
            self._missing = options.missing

    def field(self, value: Any, row: int, column: str | int) -> str:
        """The field of a value."""
        if value is None:
            return self._missing
        kind = type_of(value)
        if kind in ("number", "decimal", "bool"):
            return self.quoted_if_needed(display(value))
        text = self._text(value, kind, row, column)
        if self._escape_formulas and text.startswith(("=", "+", "-", "@")):
            text = "'" + text
        return self.quoted_if_needed(text)

    def _text(self, value: Any, kind: str, row: int, column: str | int) -> str:
        if kind == "text":
            return value  # type: ignore[no-any-return]
        if kind == "bytes":
            from language.values.json_encoding import base64_text

            return base64_text(value)
        if kind == "secret":
            self._on_secret(value)
            return "[redacted]"
        if kind in ("date", "datetime", "duration", "complex"):
            return display(value)
        where = f'column "{column}"' if isinstance(column, str) else f"field {column + 1}"
        advice = "; write it with json_encode first" if kind in ("list", "map") else ""
        raise RuntimeFault(f"csv_encode: row {row}, {where} is a {kind}, not a single value{advice}", kind="type")

    def quoted_if_needed(self, text: str) -> str:
        """The text as a field, quoted where a reader would otherwise read something else."""
        if text == "" or text == self._missing or self._must_quote(text):
            return '"' + text.replace('"', '""') + '"'
        return text

    def _must_quote(self, text: str) -> bool:
        return '"' in text or self._delimiter in text or "\n" in text or "\r" in text or text.startswith("\ufeff")
