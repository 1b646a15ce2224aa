"""What becomes of a run, as functions from one record to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace

STATUSES = ("queued", "running", "succeeded", "failed", "timed_out", "cancelled")
ACTIVE = frozenset({"queued", "running"})


@dataclass(frozen=True, slots=True)
class RunState:
    """A run.

    Attributes:
        attempt: the fence: what is reported of an older attempt changes nothing.
        cancel: whether somebody wants it ended.
    """

    status: str = "queued"
    attempt: int = 1
    cancel: bool = False

    @property
    def is_active(self) -> bool:
        """Whether it is not over."""
        return self.status in ACTIVE


def reported(before: RunState, attempt: int, status: str) -> RunState | None:
    """The state after a report; ``None`` where the report changes nothing and nothing of it is taken."""
    if attempt != before.attempt or not before.is_active or status not in STATUSES or status == "queued":
        return None
    return replace(before, status=status)


def cancel_asked(before: RunState) -> RunState:
    """The state after somebody wants it ended: at once while it waits; one that runs ends when its runner says so."""
    if before.status == "queued":
        return replace(before, status="cancelled", cancel=True)
    return replace(before, cancel=True) if before.is_active else before


def given_up(before: RunState, status: str) -> RunState:
    """The state after the service has ended it: what its runner still says of it counts no more."""
    if not before.is_active:
        return before
    return replace(before, status=status, attempt=before.attempt + 1, cancel=before.cancel or before.status == "running")


def handed_on(before: RunState) -> RunState:
    """The state when another runner has to take the run up. A running one is not begun anew: what it has done is not known."""
    if before.status == "queued":
        return replace(before, attempt=before.attempt + 1)
    return given_up(before, "failed")
