"""CSV (RFC 4180): text to rows and back. A round trip changes nothing."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import as_map, type_of
from language.values.operators import truthy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("csv_format", "CSV")


@family.builtin("csv_parse(text, opts?)")
def csv_parse(text: Any, opts: Any = None) -> list[Any]:
    """The rows of a CSV text: a list of maps, the first record being the headers.

    A field is in quotes when it holds separators, line breaks or quotes (each written twice). Lines end with LF, CRLF or CR.
    A leading byte order mark and blank lines are skipped, empty text gives `[]`. Every field is text, except that an empty
    one is `nothing`; a quoted `""` is empty text.

    `opts` is a map of:

    - `headers`: `false` gives a list of lists, the first record included;
    - `delimiter`: one ASCII character in place of the comma;
    - `numbers`: `true` makes an integer or float of every field that is written like one;
    - `types`: a map from column name (without headers: position, from 0) to `int`, `float`, `decimal`, `text`, `bool` (`true`
      or `false`, any case), `date` (`2026-09-01`), `datetime` (as `parse_datetime` reads it) or `duration` (`PT1H30M`). A
      quoted `""` is `nothing` in a column of any type but `text`; a field that does not fit its type is an error that names its
      line;
    - `missing`: a list of texts that mean `nothing` when unquoted, such as `["NA", "-"]`.

    A record with more or fewer fields than the first is an error that names its line.

    `csv_parse("a,b\\n1,x\\n", {"numbers": true})` is `[{a: 1, b: "x"}]`.
    """
    from stdlib.csv_reading import ParseOptions, parse

    if type(text) is not str:
        raise RuntimeFault(f"csv_parse expects text, got {type_of(text)}", kind="type")
    options = option_map("csv_parse", opts, ("headers", "delimiter", "numbers", "types", "missing"))
    return parse(
        text,
        ParseOptions(
            headers=flag("csv_parse", options, "headers", True),
            delimiter=delimiter("csv_parse", options),
            numbers=flag("csv_parse", options, "numbers", False),
            types=options.get("types"),
            missing=options.get("missing"),
        ),
    )


@family.builtin("csv_encode(list, opts?)", context=True)
def csv_encode(ctx: Context, rows: Any, opts: Any = None) -> str:
    """The CSV text of a list of maps (a first record of headers: the keys of the first map) or of a list of lists.

    A field is quoted only where it must be. `nothing` and a missing key are an empty field, empty text is `""`, so that
    `csv_parse` gives back the same rows; a row whose only field is `nothing` is written `""`, because a blank line is skipped
    when reading. Numbers and booleans are written as they display, bytes as base64, a secret as `[redacted]`. A list or map in
    a field is an error: `json_encode` it first.

    `opts` is a map of:

    - `headers`: list of the columns to write, in that order; for lists, the first record to write;
    - `delimiter`: one ASCII character in place of the comma;
    - `eol`: what ends each record, `"\\r\\n"` by default or `"\\n"`;
    - `missing`: the text to write for `nothing`, such as `"NA"`; not empty;
    - `escape_formulas`: `true` writes `'` before fields that a spreadsheet would run (`=`, `+`, `-`, `@` at the
      start of a text).

    `csv_encode([{"a": 1, "b": nothing}])` is `a,b\\r\\n1,\\r\\n`.
    """
    from stdlib.csv_writing import EncodeOptions, encode
    from stdlib.json_format import warn_of_secret

    if type(rows) is not list:
        raise RuntimeFault(f"csv_encode expects a list, got {type_of(rows)}", kind="type")
    options = option_map("csv_encode", opts, ("headers", "delimiter", "eol", "missing", "escape_formulas"))
    return encode(
        rows,
        EncodeOptions(
            headers=options.get("headers"),
            delimiter=delimiter("csv_encode", options),
            eol=options.get("eol"),
            missing=options.get("missing"),
            escape_formulas=flag("csv_encode", options, "escape_formulas", False),
        ),
        warn_of_secret(ctx, "csv_encode"),
    )


def option_map(builtin: str, opts: Any, valid: tuple[str, ...]) -> dict[str, Any]:
    """The options as a map without those that are ``nothing``. Raises ``RuntimeFault`` for an unknown one."""
    if opts is None:
        return {}
    options = as_map(opts)
    if options is None:
        raise RuntimeFault(f"{builtin}: the options must be a map, got {type_of(opts)}", kind="type")
    for name in options:
        if name not in valid:
            raise RuntimeFault(f'{builtin}: unknown option "{name}"; valid options are: {", ".join(valid)}')
    return {name: value for name, value in options.items() if value is not None}


def flag(builtin: str, options: dict[str, Any], name: str, default: bool) -> bool:
    """A boolean option."""
    value = options.get(name)
    if value is None:
        return default
    if type_of(value) != "bool":
        raise RuntimeFault(f'{builtin}: option "{name}" must be a bool, got {type_of(value)}', kind="type")
    return truthy(value)


def delimiter(builtin: str, options: dict[str, Any]) -> str:
    """The delimiter option: one ASCII character that is neither a quote nor part of a line end."""
    value = options.get("delimiter")
    if value is None:
        return ","
    if type(value) is not str or len(value) != 1 or not value.isascii() or value in '"\r\n':
        raise RuntimeFault(f'{builtin}: option "delimiter" must be one ASCII character, not a quote or a line end')
    return value
