"""The audit of a run: one record for each decision about a capability, in order.

Records are stored as plain tuples, because most are never read. Set ``listener`` to be called with each one at once (for a
stream).
"""

from __future__ import annotations

from collections import deque
from itertools import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.audit.uses import Uses

    #: The file and line of a program; ``None`` where none runs.
    Place = tuple[str | None, int | None]

#: The list keeps the newest records. A granted one is dropped before any refusal; refusals are dropped only when nothing else
#: is left.
MOST_RECORDS = 10_000
MOST_DENIALS = 100_000

#: How many characters of a scope and of a reason are kept: more than the longest path.
MOST_CHARACTERS = 4096

FIELDS = ("ts", "capability", "scope", "granted", "origin", "why")


class Audit:
    """The records of one process.

    ``now`` gives Unix seconds. ``listener(record, context, source)`` is called with each record, a map of six fields, as it
    is made; ``keep`` says whether the list is kept as well. ``source`` is the operation where the caller knows it, else
    ``None``. A record that another thread makes than the one of the program has a fourth argument, the place in the program,
    which that thread found by ``place`` before.

    With ``operation``, a function that finds the operation if the caller does not know it, the records are those of an
    embedder. They have two more fields: ``source``, and ``reason``, which equals ``why``. ``uses`` counts granted capabilities
    and collects declarations.
    """

    def __init__(
        self,
        now: Callable[[], float],
        *,
        listener: Callable[..., None] | None = None,
        place: Callable[[], Place] | None = None,
        keep: bool = True,
        operation: Callable[[], str] | None = None,
        uses: Uses | None = None,
    ) -> None:
        self._now = now
        self._keep = keep
        self._operation = operation
        self.uses = uses
        self.listener = listener
        self.place = place
        self._numbers = count()
        self._granted: deque[tuple[Any, ...]] = deque()
        self._denied: deque[tuple[Any, ...]] = deque()
        #: how many granted records were dropped, and the last of them
        self._uncounted = 0
        self._last_gone: tuple[Any, ...] | None = None

    def add(
        self,
        name: str,
        scope: str | None,
        granted: bool,
        origin: str,
        why: str,
        context: str,
        source: str | None,
        *,
        counted: bool = True,
        place: Place | None = None,
    ) -> None:
        """Records one decision, before the operation runs. Very long texts are cut.

        ``counted`` is false for a further record about a use that has been counted already. ``place`` is the place in the
        program if another thread than the program's own decides.
        """
        if scope is not None and len(scope) > MOST_CHARACTERS:
            scope = _cut(scope)
        if len(why) > MOST_CHARACTERS:
            why = _cut(why)
        entry = (next(self._numbers), self._now(), name, scope, granted, origin, why)
        if self._keep:
            kept = entry if self._operation is None else (*entry, source or self._operation())
            (self._granted if granted else self._denied).append(kept)
            if len(self._granted) + len(self._denied) > MOST_RECORDS:
                self._make_room()
        if granted and counted and self.uses is not None:
            self.uses.note(name, scope)
        if self.listener is not None:
            if place is None:
                self.listener(_item(entry), context, source)
            else:
                self.listener(_item(entry), context, source, place)

    def _make_room(self) -> None:
        try:
            self._last_gone = self._granted.popleft()
            self._uncounted += 1
        except IndexError:
            if len(self._denied) > MOST_DENIALS:
                self._denied.popleft()

    def prepared(self) -> None:
        """Marks the end of preparation: declarations so far hold for every call of the program, later ones for one call."""
        if self.uses is not None:
            self.uses.prepared()

    def clear(self) -> None:
        """Clears the records before the next call."""
        self._granted.clear()
        self._denied.clear()
        self._uncounted, self._last_gone = 0, None
        if self.uses is not None:
            self.uses.next_call()

    def answer(self) -> dict[str, Any]:
        """The part of the answer to an embedder that is about capabilities.

        That is ``audit``, the records, and, if the program declares any capabilities, ``declared``: each declaration with the
        number of its uses.
        """
        return {"audit": self.records, **({} if self.uses is None else self.uses.beside_declared())}

    @property
    def records(self) -> list[dict[str, Any]]:
        """The kept records as maps. The last one says how many granted records were dropped, if any."""
        kept = sorted([*self._granted, *self._denied])
        if self._last_gone is not None:
            number, ts, capability = self._last_gone[:3]
            more = f"{self._uncounted} more granted checks"
            kept.append((number, ts, capability, None, True, "runtime", more, "audit"))
        if self._operation is None:
            return [_item(entry) for entry in kept]
        return [{**_item(entry), "source": entry[7], "reason": entry[6]} for entry in kept]


def _cut(text: str) -> str:
    return f"{text[:MOST_CHARACTERS]}… ({len(text) - MOST_CHARACTERS} more characters)"


def _item(entry: tuple[Any, ...]) -> dict[str, Any]:
    """The six fields of a record."""
    return {
        "ts": round(entry[1], 3),
        "capability": entry[2],
        "scope": entry[3],
        "granted": entry[4],
        "origin": entry[5],
        "why": entry[6],
    }
