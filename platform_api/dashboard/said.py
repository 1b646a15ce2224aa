"""What the service says, in the language of a page: the interface speaks English, a person may not."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

_FILE = Path(__file__).with_name("refusals.toml")
#: Characters of a text that is compared with those that have names: programs write some, and a long one takes long.
_LONGEST = 500
_PLACE = re.compile(r"\{(\w+)\}")
#: The names for which a sentence, or a part of one, stands in; for the others it is a number, a name or an address.
_SENTENCES = frozenset({"why", "what"})
#: What stands for a status.
_STATUS = "status"


@cache
def entries() -> tuple[dict[str, str], ...]:
    """The sentences, each in every language, with ``{names}`` where they differ."""
    return tuple(tomllib.loads(_FILE.read_text(encoding="utf-8"))["said"])


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], dict[str, str]], ...]:
    """Those with names, the ones that say most first: a short one fits much."""
    ordered = sorted((entry for entry in entries() if _PLACE.search(entry["en"])), key=lambda entry: -_literal(entry["en"]))
    return tuple((_pattern(entry["en"]), entry) for entry in ordered)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a sentence. ``english`` is whether it is in English in the middle of another language."""

    text: str
    english: bool = False


def said_in(language: str, sentence: str, statuses: Mapping[str, str] = MappingProxyType({})) -> tuple[Part, ...] | None:
    """A sentence of the service in a language of the pages; ``None`` where it is known in English alone.

    What stands in for a name is translated too where it is a sentence itself.

    Args:
        statuses: the word of that language for each status.
    """
    if language == "en":
        return (Part(sentence),)
    for entry in entries():
        if entry["en"] == sentence:
            return (Part(entry[language]),)
    for pattern, entry in _patterns() if len(sentence) <= _LONGEST else ():
        if found := pattern.fullmatch(sentence):
            return tuple(_filled(language, entry[language], found.groupdict(), statuses))
    return None


def _filled(language: str, template: str, given: Mapping[str, str], statuses: Mapping[str, str]) -> Iterator[Part]:
    for at, piece in enumerate(_PLACE.split(template)):  # text, name, text, name, ...
        if at % 2 == 0:
            yield Part(piece)
        elif piece == _STATUS:
            yield Part(statuses.get(given[piece], given[piece]))
        elif own := said_in(language, given[piece], statuses):
            yield from own
        else:
            yield Part(given[piece], english=piece in _SENTENCES)


def _literal(template: str) -> int:
    return len(_PLACE.sub("", template))


def _pattern(template: str) -> re.Pattern[str]:
    pieces = _PLACE.split(template)  # text, name, text, name, ...
    return re.compile(
        "".join(f"(?P<{piece}>.+?)" if at % 2 else re.escape(piece) for at, piece in enumerate(pieces)), re.DOTALL
    )
