"""Parses ``multipart/form-data`` (RFC 7578) from a body in memory or in a file.

A body in a file is mapped into memory, and only the parts are copied.
"""

from __future__ import annotations

from language.serve.bodies import BadForm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from mmap import mmap
    from typing import Any

#: The most parts of one form, and the most bytes of the header of one part.
MOST_PARTS = 1000
MOST_HEADER = 16 * 1024
#: RFC 2046 section 5.1.1 allows 70 characters in a boundary, and any number of blanks after it.
LONGEST_BOUNDARY = 70
MOST_PADDING = 64

_MALFORMED = "malformed form body"


def boundary_of(content_type: str) -> bytes:
    """The boundary that a content type names. Raises :class:`BadForm` without a usable one."""
    boundary = _parameters(content_type.partition(";")[2]).get("boundary", "")
    if not 0 < len(boundary) <= LONGEST_BOUNDARY or not all(" " <= character <= "~" for character in boundary):
        raise BadForm(f"{_MALFORMED}: no boundary")
    return boundary.encode("ascii")


def fields_of(body: bytes, body_file: str | None, boundary: bytes, lists: Container[str] = ()) -> dict[str, Any]:
    """The fields of a body in memory or in a file. Text fields are texts, files are ``{filename, content_type, data}``. Of a
    repeated name the last counts, of names in ``lists`` a list of all. Raises :class:`BadForm`.
    """
    if body_file is None:
        return _parsed(body, boundary, lists)
    from mmap import ACCESS_READ, mmap

    with open(body_file, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as mapped:
        return _parsed(mapped, boundary, lists)


def _parsed(data: bytes | mmap, boundary: bytes, lists: Container[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    delimiter = b"\r\n--" + boundary
    first = delimiter[2:]
    # The text before the first delimiter, the preamble of RFC 2046, is ignored.
    after = _line_end(data, len(first)) if data[: len(first)] == first else None
    if after is None:
        _, after = _next(data, delimiter, 0)
    parts = 0
    while after >= 0:
        parts += 1
        if parts > MOST_PARTS:
            raise BadForm(f"{_MALFORMED}: more than {MOST_PARTS} parts")
        # A part may have no header fields: then the empty line follows the delimiter directly.
        header_end = data.find(b"\r\n\r\n", after - 2, after + MOST_HEADER)
        if header_end < 0:
            raise BadForm(f"{_MALFORMED}: the header of a part does not end")
        header = _header(data[after:header_end])
        start = header_end + 4
        # A part may be empty: then the line end before the next delimiter is that of the empty line.
        end, after = _next(data, delimiter, start - 2)
        if header is not None:
            name, filename, content_type = header
            content = data[start:end]
            value = (
                content.decode("utf-8", "replace")
                if filename is None
                else {"filename": filename, "content_type": content_type, "data": content}
            )
            if name in lists:
                fields.setdefault(name, []).append(value)
            else:
                fields[name] = value
    return fields


def _next(data: bytes | mmap, delimiter: bytes, start: int) -> tuple[int, int]:
    """The start of the next delimiter and the end of its line, -1 for the final delimiter."""
    while True:
        found = data.find(delimiter, start)
        if found < 0:
            raise BadForm(f"{_MALFORMED}: the last boundary is missing")
        after = _line_end(data, found + len(delimiter))
        if after is not None:
            return found, after
        # The line begins with this boundary but continues: it is a different, longer boundary.
        start = found + 2


def _line_end(data: bytes | mmap, position: int) -> int | None:
    """The position after the line of a delimiter; -1 for the final one, ``None`` if it is not a delimiter."""
    if data[position : position + 2] == b"--":
        return -1
    line = data[position : position + MOST_PADDING + 2].lstrip(b" \t")
    padding = min(len(data) - position, MOST_PADDING + 2) - len(line)
    return position + padding + 2 if line.startswith(b"\r\n") else None


def _header(block: bytes) -> tuple[str, str | None, str | None] | None:
    """Name, file name and content type of a part; ``None`` for one without a name, which is skipped."""
    disposition = content_type = None
    for line in block.decode("utf-8", "replace").split("\r\n"):
        name, colon, value = line.partition(":")
        if colon:
            field = name.lower()
            if field == "content-disposition":
                disposition = value
            elif field == "content-type":
                content_type = value.strip(" \t")
    if disposition is None:
        return None
    kind, _, rest = disposition.partition(";")
    parameters = _parameters(rest)
    if kind.strip(" \t").lower() != "form-data" or not parameters.get("name"):
        return None
    return parameters["name"], parameters.get("filename", _extended(parameters.get("filename*"))), content_type


def _parameters(text: str) -> dict[str, str]:
    """The parameters of a header value (RFC 9110 section 5.6.6), names in lower case, the first of a repeated one."""
    found: dict[str, str] = {}
    position = 0
    while position < len(text):
        equals = text.find("=", position)
        end = text.find(";", position)
        if equals < 0:
            break
        if 0 <= end < equals:  # parameters without a value
            position = text.rfind(";", position, equals) + 1
            continue
        name = text[position:equals].strip(" \t").lower()
        position = equals + 1
        if text[position : position + 1] == '"':
            value, position = _quoted(text, position + 1)
            end = text.find(";", position)
        else:
            value = text[position : end if end >= 0 else len(text)].strip(" \t")
        found.setdefault(name, value)
        if end < 0:
            break
        position = end + 1
    return found


def _quoted(text: str, position: int) -> tuple[str, int]:
    """The text of a quoted string, and the position after it. A backslash escapes only a quote or a backslash, because some
    clients send paths of Windows without escapes.
    """
    out = []
    while position < len(text) and text[position] != '"':
        if text[position] == "\\" and text[position + 1 : position + 2] in ('"', "\\"):
            position += 1
        out.append(text[position])
        position += 1
    return "".join(out), position + 1


def _extended(value: str | None) -> str | None:
    """A file name in the form of RFC 8187, ``UTF-8''na%C3%AFve``, which older clients send for names beyond ASCII."""
    if value is None:
        return None
    charset, _, rest = value.partition("'")
    if charset.lower() not in ("utf-8", "iso-8859-1"):
        return None
    from urllib.parse import unquote

    return unquote(rest.partition("'")[2], charset.lower(), "replace")
