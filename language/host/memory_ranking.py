"""Ranks the entries of a memory by how well they match a question. The same for every kind of store.

An entry scores for each word of the question that its text contains, regardless of case and also as a part of a word. A word
weighs more the fewer entries contain it (inverse document frequency), and less in a long text. A very common word is left out
if there are rarer ones.
"""

from __future__ import annotations

from math import log

from language.host.memory import newest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from language.host.memory import MemoryEntry

#: A word that this many entries contain is too common to rank by.
COMMON = 2000
#: Entries are counted up to this number; more of them would hardly change the weights.
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
    # Only the part that can contain the words that are used.
    text = question[: MOST_WORDS * MOST_LETTERS * 4].casefold()
    words = "".join(character if character.isalnum() else " " for character in text).split()
    different = list(dict.fromkeys(word[:MOST_LETTERS] for word in words))
    return ([word for word in different if len(word) >= 3] or different)[:MOST_WORDS]


def useful(frequencies: dict[str, int], total: int) -> dict[str, float]:
    """The words to look for with their weights. ``frequencies`` says how many of the ``total`` entries contain each word,
    counted up to ``COMMON``.
    """
    there = {word: count for word, count in frequencies.items() if count}
    rare = {word: count for word, count in there.items() if count < COMMON}
    return {word: log(1 + min(total, MOST_COUNTED) / count) for word, count in (rare or there).items()}


def frequencies_in(entries: Iterable[MemoryEntry], words: list[str]) -> dict[str, int]:
    """The number of entries that contain each word, counted up to ``COMMON``."""
    texts = [entry.content.casefold() for entry in entries]
    return {word: min(sum(word in text for text in texts), COMMON) for word in words}


def best(entries: Iterable[MemoryEntry], weights: dict[str, float], limit: int) -> list[MemoryEntry]:
    """The at most ``limit`` entries that contain a word, the best first; of equal ones the newest first."""
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
