"""What becomes of a project: requests, and reports of its runner, as functions from one record to the next.

Nothing here reads a clock or a store. Each change of what is wanted is a new generation, and a report is about one generation.
That of an older one changes nothing: a deploy that comes up late never takes the place of a newer one, and a stop or a delete
that was asked for during a start holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from platform_api.deploys.status import SERVING, status_of

#: Longest text that is kept of a reason.
DETAIL_LIMIT = 4_000


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """What is wanted of a project and what is seen of it.

    Attributes:
        desired: ``none``, ``up``, ``down`` or ``erased``.
        phase: what the runner saw last. While a deploy is on its way it is that of the deploy before.
        current: the deploy that is live.
        coming: the deploy that is on its way.
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
    """A lifecycle after something happened, and the deploys that it settled, in order.

    Attributes:
        erased: whether nothing is left of the project on its runner, so that its record can go.
    """

    after: Lifecycle
    settled: tuple[Settled, ...] = ()
    erased: bool = False


def deploy_asked(before: Lifecycle, deploy: str) -> Step:
    """A deploy takes its place. One that is on its way is superseded."""
    assert before.desired != "erased"
    settled = (Settled(before.coming, "superseded"),) if before.coming else ()
    after = replace(before, desired="up", generation=before.generation + 1, coming=deploy, coming_status="queued")
    return Step(after, settled)


def stop_asked(before: Lifecycle, *, placed: bool) -> Step:
    """The project is taken down. Where nothing is up and nothing on its way, nothing changes.

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
    """Container and volume go. Without a runner that knows of the project, it is gone at once."""
    if before.desired == "erased":
        return Step(before, erased=not placed)
    settled = (Settled(before.coming, "cancelled"),) if before.coming else ()
    after = replace(before, desired="erased", generation=before.generation + 1, coming=None, coming_status="queued", detail="")
    return Step(after, settled, erased=not placed)


def replaced(before: Lifecycle) -> Step:
    """The same is wanted anew, of a runner that knows nothing of it yet: what was seen holds no longer.

    The generation between the two is that in which the runner before erases what it has.
    """
    phase = {"up": "starting" if before.current and not before.coming else "", "down": "stopped"}.get(before.desired, "")
    if before.phase in ("failed", "done") and before.desired == "down":
        phase = before.phase
    return Step(replace(before, generation=before.generation + 2, phase=phase))


def reported(before: Lifecycle, generation: int, phase: str, detail: str = "") -> Step:
    """What a runner saw, when it is about the newest generation; else nothing changes."""
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
    # What has failed or ended stays so: that nothing is left of it is no news.
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
            # The deploy before goes on, or is started again: that is a new wish, and the status stays what it was.
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
    """It is not to be started again, by a restart of the runner either."""
    generation = before.generation + 1
    return replace(
        before, desired="down", generation=generation, phase=phase, detail=detail, coming=None, coming_status="queued"
    )
