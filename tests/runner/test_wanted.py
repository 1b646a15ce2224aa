"""What to do next for a project: single steps, and what holds for any story of wishes, requests and crashes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from runner.protocol import DeploySpec, Limits, ProjectSpec
from runner.wanted import (
    CRASH_SECONDS,
    LONGEST_WAIT,
    MOST_CRASHES,
    PAUSED_SECONDS,
    STEADY_SECONDS,
    Ended,
    Erase,
    Patience,
    Pause,
    Prepare,
    Rest,
    Resume,
    Seen,
    Start,
    Stop,
    Tell,
    Up,
    after_exit,
    beside,
    decide,
    is_exclusive,
)

PLAIN = DeploySpec(id="dep_1", number=1, package_hash="sha256:1", entry="main.lang", kind="web", ceiling="stdout")
NEWER = replace(PLAIN, id="dep_2", number=2)
CRON = replace(NEWER, has_cron=True)
WANTED = ProjectSpec(project="prj_1", generation=7, desired="up", slug="shop", name="Shop", kind="web", deploy=PLAIN)
TOLD = (7, "running")
IDLE = 10 * 60.0


def wanted(**changes: Any) -> ProjectSpec:
    return replace(WANTED, **changes)


@pytest.mark.parametrize(
    ("spec", "seen", "now", "action"),
    [
        pytest.param(WANTED, Seen(), 0, Tell("starting"), id="a start is told first"),
        pytest.param(WANTED, Seen(told=(7, "starting")), 0, Start(), id="then it is started"),
        pytest.param(WANTED, Seen(told=(7, "starting"), not_before=5), 0, Rest(5), id="a crash makes it wait"),
        pytest.param(WANTED, Seen(up=Up("dep_1"), told=(6, "running")), 0, Tell("running"), id="a new generation is told"),
        pytest.param(WANTED, Seen(up=Up("dep_1"), told=TOLD, idle_since=0), 1, Rest(IDLE), id="idle, but not for long"),
        pytest.param(WANTED, Seen(up=Up("dep_1"), told=TOLD, idle_since=0), IDLE, Pause(), id="idle for long"),
        pytest.param(WANTED, Seen(up=Up("dep_1"), told=TOLD), 5, Rest(5 + IDLE), id="in use"),
        pytest.param(WANTED, Seen(up=Up("dep_1", 0.0), told=TOLD), 1, Tell("paused"), id="a pause is told"),
        pytest.param(WANTED, Seen(up=Up("dep_1", 0.0), told=(7, "paused")), 1, Rest(PAUSED_SECONDS), id="paused"),
        pytest.param(WANTED, Seen(up=Up("dep_1", 0.0), told=(7, "paused"), asked=True), 1, Resume(), id="asked for"),
        pytest.param(
            WANTED, Seen(up=Up("dep_1", 0.0), told=(7, "paused")), PAUSED_SECONDS, Stop("sleep"), id="paused for long"
        ),
        pytest.param(WANTED, Seen(sleeps="dep_1", told=TOLD), 0, Tell("sleeping"), id="sleep is told"),
        pytest.param(WANTED, Seen(sleeps="dep_1", told=(7, "sleeping")), 0, Rest(), id="it sleeps"),
        pytest.param(WANTED, Seen(sleeps="dep_1", told=(7, "sleeping"), asked=True), 0, Tell("waking"), id="waking is told"),
        pytest.param(WANTED, Seen(sleeps="dep_1", told=(7, "waking"), asked=True), 0, Start(), id="it wakes"),
        pytest.param(
            wanted(deploy=NEWER), Seen(up=Up("dep_1"), told=(7, "starting")), 0, Start(), id="the newer one beside it"
        ),
        pytest.param(
            wanted(deploy=CRON),
            Seen(up=Up("dep_1"), told=(7, "starting")),
            0,
            Stop("replace"),
            id="one with cron jobs has no other beside it",
        ),
        pytest.param(
            wanted(deploy=NEWER),
            Seen(up=Up("dep_1"), exclusive=True, told=(7, "starting")),
            0,
            Stop("replace"),
            id="nor has one before it",
        ),
        pytest.param(wanted(deploy=NEWER), Seen(sleeps="dep_1", told=(7, "starting")), 0, Start(), id="over a sleeping one"),
        pytest.param(WANTED, Seen(settled=7, told=(7, "failed")), 0, Rest(), id="what failed is not tried again"),
        pytest.param(WANTED, Seen(settled=6, told=(7, "starting")), 0, Start(), id="but when it is wanted anew"),
        pytest.param(
            wanted(deploy=NEWER), Seen(settled=7, fallback="dep_1", told=(7, "failed")), 0, Start(fallback=True), id="fallback"
        ),
        pytest.param(
            wanted(deploy=NEWER),
            Seen(settled=7, fallback="dep_1", sleeps="dep_1", told=(7, "failed")),
            0,
            Rest(),
            id="the one before slept",
        ),
        pytest.param(
            wanted(deploy=NEWER),
            Seen(settled=7, fallback="dep_1", sleeps="dep_1", told=(7, "failed"), asked=True),
            0,
            Start(fallback=True),
            id="and is woken",
        ),
        pytest.param(
            wanted(deploy=NEWER),
            Seen(settled=7, up=Up("dep_1"), told=(7, "failed")),
            0,
            Rest(IDLE),
            id="the one before goes on",
        ),
        pytest.param(
            wanted(deploy=NEWER),
            Seen(settled=7, up=Up("dep_1"), told=(7, "failed"), idle_since=0),
            IDLE,
            Pause(),
            id="it sleeps, and nothing is told of it",
        ),
        pytest.param(
            wanted(deploy=NEWER),
            Seen(settled=7, up=Up("dep_1", 0.0), told=(7, "failed"), asked=True),
            1,
            Resume(),
            id="it is woken",
        ),
        pytest.param(wanted(desired="down"), Seen(up=Up("dep_1"), told=TOLD), 0, Tell("stopping"), id="a stop is told"),
        pytest.param(wanted(desired="down"), Seen(up=Up("dep_1"), told=(7, "stopping")), 0, Stop("down"), id="then done"),
        pytest.param(wanted(desired="down"), Seen(remains=True, told=(7, "stopping")), 0, Stop("down"), id="with its rests"),
        pytest.param(wanted(desired="down"), Seen(told=(7, "stopping")), 0, Tell("stopped"), id="nothing is up"),
        pytest.param(wanted(desired="down"), Seen(told=(7, "stopped")), 0, Rest(), id="down"),
        pytest.param(wanted(desired="erased", deploy=None), Seen(up=Up("dep_1")), 0, Erase(), id="erase first deletes"),
        pytest.param(wanted(desired="erased", deploy=None), Seen(erased=True), 0, Tell("erased"), id="then tells"),
        pytest.param(wanted(kind="job"), Seen(told=(7, "starting")), 0, Prepare(), id="a job is prepared"),
        pytest.param(wanted(kind="job"), Seen(prepared="dep_1", told=(7, "starting")), 0, Tell("ready"), id="and ready"),
        pytest.param(
            wanted(kind="worker"), Seen(up=Up("dep_1"), told=TOLD, idle_since=0), 10**6, Rest(), id="a worker never sleeps"
        ),
        pytest.param(
            wanted(limits=Limits(sleep_after=0)), Seen(up=Up("dep_1"), told=TOLD, idle_since=0), 10**6, Rest(), id="sleep off"
        ),
        pytest.param(
            wanted(deploy=replace(CRON, id="dep_1"), limits=Limits(always_sleeps=False)),
            Seen(up=Up("dep_1", steady=True), told=TOLD, idle_since=0),
            10**6,
            Rest(),
            id="cron jobs keep it awake",
        ),
        pytest.param(
            wanted(deploy=replace(CRON, id="dep_1")),
            Seen(up=Up("dep_1", steady=True), told=TOLD, idle_since=0),
            10**6,
            Pause(),
            id="but on a plan where all sleep",
        ),
    ],
)
def test_next(spec: ProjectSpec, seen: Seen, now: float, action: object) -> None:
    assert decide(spec, seen, now) == action


def test_an_operator_has_idle_programs_paused_and_stopped_earlier() -> None:
    short, long = Patience(idle=5, paused=7), Patience(idle=10**6)
    idle = Seen(up=Up("dep_1"), told=TOLD, idle_since=0)
    assert (decide(WANTED, idle, 4, short), decide(WANTED, idle, 5, short)) == (Rest(5), Pause())
    assert decide(WANTED, idle, 5, long) == Rest(WANTED.limits.sleep_after * 60), "never later than the plan says"
    assert decide(wanted(limits=Limits(sleep_after=0)), idle, 10**6, short) == Rest()
    paused = Seen(up=Up("dep_1", 10), told=(7, "paused"))
    assert (decide(WANTED, paused, 16, short), decide(WANTED, paused, 17, short)) == (Rest(17), Stop("sleep"))
    assert decide(WANTED, paused, 17, long) == Rest(10 + 1800)


def test_what_follows_from_an_end() -> None:
    def end(code: int | None, kind: str = "worker", *, good: bool = True, before: Ended | None = None, now: float = 0) -> Ended:
        return after_exit(kind, code, good=good, up_seconds=0, before=before, now=now)

    assert end(0).outcome == "done"
    assert end(1, "web", good=False).outcome == "failed", "a first start that fails is told at once"
    assert end(0, "web").outcome == "again"
    story, waits, now = None, [], 0.0
    for _ in range(MOST_CRASHES - 1):
        story = end(None, before=story, now=now)
        waits.append(story.not_before - now)
        now = story.not_before
    assert waits == [1, 2, 4, 8]
    assert end(1, before=story, now=now).outcome == "failed"


def test_crashes_that_lie_apart_are_waited_for_longer_and_longer_until_it_is_steady() -> None:
    story, now, waits = None, 0.0, []
    for _ in range(12):
        story = after_exit("worker", 1, good=True, up_seconds=0, before=story, now=now)
        assert story.outcome == "again"
        waits.append(story.not_before - now)
        now += CRASH_SECONDS
    assert waits[-1] == LONGEST_WAIT and waits[:3] == [1, 2, 4]
    steady = after_exit("worker", 1, good=True, up_seconds=STEADY_SECONDS, before=story, now=now)
    assert steady.not_before - now == 1


class World:
    """A machine that does each action at once, and a story that interferes."""

    def __init__(self, kind: str) -> None:
        self.spec = replace(WANTED, kind=kind, generation=0, desired="down", deploy=None)  # type: ignore[arg-type]
        self.seen = Seen(idle_since=0.0)
        self.now = 0.0
        self.up_deploy: DeploySpec | None = None
        self.good: DeploySpec | None = None
        self.story: Ended | None = None
        self.breaks: set[str] = set()
        self.told: list[tuple[int, str]] = []

    def settle(self) -> None:
        """Acts until there is nothing to do, which is soon."""
        for _ in range(20):
            action = decide(self.spec, self._seen(), self.now)
            if isinstance(action, Rest):
                assert action.until is None or action.until > self.now
                return
            self._act(action)
        raise AssertionError("it does not come to rest")

    def _seen(self) -> Seen:
        settled = self.seen.settled == self.spec.generation
        other = self.good is not None and self.spec.deploy is not None and self.good.id != self.spec.deploy.id
        fallback = self.good.id if settled and other and self.good is not None else None
        exclusive = self.up_deploy is not None and (self.spec.kind != "web" or is_exclusive(self.up_deploy))
        return replace(self.seen, fallback=fallback, exclusive=exclusive)

    def _act(self, action: object) -> None:
        seen, deploy = self.seen, self.spec.deploy
        if isinstance(action, Tell):
            told = self.spec.generation, action.phase
            assert not self.told or self.told[-1] != told, "nothing is told twice in a row"
            self.told.append(told)
            self.seen = replace(seen, told=told)
        elif isinstance(action, Start):
            new = self.good if action.fallback else deploy
            assert new is not None and self.spec.desired == "up" and self.now >= seen.not_before
            if self.up_deploy is not None:
                assert beside(self.spec, new) and not is_exclusive(self.up_deploy), "two that must not be beside each other"
            if new.id in self.breaks:
                self._ended(new, fallback=action.fallback)
            else:
                self.up_deploy = self.good = new
                self.seen = replace(seen, up=Up(new.id, steady=new.has_cron), sleeps=None, asked=False, idle_since=self.now)
        elif isinstance(action, Stop):
            assert seen.up is not None
            self.up_deploy = None
            self.seen = replace(seen, up=None, sleeps=seen.up.deploy if action.why == "sleep" else None)
        elif isinstance(action, Pause):
            assert seen.up is not None and seen.idle_since is not None
            self.seen = replace(seen, up=replace(seen.up, paused_since=self.now))
        elif isinstance(action, Resume):
            assert seen.up is not None and seen.up.paused_since is not None
            self.seen = replace(seen, up=replace(seen.up, paused_since=None), asked=False, idle_since=self.now)
        elif isinstance(action, Erase):
            self.up_deploy = None
            self.seen = replace(seen, up=None, erased=True, sleeps=None)
        else:
            assert isinstance(action, Prepare) and deploy is not None
            self.seen = replace(seen, prepared=deploy.id)

    def crash(self) -> None:
        if self.up_deploy is not None and self.spec.desired == "up":
            ended, self.up_deploy = self.up_deploy, None
            self.seen = replace(self.seen, up=None)
            self._ended(ended, fallback=self.spec.deploy is not None and ended.id != self.spec.deploy.id)

    def _ended(self, deploy: DeploySpec, *, fallback: bool) -> None:
        good = self.good is not None and self.good.id == deploy.id
        self.story = after_exit(self.spec.kind, 1, good=good, up_seconds=0, before=self.story, now=self.now)
        self.seen = replace(self.seen, not_before=self.story.not_before)
        if self.story.outcome != "again" and fallback:
            self.good = None
        elif self.story.outcome != "again":
            self.seen = replace(self.seen, settled=self.spec.generation, told=(self.spec.generation, "failed"), not_before=0)
            self.told.append((self.spec.generation, "failed"))


DEPLOYS = [replace(PLAIN, id=f"dep_{number}", has_cron=number % 2 == 0) for number in range(4)]
STEP = some.one_of(
    some.tuples(some.just("up"), some.sampled_from(DEPLOYS)),
    some.tuples(some.sampled_from(["down", "erased", "ask", "crash"]), some.none()),
    some.tuples(some.just("breaks"), some.sets(some.sampled_from([deploy.id for deploy in DEPLOYS]))),
    some.tuples(some.just("time"), some.floats(0, 3 * PAUSED_SECONDS)),
)


@settings(max_examples=150)
@given(some.sampled_from(["web", "worker", "job"]), some.lists(STEP, max_size=25))
def test_any_story_comes_to_rest_in_what_is_wanted(kind: Any, steps: list[tuple[str, Any]]) -> None:
    world = World(kind)
    for step, value in steps:
        generation = world.spec.generation
        if step == "up":
            if world.spec.deploy != value:
                world.story, world.seen = None, replace(world.seen, not_before=0.0)
            deploy = replace(value, kind=kind)
            world.spec = replace(world.spec, generation=generation + 1, desired="up", deploy=deploy)
            world.seen = replace(world.seen, erased=False)
        elif step in ("down", "erased"):
            world.spec = replace(world.spec, generation=generation + 1, desired=step, deploy=None)  # type: ignore[arg-type]
        elif step == "ask":
            world.seen = replace(world.seen, asked=world.spec.kind == "web")
        elif step == "crash":
            world.crash()
        elif step == "breaks":
            world.breaks = value
        else:
            world.now += value
        world.settle()
        assert all(told[0] <= world.spec.generation for told in world.told)
        assert [told[0] for told in world.told] == sorted(told[0] for told in world.told)
        seen, spec = world.seen, world.spec
        assert not (seen.asked and spec.desired == "up" and seen.up and seen.up.paused_since is not None), "nobody wakes it"
        if spec.desired != "up":
            assert seen.up is None
            assert world.told[-1][1] == {"down": "stopped", "erased": "erased"}[spec.desired]
        elif seen.settled != spec.generation and seen.not_before <= world.now:
            assert spec.deploy is not None
            here = {seen.prepared} if kind == "job" else {seen.up.deploy if seen.up else seen.sleeps}
            assert here == {spec.deploy.id}
