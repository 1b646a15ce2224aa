"""Brings what the spool holds to the service: as much at a time as it takes, until it has acknowledged all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from runner.context import tell
from runner.moments import unix_milliseconds
from runner.protocol import LogLine
from runner.service import BackOff, Service, ServiceAway, ServiceRefuses
from runner.spool import Numbered, Spool, is_loss

#: Items of one report, and items and bytes of one stream in it.
MOST_ITEMS, MOST_OF_STREAM, MOST_BYTES = 1_500, 500, 256 * 1024
#: The status of an answer to a body that is too large, of the service or of a proxy before it.
TOO_LARGE = 413
_NAMES = {"log": "line", "audit": "audit record", "run": "report of a run", "rehearsal": "report of a rehearsal"}


class Reports:
    """The reports of a runner.

    Args:
        connected: set while the service answers.
        speak: says a line to the operator, once.
    """

    def __init__(self, service: Service, spool: Spool, connected: asyncio.Event, speak: Callable[[str], None]) -> None:
        self._service, self._spool, self._connected, self._speak = service, spool, connected, speak
        #: set when there may be something to send
        self.news = asyncio.Event()
        self._most = MOST_ITEMS
        self._answers = asyncio.Event()
        #: by stream and number: the line that replaces one that is too large
        self._instead: dict[tuple[str, int], Mapping[str, Any]] = {}
        spool.on_change.append(self.news.set)

    def answers(self) -> None:
        """The service answers again: what waits for it waits no longer."""
        self._answers.set()
        self.news.set()

    async def run(self) -> None:
        """Sends what is there, again and again."""
        back_off = BackOff()
        while True:
            await self._connected.wait()
            self.news.clear()
            batches = self._next()
            if not batches:
                await self.news.wait()
                continue
            try:
                answer = await self._service.report(batches)
            except (ServiceAway, ServiceRefuses) as error:
                if error.status == TOO_LARGE and self._narrow(batches):
                    continue
                self._speak(f"the service takes no reports: {error}")
                self._answers.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._answers.wait(), back_off.next())
                continue
            back_off.reset()
            self._most = min(2 * self._most, MOST_ITEMS)
            if answer.refused:  # a line for all of them: a program can have many refused
                one, more = answer.refused[0], len(answer.refused) - 1
                others = f", nor {more} more" if more else ""
                tell(f"the service does not take item {one.sequence} of {one.stream}{others}: {one.reason}")
            for name, number in answer.acknowledged.items():
                self._acknowledge(name, number)

    def _next(self) -> dict[str, list[Numbered]]:
        batches: dict[str, list[Numbered]] = {}
        room = self._most
        for stream in self._spool.streams.values():
            items = stream.pending(min(room, MOST_OF_STREAM), MOST_BYTES) if room else []
            if items or stream.is_unsure:
                batches[stream.name] = [(number, self._instead.get((stream.name, number), item)) for number, item in items]
                room -= len(items)
        return batches

    def _narrow(self, batches: Mapping[str, list[Numbered]]) -> bool:
        """After a report that was too large: half as many items go into the next one, and one that is too large alone is lost.

        Says whether there is something else to try.
        """
        count = sum(map(len, batches.values()))
        if count > 1:
            self._most = count // 2
            return True
        for name, items in batches.items():
            for number, item in items:
                self._lose(name, number, item)
                return True
        return False

    def _lose(self, name: str, number: int, item: Mapping[str, Any]) -> None:
        """Drops an item and reports that in one line. The end of a run is still reported, without what it printed."""
        what = _NAMES.get(str(item["type"]), "record")
        tell(f"a {what} of project {item['project']} is larger than the service takes: it is lost")
        line = f"1 {what} was lost here: it was larger than the service takes."
        if item["type"] == "log" and not is_loss(item):
            self._instead[name, number] = {**item, "line": line, "stream": "system"}
            return
        if item.get("output"):
            self._spool.append_plain({**item, "output": ""})
        if not is_loss(item):
            run = item.get("run") if isinstance(item.get("run"), str) else None
            self._spool.append(
                LogLine(project=str(item["project"]), at=unix_milliseconds(), line=line, stream="system", run=run)
            )
        self._acknowledge(name, number)

    def _acknowledge(self, name: str, number: int) -> None:
        self._spool.acknowledge(name, number)
        for known in [known for known in self._instead if known[0] == name and known[1] <= number]:
            del self._instead[known]
