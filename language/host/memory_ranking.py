"""Which entries of a memory fit a question best. The same for every kind of store.

An entry counts for each word of the question that its text holds, in any case and as a part of a word too. A word counts the
more the fewer entries hold it, and less in a long text. A word that a great many hold is left out when there are others.
"""

from __future__ import annotations

from math import log

from language.host.memory import newest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from language.host.memory import MemoryEntry

#: A word that this many entries hold says little of any of them.
COMMON = 2000
#: So many entries weigh as all of them do.
MOST_COUNTED = 20_000
#: Further words of a question are ignored.
MOST_WORDS = 32
MOST_LETTERS = 100
#: A text of this many characters is of average length.
_LENGTH = 200.0


def words_of(question: str) -> list[str]:
    """The different words of a question, case-folded, in their order; words of one or two letters only where there are no
    others.
    """
    # Only as much as can hold the words that are used.
    text = question[: MOST_WORDS * MOST_LETTERS * 4].casefold()
    words = "".join(character if character.isalnum() else " " for character in text).split()
    different = list(dict.fromkeys(word[:MOST_LETTERS] for word in words))
    return ([word for word in different if len(word) >= 3] or different)[:MOST_WORDS]


def useful(frequencies: dict[str, int], total: int) -> dict[str, float]:
    """The words to look for with their weights, given how many of all entries hold each (counted up to ``COMMON``)."""
    there = {word: count for word, count in frequencies.items() if count}
    rare = {word: count for word, count in there.items() if count < COMMON}
    return {word: log(1 + min(total, MOST_COUNTED) / count) for word, count in (rare or there).items()}


def frequencies_in(entries: Iterable[MemoryEntry], words: list[str]) -> dict[str, int]:
    """How many of the entries hold each word, counted up to ``COMMON``."""
    texts = [entry.content.casefold() for entry in entries]
    return {word: min(sum(word in text for text in texts), COMMON) for word in words}


def best(entries: Iterable[MemoryEntry], weights: dict[str, float], limit: int) -> list[MemoryEntry]:
    """The entries that hold a word, the best first; of equal ones the newest first."""
    scored = []
    for entry in entries:
        text = entry.content.casefold()
        damping = 1.2 * (0.25 + 0.75 * len(text) / _LENGTH)
        score = 0.0
        for word, weight in weights.items():
            count = text.count(word)
            if count:
                score += weight * count / (count + damping)
        if score:
            scored.append((score, *newest(entry), entry))
    scored.sort(key=lambda item: item[:3], reverse=True)
    return [item[3] for item in scored[:limit]]
