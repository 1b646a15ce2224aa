"""What the service says, in the language of a page: the interface speaks English, a person may not."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("refusals.toml")
_PLACE = re.compile(r"\{(\w+)\}")


@cache
def entries() -> tuple[dict[str, str], ...]:
    """The sentences, each in every language, with ``{names}`` where they differ."""
    return tuple(tomllib.loads(_FILE.read_text(encoding="utf-8"))["said"])


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], dict[str, str]], ...]:
    """Those with names, the ones that say most first: a short one fits much."""
    ordered = sorted((entry for entry in entries() if _PLACE.search(entry["en"])), key=lambda entry: -_literal(entry["en"]))
    return tuple((_pattern(entry["en"]), entry) for entry in ordered)


def said_in(language: str, sentence: str) -> str | None:
    """A sentence of the service in a language of the pages; ``None`` where it is known in English alone.

    What stands in for a name is translated too where it is a sentence itself.
    """
    if language == "en":
        return sentence
    for entry in entries():
        if entry["en"] == sentence:
            return entry[language]
    for pattern, entry in _patterns():
        if found := pattern.fullmatch(sentence):
            return _filled(language, entry[language], found.groupdict())
    return None


def _filled(language: str, template: str, parts: dict[str, str]) -> str:
    return _PLACE.sub(lambda place: said_in(language, parts[place[1]]) or parts[place[1]], template)


def _literal(template: str) -> int:
    return len(_PLACE.sub("", template))


def _pattern(template: str) -> re.Pattern[str]:
    pieces = _PLACE.split(template)  # text, name, text, name, ...
    return re.compile(
        "".join(f"(?P<{piece}>.+?)" if at % 2 else re.escape(piece) for at, piece in enumerate(pieces)), re.DOTALL
    )
