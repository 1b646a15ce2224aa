"""What messages call the tokens that stand in a source and the terminals that are missing: what a person writes."""

from __future__ import annotations

from language.syntax.tokens import OPERATOR_TYPES, Token, words

_ENDS = words("NEWLINE INDENT DEDENT EOF")
_SIGNS = {name: text for text, name in OPERATOR_TYPES.items()}
_LITERALS = {"BOOL_TRUE": "true", "BOOL_FALSE": "false", "NOTHING": "nothing"}
_PARTS = {
    "IDENTIFIER": "a name",
    "TEXT": "a text in quotes",
    "NUMBER": "a number",
    "TEMPLATE": "a template",
    "NEWLINE": "the end of the line",
    "INDENT": "an indented block",
    "DEDENT": "the end of the block",
    "$END": "the end of the file",
    "HOLE_END": "`}`",
    "NOT_IN": "`not in`",
    "DURATION": "a duration (90s, 2m, 1h, 1d)",
    "WINDOW": "`second`, `minute` or `hour`",
    "UNLIMITED": "`none`",
    "REQUIRES_AUTH": "`requires auth`",
    "PATTERN_LIST": "`[`",
    "PATTERN_MAP": "`{`",
    "LAMBDA": "`(`",
    "GUARD": "`when`",
    "NEGATIVE": "`-`",
}
#: Characters of a text that a message quotes.
_LONGEST = 24


def found(token: Token, source: str) -> str:
    """A token of ``source`` as messages name it."""
    if token.type in _ENDS:
        return "the end of the line"
    if token.type == "HOLE_END":
        return "`}`"
    if token.type == "TEMPLATE":
        return "a template"
    text = " ".join(source[token.start : token.end].split())
    return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}`"


def wanted(terminal: str) -> str:
    """A terminal of the grammar as messages name it."""
    if terminal in _PARTS:
        return _PARTS[terminal]
    return f"`{_SIGNS.get(terminal) or _LITERALS.get(terminal) or terminal.lower()}`"
