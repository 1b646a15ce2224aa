"""The progress of a task: its steps, their states, and the step to continue with after a restart."""

from __future__ import annotations

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PENDING = "pending"
IN_PROGRESS = "in_progress"
DONE = "done"
FAILED = "failed"
SKIPPED = "skipped"

_MARKS = {PENDING: "  ", IN_PROGRESS: ">>", DONE: "OK", FAILED: "XX", SKIPPED: "--"}


class Step:
    """One step. ``started`` and ``finished`` are in Unix seconds; ``retries`` counts the starts after the first one."""

    __slots__ = ("error", "finished", "name", "result", "retries", "started", "status")

    def __init__(
        self,
        name: str,
        status: str = PENDING,
        started: float | None = None,
        finished: float | None = None,
        result: str | None = None,
        error: str | None = None,
        retries: int = 0,
    ) -> None:
        self.name = name
        self.status = status
        self.started = started
        self.finished = finished
        self.result = result
        self.error = error
        self.retries = retries

    def start(self, now: float) -> None:
        if self.started is not None:
            self.retries += 1
        self.status, self.started, self.finished = IN_PROGRESS, now, None

    def complete(self, now: float, result: str | None) -> None:
        self.status, self.finished, self.result, self.error = DONE, now, result, None

    def fail(self, now: float, error: str | None) -> None:
        self.status, self.finished, self.error = FAILED, now, error

    @property
    def is_over(self) -> bool:
        return self.status in (DONE, SKIPPED)


def resume_point(steps: Sequence[Step]) -> str | None:
    """The step to continue with: the first one that was started or failed, else the first one that was not started; ``None`` if
    all are finished.
    """
    for among in ((IN_PROGRESS, FAILED), (PENDING,)):
        for step in steps:
            if step.status in among:
                return step.name
    return None


def percent(steps: Sequence[Step]) -> int | float:
    """The percentage of steps that are finished, 0 to 100. A task without steps is at 100."""
    if not steps:
        return 100
    share = 100 * sum(step.is_over for step in steps) / len(steps)
    return int(share) if share.is_integer() else share


def display(task: str, steps: Sequence[Step]) -> str:
    """A task and its steps, one on each line."""
    lines = [f"Task: {task} ({percent(steps):.0f}%)"]
    for step in steps:
        line = f"  [{_MARKS.get(step.status, '??')}] {step.name}"
        if step.started is not None and step.finished is not None:
            line += f" ({max(step.finished - step.started, 0) * 1000:.0f}ms)"
        if step.result is not None:
            line += f" → {step.result}"
        if step.error is not None:
            line += f" ERROR: {step.error}"
        lines.append(line)
    return "\n".join(lines)


def no_task(task: str) -> RuntimeFault:
    return RuntimeFault(f"No task '{task}' tracked")


def no_step(task: str, step: str) -> RuntimeFault:
    return RuntimeFault(f"No step '{step}' in task '{task}'")
