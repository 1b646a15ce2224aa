"""The lifecycle of a project: requests and reports of its runner are pure functions from one record to the next.

They read neither a clock nor a store. Each change of the desired state is a new generation, and a report is about one
generation. A report about an older generation changes nothing: a deploy that starts late never replaces a newer one, and a stop
or a delete during a start is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from platform_api.deploys.status import SERVING, status_of

#: The most characters of a stored reason.
DETAIL_LIMIT = 4_000


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The desired and the observed state of a project.

    Attributes:
        desired: ``none``, ``up``, ``down`` or ``erased``.
        phase: the last state that the runner reported. During a deploy it is that of the deploy before.
        current: the deploy that is live.
        coming: the deploy in progress.
        coming_status: ``queued`` or ``starting``.
    """

    desired: str = "none"
    generation: int = 0
    phase: str = ""
    detail: str = ""
    current: str | None = None
    coming: str | None = None
    coming_status: str = "queued"

    @property
    def wanted(self) -> str | None:
        """The deploy that is to be up."""
        return (self.coming or self.current) if self.desired == "up" else None

    @property
    def status(self) -> str:
        """The status that the project shows."""
        return status_of(self.desired, self.coming_status if self.coming else None, self.phase)


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a deploy."""

    deploy: str
    status: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A lifecycle after an event, and the deploys whose status it settled, in order.

    Attributes:
        erased: whether nothing is left of the project on its runner, so that its record can be deleted.
    """

    after: Lifecycle
    settled: tuple[Settled, ...] = ()
    erased: bool = False


def deploy_asked(before: Lifecycle, deploy: str) -> Step:
    """A deploy is requested. It supersedes one in progress."""
    assert before.desired != "erased"
    settled = (Settled(before.coming, "superseded"),) if before.coming else ()
    after = replace(before, desired="up", generation=before.generation + 1, coming=deploy, coming_status="queued")
    return Step(after, settled)


def stop_asked(before: Lifecycle, *, placed: bool) -> Step:
    """A stop is requested. Nothing changes if nothing runs and no deploy is in progress.

    Args:
        placed: whether a runner knows of the project.
    """
    if before.desired != "up":
        return Step(before)
    settled = (Settled(before.coming, "cancelled"),) if before.coming else ()
    phase = "stopping" if placed else "stopped"
    after = replace(
        before, desired="down", generation=before.generation + 1, phase=phase, detail="", coming=None, coming_status="queued"
    )
    return Step(after, settled)


def erase_asked(before: Lifecycle, *, placed: bool) -> Step:
    """The deletion of container and volume is requested. Without a runner that knows the project, it is done at once."""
    if before.desired == "erased":
        return Step(before, erased=not placed)
    settled = (Settled(before.coming, "cancelled"),) if before.coming else ()
    after = replace(before, desired="erased", generation=before.generation + 1, coming=None, coming_status="queued", detail="")
    return Step(after, settled, erased=not placed)


def replaced(before: Lifecycle) -> Step:
    """The project moves to another runner, so its observed state is no longer valid.

    The generation between the two is the one in which the former runner erases its part.
    """
    phase = {"up": "starting" if before.current and not before.coming else "", "down": "stopped"}.get(before.desired, "")
    if before.phase in ("failed", "done") and before.desired == "down":
        phase = before.phase
    return Step(replace(before, generation=before.generation + 2, phase=phase))


def reported(before: Lifecycle, generation: int, phase: str, detail: str = "") -> Step:
    """A report of a runner. It changes nothing unless it is about the newest generation."""
    if generation != before.generation:
        return Step(before)
    detail = detail[:DETAIL_LIMIT]
    if before.desired == "erased":
        return Step(before, erased=phase == "erased")
    if before.desired == "down":
        return _reported_down(before, phase)
    if before.desired == "up":
        return _reported_coming(before, phase, detail) if before.coming else _reported_live(before, phase, detail)
    return Step(before)


def _reported_down(before: Lifecycle, phase: str) -> Step:
    # A failed or ended deploy keeps that status when the runner reports that nothing is left of it.
    if before.phase in ("failed", "done"):
        return Step(before)
    if phase in ("stopped", "failed", "done"):
        return Step(replace(before, phase="stopped", detail=""))
    return Step(before)


def _reported_coming(before: Lifecycle, phase: str, detail: str) -> Step:
    deploy = before.coming
    assert deploy is not None
    if phase == "failed":
        failed = (Settled(deploy, "failed", detail or "The program did not start."),)
        if before.current and before.phase in SERVING:
            # The deploy before keeps running or is restarted: a new desired state, while the status stays the same.
            kept = replace(before, generation=before.generation + 1, coming=None, coming_status="queued")
            return Step(kept, failed)
        return Step(_given_up(before, "failed", detail), failed)
    if phase in SERVING - {"starting", "waking"} or phase == "done":
        settled = (Settled(before.current, "superseded"),) if before.current and before.current != deploy else ()
        live = replace(before, phase=phase, detail="", current=deploy, coming=None, coming_status="queued")
        step = Step(live, (*settled, Settled(deploy, "live")))
        return Step(_given_up(live, "done", detail), step.settled) if phase == "done" else step
    if phase in ("starting", "waking") and before.coming_status == "queued":
        return Step(replace(before, coming_status="starting"), (Settled(deploy, "starting"),))
    return Step(before)


def _reported_live(before: Lifecycle, phase: str, detail: str) -> Step:
    if phase in ("failed", "done"):
        return Step(_given_up(before, phase, detail))
    if phase in SERVING and (phase, detail) != (before.phase, before.detail):
        return Step(replace(before, phase=phase, detail=detail))
    return Step(before)


def _given_up(before: Lifecycle, phase: str, detail: str) -> Lifecycle:
    """The program is not started again, not even after a restart of the runner."""
    generation = before.generation + 1
    return replace(
        before, desired="down", generation=generation, phase=phase, detail=detail, coming=None, coming_status="queued"
    )
