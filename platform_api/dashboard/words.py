"""The words of the pages in each language: one TOML file a language, all with the same keys."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from platform_api.dashboard.said import Part, said_in

LANGUAGES = {"en": "English", "es": "Español", "pt": "Português"}
_FOLDER = Path(__file__).parent / "words"


class Words:
    """The words of one language. ``words("projects.title")`` gives a text, with its ``{names}`` filled in.

    Args:
        language: a key of ``LANGUAGES``.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self.texts = _texts(language)
        self._statuses = {key.removeprefix("status."): text for key, text in self.texts.items() if key.startswith("status.")}

    def __call__(self, key: str, **values: object) -> str:
        """The text of a key. Errors: ``KeyError`` for a key that is in no file."""
        text = self.texts[key]
        return text.format(**values) if values else text

    def sentence(self, text: str) -> tuple[Part, ...] | None:
        """A sentence of the service in this language; ``None`` where it is known in English alone."""
        return said_in(self.language, text, self._statuses)

    def status(self, word: str) -> str:
        """A status of a project, deploy, run or gate."""
        return self._statuses.get(word, word)


@cache
def words_of(language: str) -> Words:
    """The words of a language."""
    return Words(language)


def chosen(header: str, cookie: str | None = None) -> str:
    """The language of a page.

    Args:
        header: ``Accept-Language`` (RFC 9110, 12.5.4).
        cookie: the language that the person has chosen, if any.
    """
    if cookie in LANGUAGES:
        return str(cookie)
    wanted: list[tuple[float, int, str]] = []
    for position, part in enumerate(header.split(",")[:20]):
        name, _, weight = part.partition(";q=")
        try:
            quality = float(weight) if weight else 1.0
        except ValueError:
            quality = 0.0
        wanted.append((-quality, position, name.strip().lower().partition("-")[0]))
    for negative, _, name in sorted(wanted):
        if name in LANGUAGES and negative < 0:
            return name
    return "en"


@cache
def _texts(language: str) -> dict[str, str]:
    content = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return {f"{section}.{key}": text for section, table in content.items() for key, text in table.items()}
