"""What is written between quotes and in numbers: escapes resolved, digits checked, positions of template holes found."""

from __future__ import annotations

import re

from language.errors import LexerError

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\u\{([0-9a-fA-F]{1,6})\}|\\(.)", re.DOTALL)
_PIECE_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})()|\\(.)", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}
_PIECE_SIMPLE = {**_SIMPLE, "`": "`", "{": "{"}


def unescape(text: str) -> str:
    """Quoted text with its escapes resolved; whatever is no escape keeps its backslash."""
    return _resolved(text, _ESCAPE, _SIMPLE) if "\\" in text else text


def unescape_piece(text: str) -> str:
    """A piece of template text with its escapes resolved: backtick and ``{`` too, but no ``\\u{X}``, which is a hole."""
    return _resolved(text, _PIECE_ESCAPE, _PIECE_SIMPLE) if "\\" in text else text


def _resolved(text: str, escapes: re.Pattern[str], simple: dict[str, str]) -> str:
    out: list[str] = []
    done = 0
    pos = 0
    while (found := escapes.search(text, pos)) is not None:
        pos = found.end()
        four, braces, letter = found.groups()
        if letter is not None:
            if letter not in simple:
                continue
            character = simple[letter]
        else:
            code = int(four or braces, 16)
            if four and 0xD800 <= code < 0xDC00:
                low = escapes.match(text, pos)
                if low is None or not low[1] or not 0xDC00 <= int(low[1], 16) < 0xE000:
                    continue
                code = 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
                pos = low.end()
            elif 0xD800 <= code < 0xE000 or code > 0x10FFFF:
                continue
            character = chr(code)
        out.append(text[done : found.start()])
        out.append(character)
        done = pos
    out.append(text[done:])
    return "".join(out)


# ---- numbers -----------------------------------------------------------------------------------------------------------

_BASES = {"x": ("hex", "hex (0-9, a-f)"), "o": ("octal", "octal (0-7)"), "b": ("binary", "binary (0 or 1)")}
_BASE_DIGITS = {"x": "0123456789abcdef", "o": "01234567", "b": "01"}
_BASED = re.compile(r"0[xXoObB][0-9A-Za-z_]*")
# Matches misplaced `_` too, so that one is reported with the number it belongs to.
_LOOSE = re.compile(r"[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9][0-9_]*)?")
_STRICT = re.compile(r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]+(?:_[0-9]+)*)?(?:[eE][+-]?[0-9]+(?:_[0-9]+)*)?")
#: The most digits in the exponent of a decimal. No implementation of decimals can hold a longer one.
_EXPONENT_DIGITS = 18


def number_end(source: str, start: int, limit: int) -> int:
    """Where the number that begins at ``start`` ends. Raises ``LexerError`` (without a place) when it is not well formed."""
    based = _BASED.match(source, start, limit)
    if based is not None:
        _check_based(based[0])
        return based.end()
    loose = _LOOSE.match(source, start, limit)
    assert loose is not None
    text = loose[0]
    if _STRICT.fullmatch(text) is None:
        raise LexerError(f"Invalid number literal: {text} — `_` goes only between two digits (1_000, 1_000.5)")
    end = loose.end()
    if source.startswith("d", end, limit) and not _continues_word(source, end + 1, limit):
        _, _, exponent = text.replace("E", "e").partition("e")
        if len(exponent.lstrip("+-0_").replace("_", "")) > _EXPONENT_DIGITS:
            raise LexerError(f"Invalid decimal literal: {text}d")
        return end + 1
    return end


def _continues_word(source: str, pos: int, limit: int) -> bool:
    return pos < limit and is_word_part(source[pos])


def _check_based(text: str) -> None:
    letter = text[1].lower()
    name, digits = _BASES[letter]
    allowed = _BASE_DIGITS[letter]
    body = text[2:].lower()
    if not body.replace("_", "") or any(c not in allowed and c != "_" for c in body):
        raise LexerError(f"Invalid {name} literal: {text} — expected {digits} digits after the prefix")
    if "__" in body or body.endswith("_"):
        raise LexerError(f"Invalid {name} literal: {text} — `_` goes only between two digits (1_000)")


def number_value(text: str) -> int | float | None:
    """The value of a well-formed number as written; ``None`` for a decimal literal."""
    prefix = text[:2].lower()
    if prefix in ("0x", "0o", "0b"):
        from language.values.bigint import text_to_int

        return text_to_int(text[2:].replace("_", ""), {"x": 16, "o": 8, "b": 2}[prefix[1]])
    if text.endswith("d"):
        return None
    digits = text.replace("_", "") if "_" in text else text
    if digits.isdigit():
        if len(digits) < 600:
            return int(digits)
        from language.values.bigint import text_to_int

        return text_to_int(digits)
    return float(digits)


# ---- words -------------------------------------------------------------------------------------------------------------


def is_word_start(character: str) -> bool:
    """A letter of any script or ``_``."""
    if character.isascii():
        return character.isalpha() or character == "_"
    from unicodedata import category

    return category(character)[0] == "L"


def is_word_part(character: str) -> bool:
    """A letter, a mark, a decimal digit or ``_``."""
    if character.isascii():
        return character.isalnum() or character == "_"
    from unicodedata import category

    kind = category(character)
    return kind[0] in "LM" or kind == "Nd"


def word_end(word: str) -> int:
    """How many of the characters are a name; the text may hold characters outside ASCII that cannot stand in one."""
    if not is_word_start(word[0]):
        return 0
    return next((number for number, character in enumerate(word) if not is_word_part(character)), len(word))


# ---- templates ---------------------------------------------------------------------------------------------------------

_TEMPLATE_STOP = re.compile(r"[^\\`{]*(?:\\.[^\\`{]*)*([`{]?)", re.DOTALL)
_HOLE_STOP = re.compile(r"[^\"'`{}]*(?:(?:\"(?:[^\"\\\n]|\\[^\n])*\"|'(?:[^'\\\n]|\\[^\n])*')[^\"'`{}]*)*([\"'`{}]?)")


class Unterminated(Exception):
    """No end was found; ``start`` is where what is left open begins, ``kind`` is ``template`` or ``string``."""

    def __init__(self, kind: str, start: int) -> None:
        super().__init__(kind)
        self.kind = kind
        self.start = start


def template_ends(source: str, start: int) -> dict[int, int]:
    """Where the template that opens at ``start``, its holes and everything nested in them close.

    The result maps the offset of each opening backtick and hole brace to the offset of its closing one. Inside a hole braces
    nest, and texts and templates are units. Raises ``Unterminated``.
    """
    ends: dict[int, int] = {}
    #: what is open, innermost last: a backtick, a hole ``{``, or a brace ``(`` that is no hole
    open_: list[tuple[str, int]] = [("`", start)]
    pos = start + 1
    while open_:
        kind, opened = open_[-1]
        found = (_TEMPLATE_STOP if kind == "`" else _HOLE_STOP).match(source, pos)
        assert found is not None
        at = found.start(1)
        pos = found.end()
        stop = found[1]
        if stop == "":
            raise Unterminated("template", start)
        if kind == "`":
            if stop == "`":
                ends[opened] = at
                open_.pop()
            else:
                open_.append(("{", at))
        elif stop == "}":
            if kind == "{":
                ends[opened] = at
            open_.pop()
        elif stop == "{":
            open_.append(("(", at))
        elif stop == "`":
            open_.append(("`", at))
        else:
            raise Unterminated("string", at)
    return ends
