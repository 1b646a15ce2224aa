"""The gates of running programs: announced to the service, decided by it, closed with their program.

Tokens never go to the service: they stay with the link, in memory and in the state of the runner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from runner.moments import Deadline, unix_milliseconds
from runner.protocol import DecisionSpec, GateClosed, GateOpened, GateOutcome, Item, from_json, to_json

#: Seconds that one attempt to tell a program may take.
ATTEMPT_SECONDS = 5.0
#: Seconds between two attempts.
PAUSE_SECONDS = 0.5
#: Seconds beyond its moment of expiry in which a decision is still brought: the program says when it has ended.
GRACE = 5.0
#: Seconds after a program was taken up again in which it may announce a gate that an earlier process of the runner had reported
#: and not kept when it was killed.
RETURN_SECONDS = 30.0


class Teller(Protocol):
    """What brings a decision to a program: its link."""

    async def decide(self, gate: str, *, decision: bool | None, value: str | None, seconds: float) -> bool:
        """Whether the program took it."""


@dataclass(slots=True)
class _Open:
    report: GateOpened
    teller: Teller
    start: str
    deadline: float


class GateDesk:
    """The gates of one project.

    Args:
        keep: takes reports.
    """

    def __init__(self, project: str, keep: Callable[[Item], None]) -> None:
        self._project, self._keep = project, keep
        self._open: dict[str, _Open] = {}
        self._delivering: dict[str, asyncio.Task[None]] = {}
        self._returns_until = float("-inf")

    @property
    def pending(self) -> bool:
        """Whether a program waits for a person."""
        return bool(self._open)

    def opened(self, report: GateOpened, teller: Teller, start: str) -> bool:
        """A program asks a person, or says so again; whether this is new.

        Args:
            start: the start of the program that asks.
        """
        known = self._open.get(report.gate)
        is_new = known is None
        if known is None:
            deadline = asyncio.get_running_loop().time() + report.left_ms / 1000 + GRACE
        else:
            deadline = known.deadline
        self._open[report.gate] = _Open(report, teller, start, deadline)
        if is_new:
            self._keep(report)
        return is_new

    def taken_up(self) -> None:
        """A program of an earlier process of the runner was taken up. Decisions about unknown gates wait for its return."""
        self._returns_until = asyncio.get_running_loop().time() + RETURN_SECONDS

    def announce(self) -> None:
        """Reports again what waits, after the service was away."""
        moment = asyncio.get_running_loop().time() + GRACE
        for gate in self._open.values():
            self._keep(replace(gate.report, left_ms=max(0, int((gate.deadline - moment) * 1000))))

    def closed(self, gate: str, outcome: GateOutcome, channel: str, value: str | None) -> None:
        """A program says how a gate has ended."""
        if self._open.pop(gate, None) is None:
            return
        delivered = outcome != "expired"
        self._closed(gate, outcome, channel, value, delivered)

    def ended(self, start: str) -> None:
        """The program has ended: nothing waits for the answer any more."""
        for gate in [gate for gate, known in self._open.items() if known.start == start]:
            del self._open[gate]
            self._closed(gate, "expired", "exit", None, False)

    def lost(self, gate: str) -> None:
        """A gate of a program that ended with an earlier process of the runner."""
        self._closed(gate, "expired", "exit", None, False)

    def decide(self, decision: DecisionSpec) -> None:
        """Brings a decision of the service to its program, in the background."""
        if decision.id in self._delivering:
            return
        task = asyncio.get_running_loop().create_task(self._deliver(decision))
        self._delivering[decision.id] = task
        task.add_done_callback(lambda _: self._delivering.pop(decision.id, None))

    async def close(self) -> None:
        """Ends what is under way."""
        tasks = list(self._delivering.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _deliver(self, decision: DecisionSpec) -> None:
        tried = False
        while True:
            gate = self._open.get(decision.gate)
            if gate is None and asyncio.get_running_loop().time() < self._returns_until:
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            if gate is None:
                # It has ended, which was reported; or nobody knows it. Either way nobody was told this.
                self._closed(decision.gate, "expired", "api", None, False)
                return
            left = gate.deadline - asyncio.get_running_loop().time()
            if left <= 0 and tried:
                self._open.pop(decision.gate, None)
                self._closed(decision.gate, "expired", "api", None, False)
                return
            # The program knows best when it has ended: the moment told here may be one of a clock that was set since.
            seconds, tried = min(ATTEMPT_SECONDS, left) if left > 0 else ATTEMPT_SECONDS, True
            if await gate.teller.decide(decision.gate, decision=decision.decision, value=decision.value, seconds=seconds):
                self._open.pop(decision.gate, None)
                self._closed(decision.gate, _outcome(decision), "api", decision.value, True)
                return
            await asyncio.sleep(PAUSE_SECONDS)

    def _closed(self, gate: str, outcome: GateOutcome, channel: str, value: str | None, delivered: bool) -> None:
        self._keep(
            GateClosed(project=self._project, gate=gate, outcome=outcome, channel=channel, value=value, delivered=delivered)
        )


def opened_report(project: str, deploy: str, run: str | None, gate: Any) -> GateOpened:
    """The report of a gate, as the link reported it.

    A program of an older version of the language tells by its own clock alone when the gate ends.
    """
    left = gate.expires_at * 1000 - unix_milliseconds() if gate.left_ms is None else gate.left_ms
    return GateOpened(
        project=project,
        gate=gate.id,
        kind=gate.kind,
        message=gate.message,
        left_ms=max(0, left),
        options=None if gate.options is None else tuple(gate.options),
        deploy=deploy,
        run=run,
    )


def kept_gate(report: GateOpened) -> dict[str, Any]:
    """A report, to be kept for a runner that comes after this one."""
    return {"report": to_json(report), "deadline": Deadline.after(report.left_ms).to_json()}


def report_kept(value: Mapping[str, Any]) -> GateOpened:
    """What ``kept_gate`` was given, with the time that is left now. Errors: ``ValueError``, ``KeyError``, ``TypeError``."""
    return replace(from_json(GateOpened, value["report"]), left_ms=max(0, Deadline.from_json(value["deadline"]).left()))


def _outcome(decision: DecisionSpec) -> GateOutcome:
    if decision.value is not None:
        return "answered"
    return "approved" if decision.decision else "denied"
