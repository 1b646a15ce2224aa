"""What to do next for a project: pure functions of what is wanted of it, of what is seen of it, and of a moment.

Moments are seconds of a clock that only goes forward. ``decide`` gives one action; when it is done, or something has changed,
it is asked again. It gives ``Rest`` when nothing is left to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runner.protocol import DeploySpec, Phase, ProjectSpec

#: Seconds of a minute, of which plans tell after how many a program sleeps.
MINUTE = 60.0
#: Seconds that a paused program waits before it is stopped.
PAUSED_SECONDS = 30 * MINUTE
#: The first and the longest wait before a program that crashed is started again; it doubles from crash to crash.
FIRST_WAIT, LONGEST_WAIT = 1.0, 300.0
#: After this many seconds up a crash counts as the first one again.
STEADY_SECONDS = 600.0
#: A program has failed after this many crashes within this many seconds.
MOST_CRASHES, CRASH_SECONDS = 5, 600.0


@dataclass(frozen=True, slots=True)
class Up:
    """The program that is up.

    Attributes:
        steady: whether it has cron jobs or agents, which sleep only where the plan says so.
    """

    deploy: str
    paused_since: float | None = None
    steady: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is seen of a project.

    Attributes:
        up: the program that is up; ``None`` without one.
        exclusive: whether that program must not run beside another one.
        remains: whether other programs of the project are still ending.
        sleeps: the deploy that was stopped because nobody asked for it.
        fallback: the deploy that was up before the wanted one and can be started again.
        prepared: the deploy of a job whose files are here.
        erased: whether nothing is left.
        settled: the generation that has failed or is done.
        told: generation and phase of the last report.
        asked: whether a request waits for the program.
        idle_since: since when nobody uses it; ``None`` while somebody does.
        not_before: when the program may be started again.
    """

    up: Up | None = None
    exclusive: bool = False
    remains: bool = False
    sleeps: str | None = None
    fallback: str | None = None
    prepared: str | None = None
    erased: bool = False
    settled: int | None = None
    told: tuple[int, str] | None = None
    asked: bool = False
    idle_since: float | None = None
    not_before: float = 0.0


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing is to be done before that moment, or before something changes."""

    until: float | None = None


@dataclass(frozen=True, slots=True)
class Tell:
    """Report a phase for the wanted generation."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class Start:
    """Start a program.

    Attributes:
        fallback: the deploy before the wanted one, which has failed; nothing is reported of it.
    """

    fallback: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop what is running. ``replace``: for the wanted deploy; ``sleep``: it gets no requests; ``down``: it is not wanted."""

    why: Literal["replace", "sleep", "down"]


@dataclass(frozen=True, slots=True)
class Prepare:
    """Fetch the files of a job's deploy."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Freeze what is up."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Let what is paused go on."""


@dataclass(frozen=True, slots=True)
class Erase:
    """Remove everything that is here of the project."""


Action = Rest | Tell | Start | Stop | Prepare | Pause | Resume | Erase


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a runner keeps web programs that get no requests.

    Attributes:
        idle: seconds without a request after which one is paused at the latest; ``None``: as its plan says.
        paused: seconds that it is paused before it is stopped; ``None``: half an hour.
    """

    idle: float | None = None
    paused: float | None = None


_PATIENT = Patience()


def decide(spec: ProjectSpec, seen: Seen, now: float, patience: Patience = _PATIENT) -> Action:
    """The next action for a project."""
    if spec.desired == "erased":
        if seen.up is not None or seen.remains or not seen.erased:
            return Erase()
        return _told(spec, seen, "erased") or Rest()
    if spec.desired == "down":
        if seen.up is not None or seen.remains:
            return _told(spec, seen, "stopping") or Stop("down")
        return _told(spec, seen, "stopped") or Rest()
    deploy = spec.deploy
    if deploy is None:
        return Rest()
    if seen.settled == spec.generation:
        return _after_the_end(spec, seen, now, patience)
    if spec.kind == "job":
        if seen.prepared != deploy.id:
            return _told(spec, seen, "starting") or Prepare()
        return _told(spec, seen, "ready") or Rest()
    if seen.up is None:
        return _down(spec, deploy, seen, now)
    if seen.up.deploy != deploy.id:
        if not seen.exclusive and beside(spec, deploy):
            return _told(spec, seen, "starting") or Start()
        return _told(spec, seen, "starting") or Stop("replace")
    return _up(spec, seen, seen.up, now, patience)


def _down(spec: ProjectSpec, deploy: DeploySpec, seen: Seen, now: float) -> Action:
    if seen.sleeps == deploy.id and not seen.asked:
        return _told(spec, seen, "sleeping") or Rest()
    if seen.remains and not beside(spec, deploy):
        return Stop("replace")
    told = _told(spec, seen, "waking" if seen.sleeps == deploy.id else "starting")
    if told is not None:
        return told
    return Start() if now >= seen.not_before else Rest(seen.not_before)


def _up(spec: ProjectSpec, seen: Seen, up: Up, now: float, patience: Patience) -> Action:
    next_one = _while_up(spec, seen, up, now, patience)
    if isinstance(next_one, Resume):
        return next_one
    return _told(spec, seen, "running" if up.paused_since is None else "paused") or next_one


def _while_up(spec: ProjectSpec, seen: Seen, up: Up, now: float, patience: Patience) -> Action:
    """Whether a running program is kept, paused or woken."""
    if up.paused_since is not None:
        if seen.asked or not sleeps(spec, up):
            return Resume()
        stopped_at = up.paused_since + (PAUSED_SECONDS if patience.paused is None else patience.paused)
        return Stop("sleep") if now >= stopped_at else Rest(stopped_at)
    if not sleeps(spec, up):
        return Rest()
    idle_seconds: float = spec.limits.sleep_after * MINUTE
    if patience.idle is not None:
        idle_seconds = min(idle_seconds, patience.idle)
    if seen.idle_since is None:
        return Rest(now + idle_seconds)
    paused_at = seen.idle_since + idle_seconds
    return Pause() if now >= paused_at else Rest(paused_at)


def _after_the_end(spec: ProjectSpec, seen: Seen, now: float, patience: Patience) -> Action:
    """The wanted deploy has failed or is done. The one before goes on, sleeps and wakes, or is started again. None of it
    is reported, because the phase of the wanted deploy is that it has failed.
    """
    if seen.up is not None:
        return _while_up(spec, seen, seen.up, now, patience)
    if seen.fallback is None or (seen.sleeps == seen.fallback and not seen.asked):
        return Rest()
    return Start(fallback=True) if now >= seen.not_before else Rest(seen.not_before)


def _told(spec: ProjectSpec, seen: Seen, phase: Phase) -> Tell | None:
    return None if seen.told == (spec.generation, phase) else Tell(phase)


def sleeps(spec: ProjectSpec, up: Up) -> bool:
    """Whether a program is stopped when it gets no requests."""
    if spec.kind != "web" or spec.limits.sleep_after <= 0:
        return False
    return spec.limits.always_sleeps or not up.steady


def is_exclusive(deploy: DeploySpec) -> bool:
    """Whether a version must not run beside another one."""
    return deploy.has_cron or deploy.has_agents or deploy.writes_data


def beside(spec: ProjectSpec, deploy: DeploySpec) -> bool:
    """Whether a version may start while another one still runs."""
    return spec.kind == "web" and not is_exclusive(deploy)


@dataclass(frozen=True, slots=True)
class Ended:
    """What follows from the end of a program.

    Attributes:
        outcome: ``done`` and ``failed`` hold; ``again`` is started again, not before ``not_before``.
        crashes: the moments of the crashes that still count.
        in_a_row: crashes without a steady time between them.
    """

    outcome: Literal["done", "failed", "again"]
    not_before: float = 0.0
    crashes: tuple[float, ...] = ()
    in_a_row: int = 0


def after_exit(kind: str, code: int | None, *, good: bool, up_seconds: float, before: Ended | None, now: float) -> Ended:
    """What follows from the end of a program that was not stopped.

    Args:
        code: its exit code; ``None`` where a signal ended it.
        good: whether this version was up before: a web program that was not is not tried again.
        up_seconds: how long it was up.
        before: what followed from the end before this one.
    """
    if kind == "worker" and code == 0:
        return Ended("done")
    if kind == "web" and not good:
        return Ended("failed")
    crashes = (*(moment for moment in (before.crashes if before else ()) if now - moment < CRASH_SECONDS), now)
    in_a_row = 1 if before is None or up_seconds >= STEADY_SECONDS else before.in_a_row + 1
    if len(crashes) >= MOST_CRASHES:
        return Ended("failed", crashes=crashes, in_a_row=in_a_row)
    wait = min(FIRST_WAIT * 2.0 ** min(in_a_row - 1, 30), LONGEST_WAIT)
    return Ended("again", now + wait, crashes, in_a_row)
