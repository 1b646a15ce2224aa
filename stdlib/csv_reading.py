"""Parses CSV text: splits it into records and converts their fields to values."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import FALSE, TRUE, as_map, type_of
from stdlib.large_texts import split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_MOST_DIGITS = 4300


class ParseOptions:
    """The options of ``csv_parse``; ``types`` and ``missing`` are language values that are not validated yet."""

    __slots__ = ("delimiter", "headers", "missing", "numbers", "types")

    def __init__(self, *, headers: bool, delimiter: str, numbers: bool, types: Any, missing: Any) -> None:
        self.headers = headers
        self.delimiter = delimiter
        self.numbers = numbers
        self.types = types
        self.missing = missing


def parse(text: str, options: ParseOptions) -> list[Any]:
    """The rows: maps with ``headers``, else lists. Raises ``RuntimeFault`` with the line of what is wrong."""
    missing = _missing_texts(options.missing)
    readers = _type_readers(options.types)
    text = text.removeprefix("\ufeff")
    records = _records(text, options.delimiter, missing)
    columns: list[str] = []
    if options.headers:
        line, columns = next(_records(text, options.delimiter, frozenset()), (0, []))
        columns = ["" if column is None else column for column in columns]
        _refuse_duplicates(columns, line)
        next(records, None)
    width = len(columns)
    by_position: list[Callable[[str], Any] | None] | None = None
    rows: list[Any] = []
    for line, fields in records:
        if width == 0:
            width = len(fields)
        if len(fields) != width:
            first = "the first record (the header row)" if options.headers else "the first record"
            raise RuntimeFault(
                f"csv_parse: line {line}: record has {len(fields)} field(s), but {width} were expected from {first}"
            )
        if by_position is None:
            names = columns if options.headers else [str(position) for position in range(width)]
            by_position = _by_position(readers, names, options.numbers)
        _convert(fields, by_position, columns, line)
        rows.append(dict(zip(columns, fields)) if options.headers else fields)
    return rows


class _Lines:
    """The positions of the line ends of a text: LF, CRLF or CR. Positions must be asked for in ascending order."""

    __slots__ = ("_feed", "_return", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        # The next LF and CR after the last position that was asked for.
        self._feed = self._return = -1

    def end(self, position: int) -> tuple[int, int]:
        """The end of the line at this position, and the beginning of the next one."""
        if self._feed < position:
            self._feed = self._next("\n", position)
        if self._return < position:
            self._return = self._next("\r", position)
        if self._return < self._feed:
            return self._return, self._return + (2 if self._feed == self._return + 1 else 1)
        return self._feed, self._feed + 1

    def _next(self, mark: str, position: int) -> int:
        found = self._text.find(mark, position)
        return len(self._text) if found < 0 else found


def _records(text: str, delimiter: str, missing: frozenset[str]) -> Iterator[tuple[int, list[Any]]]:
    """Each record with the line it starts on. A field is text, or ``None`` if unquoted and empty or one of ``missing``."""
    position, line, size = 0, 1, len(text)
    lines = _Lines(text)
    while position < size:
        end, behind = lines.end(position)
        if text.find('"', position, end) < 0:
            if end > position:
                fields: list[Any] = [field or None for field in split(text[position:end], delimiter)]
                if missing:
                    fields = [None if field in missing else field for field in fields]
                yield line, fields
            position, line = behind, line + 1
            continue
        fields, position, next_line = _quoted_record(text, position, line, delimiter, missing, lines)
        yield line, fields
        line = next_line


def _quoted_record(
    text: str, position: int, line: int, delimiter: str, missing: frozenset[str], lines: _Lines
) -> tuple[list[Any], int, int]:
    """A record whose first line has quotes, the position after its line end, and the line number there."""
    fields: list[Any] = []
    while True:
        quoted = text.startswith('"', position)
        value = ""
        if quoted:
            start = position
            value, position = _quoted_text(text, position + 1, line)
            line += text.count("\n", start, position) + text.count("\r", start, position) - text.count("\r\n", start, position)
        # After a closing quote, all text up to the delimiter belongs to the field, as in most readers.
        stop, behind = lines.end(position)
        cut = text.find(delimiter, position, stop)
        ends = cut < 0
        rest = text[position : stop if ends else cut]
        if quoted:
            fields.append(value + rest)
        else:
            fields.append(None if not rest or rest in missing else rest)
        if ends:
            return fields, behind, line + 1
        position = cut + 1


def _quoted_text(text: str, position: int, line: int) -> tuple[str, int]:
    """The field whose opening quote is just before ``position``, and the position after its closing quote."""
    parts: list[str] = []
    while True:
        quote = text.find('"', position)
        if quote < 0:
            raise RuntimeFault(f"csv_parse: unclosed quote in the field that starts on line {line}")
        parts.append(text[position:quote])
        if not text.startswith('"', quote + 1):
            return "".join(parts), quote + 1
        parts.append('"')
        position = quote + 2


def _refuse_duplicates(columns: list[str], line: int) -> None:
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            raise RuntimeFault(f'csv_parse: line {line}: duplicate header "{column}"')
        seen.add(column)


def _missing_texts(missing: Any) -> frozenset[str]:
    if missing is None:
        return frozenset()
    if type(missing) is not list or not all(type(item) is str for item in missing):
        raise RuntimeFault('csv_parse: option "missing" must be a list of texts', kind="type")
    return frozenset(missing)


def _type_readers(types: Any) -> dict[str, tuple[str, Callable[[str], Any]]]:
    if types is None:
        return {}
    wanted = as_map(types)
    if wanted is None:
        raise RuntimeFault(f'csv_parse: option "types" must be a map from column to type, got {type_of(types)}', kind="type")
    readers = {}
    for column, name in wanted.items():
        if type(name) is not str or name not in _READERS:
            shown = f'"{name}"' if type(name) is str else type_of(name)
            raise RuntimeFault(
                f'csv_parse: option "types": unknown type {shown} for column "{column}"; valid types are: {", ".join(_READERS)}'
            )
        readers[column] = (name, _READERS[name])
    return readers


def _by_position(readers: dict[str, tuple[str, Callable[[str], Any]]], names: list[str], numbers: bool) -> list[Any]:
    for column in readers:
        if column not in names:
            raise RuntimeFault(
                f'csv_parse: option "types" names the column "{column}", which the text does not have', kind="name"
            )
    plain = ("", number_of) if numbers else None
    return [readers.get(name, plain) for name in names]


def _convert(fields: list[Any], by_position: list[Any], columns: list[str], line: int) -> None:
    for position, reader in enumerate(by_position):
        field = fields[position]
        if reader is None or field is None:
            continue
        name, read = reader
        if not field and name not in ("", "text"):
            fields[position] = None
            continue
        try:
            fields[position] = read(field)
        except ValueError:
            column = f'column "{columns[position]}"' if columns else f"column {position}"
            raise RuntimeFault(f'csv_parse: line {line}: {column}: "{field}" is no {name}') from None


def number_of(text: str) -> Any:
    """The integer or float that a field contains, ignoring blanks around it; any other field as the text itself."""
    bare = text.strip(" \t")
    digits = bare[1:] if bare.startswith(("+", "-")) else bare
    if not digits.isascii() or not digits:
        return text
    if digits.isdigit():
        return int(bare) if len(digits) <= _MOST_DIGITS else text
    # If the text has only these characters, float() accepts it exactly when it is a number: no underscores, no words.
    if digits.strip("0123456789.eE+-"):
        return text
    try:
        number = float(bare)
    except ValueError:
        return text
    return text if number - number != 0 else number


def _read_int(text: str) -> Any:
    number = number_of(text)
    if type(number) is int:
        return number
    raise ValueError


def _read_float(text: str) -> Any:
    number = number_of(text)
    if type(number) is int:
        try:
            return float(number)
        except OverflowError:
            raise ValueError from None
    if type(number) is float:
        return number
    if text in ("inf", "-inf", "nan"):
        return float(text)
    raise ValueError


def _read_decimal(text: str) -> Any:
    from stdlib.conversions import text_to_decimal

    try:
        number = text_to_decimal(text.strip(" \t"))
    except RuntimeFault:
        number = None
    if number is None:
        raise ValueError
    return number


def _read_text(text: str) -> Any:
    return text


def _read_bool(text: str) -> Any:
    word = text.strip(" \t").lower()
    if word == "true":
        return TRUE
    if word == "false":
        return FALSE
    raise ValueError


def _read_date(text: str) -> Any:
    from language.values.iso_times import read_date

    return _there(read_date(text.strip(" \t")))


def _read_datetime(text: str) -> Any:
    from language.values.iso_times import read_datetime

    return _there(read_datetime(text.strip(" \t")))


def _read_duration(text: str) -> Any:
    from language.values.iso_times import read_duration

    return _there(read_duration(text.strip(" \t")))


def _there(value: Any) -> Any:
    if value is None:
        raise ValueError
    return value


_READERS: dict[str, Callable[[str], Any]] = {
    "int": _read_int,
    "float": _read_float,
    "decimal": _read_decimal,
    "text": _read_text,
    "bool": _read_bool,
    "date": _read_date,
    "datetime": _read_datetime,
    "duration": _read_duration,
}
