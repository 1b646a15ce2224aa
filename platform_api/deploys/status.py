"""The status of a project: a pure function of its desired state, its newest deploy and the reports of its runner."""

from __future__ import annotations

STATUSES = ("created", "deploying", "running", "ready", "sleeping", "waking", "stopping", "stopped", "failed", "deleting")
DESIRED = ("none", "up", "down", "erased")
DEPLOY_STATUSES = ("needs_review", "queued", "starting", "live", "failed", "superseded", "cancelled")
#: Observed states of a project: ``""`` before the first report, else a phase of the protocol of runners.
PHASES = ("", "starting", "running", "ready", "paused", "sleeping", "waking", "done", "failed", "stopping", "stopped")
#: The phases in which the program runs, or starts by itself at a request.
SERVING = frozenset({"starting", "running", "ready", "paused", "sleeping", "waking"})
#: The statuses of a deploy in progress.
ON_THEIR_WAY = frozenset({"queued", "starting"})

_UP = {
    "": "deploying",
    "starting": "waking",
    "running": "running",
    "ready": "ready",
    "paused": "sleeping",
    "sleeping": "sleeping",
    "waking": "waking",
    "done": "stopped",
    "failed": "failed",
    "stopping": "stopping",
    "stopped": "stopped",
}
_DOWN = {"done": "stopped", "failed": "failed", "stopped": "stopped"}


def status_of(desired: str, newest_deploy: str | None, phase: str) -> str:
    """The status that a project shows.

    Args:
        desired: one of ``DESIRED``.
        newest_deploy: the status of the newest deploy that was not, or is not, waiting for review; ``None`` without one.
        phase: one of ``PHASES``.
    """
    if desired == "none":
        return "created"
    if desired == "erased":
        return "deleting"
    if desired == "down":
        return _DOWN.get(phase, "stopping")
    if newest_deploy in ON_THEIR_WAY:
        return "deploying"
    return _UP[phase]


def status_reason_of(status: str, phase: str, detail: str, *, placed: bool = True) -> str | None:
    """Why a project has its status, if there is more to say than the status.

    Args:
        placed: whether a runner has it.
    """
    if status == "deploying" and not placed:
        return "No runner with room for it is connected: it waits for one."
    if status == "failed":
        return detail or "The program did not start."
    if status == "stopped" and phase == "done":
        return detail or "The program has ended by itself."
    return None
