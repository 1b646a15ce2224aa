"""The state that is kept across restarts of a runner: one file that only its user can read, replaced as a whole.

Variables and secrets are not in it: after a start the runner is told them anew. Tokens of gates are.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from runner.moments import Deadline

#: Runs whose end is remembered. Beyond that the service has long stopped asking for them.
MOST_RUNS = 10_000
#: Seconds between two writes at least, and how many times longer than a write the pause between them is at least.
SOON_SECONDS, PAUSES = 0.05, 10


@dataclass(slots=True, kw_only=True)
class KeptProject:
    """What is remembered of a project.

    Attributes:
        good: the deploy that was up last: when it ends it is tried again.
        sleeps: the deploy that was stopped because nobody asked for it.
        settled: the generation that has failed or is done and is not tried again.
    """

    good: str | None = None
    sleeps: str | None = None
    settled: int | None = None


@dataclass(slots=True, kw_only=True)
class KeptStart:
    """What is remembered of a started program, to take it up again.

    Attributes:
        ceiling, private_addresses, llm: what its connections are checked against.
        link: the link's own.
        position: up to where its lines were read: two numbers.
        gates: the gates that wait for an answer, by their ids: what ``runner.gates.kept_gate`` makes of their reports.
        run, attempt: of a run: its id and its fence.
        until, ends, boot: when its time is up: in Unix milliseconds, and by the steady clock of a start of the machine.
    """

    project: str
    deploy: str
    generation: int
    kind: str
    ceiling: str
    private_addresses: bool = False
    llm: list[Any] | None = None
    link: dict[str, Any] = field(default_factory=dict, repr=False)
    position: list[int] | None = None
    gates: dict[str, dict[str, Any]] = field(default_factory=dict)
    run: str | None = None
    attempt: int = 0
    until: int = 0
    ends: int = 0
    boot: str = ""

    def end_in(self, seconds: float) -> None:
        """Its time is up in so many seconds."""
        deadline = Deadline.after(int(seconds * 1000))
        self.until, self.ends, self.boot = deadline.until, deadline.ends, deadline.boot

    def seconds_left(self) -> float:
        """Until its time is up."""
        return Deadline(self.until, self.ends, self.boot).left() / 1000


class State:
    """The file.

    Args:
        path: where it lies; its folder is there.

    Errors: ``ValueError`` for a file that is not one of these.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.instance = secrets.token_hex(8)
        self.projects: dict[str, KeptProject] = {}
        self.starts: dict[str, KeptStart] = {}
        self.begun: dict[str, int] = {}
        #: the name of the engine that has the programs and volumes; empty before the first start
        self.engine = ""
        #: by the start: what brings ``starts`` up to date before it is written
        self.refresh: dict[str, Callable[[], None]] = {}
        self.dirty = True
        self._soon: asyncio.TimerHandle | None = None
        self._took = 0.0
        #: when the last write ended, on a clock that only goes forward
        self._saved = float("-inf")
        self._load()

    def project(self, project: str) -> KeptProject:
        """What is remembered of a project."""
        return self.projects.setdefault(project, KeptProject())

    def began(self, run: str, attempt: int) -> None:
        """Notes that an attempt of a run was begun, before it is: it is not begun twice."""
        self.begun.pop(run, None)
        self.begun[run] = attempt
        while len(self.begun) > MOST_RUNS:
            del self.begun[next(iter(self.begun))]
        self.save()

    def save(self, *, onto_disk: bool = True) -> None:
        """Replaces the file. Where the disk is full the old one stays, and the next call tries again.

        Args:
            onto_disk: waits for the disk; else it outlives this process, and no loss of power.
        """
        self.dirty = True
        began = time.monotonic()
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        for refresh in self.refresh.values():
            refresh()
        made = self._path.with_suffix(".new")
        try:
            descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(self._plain(), file, separators=(",", ":"))
                file.flush()
                if onto_disk:
                    os.fsync(file.fileno())
            os.replace(made, self._path)
        except OSError:
            made.unlink(missing_ok=True)
            return
        self.dirty = False
        self._saved = time.monotonic()
        self._took = self._saved - began

    def save_soon(self) -> None:
        """Replaces the file at once, or after the shortest pause between two writes. All calls until then share one write."""
        self.dirty = True
        if self._soon is not None:
            return
        wait = self._saved + max(SOON_SECONDS, PAUSES * self._took) - time.monotonic()
        if wait <= 0:
            self.save(onto_disk=False)
        else:
            self._soon = asyncio.get_running_loop().call_later(wait, lambda: self.save(onto_disk=False))

    def _plain(self) -> dict[str, Any]:
        return {
            "instance": self.instance,
            "engine": self.engine,
            "projects": {key: _fields(kept) for key, kept in self.projects.items()},
            "starts": {key: _fields(kept) for key, kept in self.starts.items()},
            "begun": self.begun,
        }

    def _load(self) -> None:
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            self.save()
            return
        try:
            read = json.loads(text)
            self.instance = str(read["instance"])
            self.engine = str(read.get("engine", ""))
            self.projects = {key: _record(KeptProject, kept) for key, kept in read["projects"].items()}
            self.starts = {key: _record(KeptStart, kept) for key, kept in read["starts"].items()}
            self.begun = {str(run): int(attempt) for run, attempt in read["begun"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{self._path} is no state of a runner ({error}): remove it, or name another folder") from None


def _fields(record: Any) -> dict[str, Any]:
    return {each.name: getattr(record, each.name) for each in fields(record)}


def _record(record: Any, value: Mapping[str, Any]) -> Any:
    known = {each.name for each in fields(record)}
    return record(**{name: each for name, each in value.items() if name in known})
