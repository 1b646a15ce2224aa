"""The service beside a model of itself and of a runner, through requests, crashes, late and repeated reports in any order.

The model holds one ``Lifecycle`` a project and applies the pure functions to it. The store must say the same after every step:
then each report was taken once, in its order, and none of an older generation has changed anything.
"""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy import select, update
from stored_projects import stored_project

from platform_api.accounts.principal import ALL_SCOPES, Principal
from platform_api.accounts.records import make_account
from platform_api.deploys import operations
from platform_api.deploys.lifecycle import Lifecycle, deploy_asked, erase_asked, reported, stop_asked
from platform_api.deploys.request import Asked, deploy_package
from platform_api.deploys.status import DEPLOY_STATUSES, STATUSES, status_of
from platform_api.deploys.transitions import lifecycle_of
from platform_api.platform import Platform
from platform_api.projects.delete import delete_project
from platform_api.projects.listing import shown_project
from platform_api.refusals import Refusal
from platform_api.runners.polling import changes_since, position
from platform_api.runners.registry import arrived, make_runner_token
from platform_api.runners.reporting import take_report
from platform_api.runs.lifecycle import ACTIVE
from platform_api.runs.lifecycle import STATUSES as RUN_STATUSES
from platform_api.runs.requests import asked_cancel, asked_run
from platform_api.settings import Settings
from platform_api.store.tables import deploys, projects, runners, runs
from runner.protocol import Batch, Item, PhaseReport, ProjectSpec, ReportRequest, RunnerState, RunReport, RunSpec, to_json

_counter = itertools.count()
PHASES = ["starting", "running", "ready", "paused", "sleeping", "waking", "done", "failed", "stopping", "stopped", "erased"]


class ServiceAndRunner(RuleBasedStateMachine):
    known = Bundle("known")

    def __init__(self, platform: Platform) -> None:
        super().__init__()
        self.platform = platform
        self.main = self.platform.store.main
        number = next(_counter)
        with self.main.writing() as connection:
            account = make_account(connection, f"owner{number}@example.com", plan="team")
            # Runners of earlier examples are gone: a project is placed on that of this one.
            connection.execute(update(runners).values(seen_at=0))
            make_runner_token(connection, f"r{number}")
        self.who = Principal(account, "owner@example.com", "Owner", "team", False, "token", ALL_SCOPES)
        self.runner = RunnerState(id=f"r{number}", instance=f"i{number}", capacity_mb=1_000_000)
        self.model: dict[str, Lifecycle] = {}
        self.placed: dict[str, bool] = {}
        self.order: dict[str, list[str]] = {}
        self.cursor = ""
        self.specs: dict[str, ProjectSpec] = {}
        self.run_specs: dict[str, RunSpec] = {}
        self.spool: list[tuple[int, Item]] = []
        self.sent: list[tuple[int, Item]] = []
        self.numbers = itertools.count(1)
        self._poll()

    # What people ask for

    @precondition(lambda self: len(self.model) < 2)
    @rule(target=known, kind=st.sampled_from(["web", "worker", "job"]))
    def make(self, kind: str) -> str:
        project = stored_project(self.platform.store, self.who.account_id, kind=kind)
        self.model[project], self.placed[project], self.order[project] = Lifecycle(), False, []
        return project

    @rule(project=known)
    def deploy_and_poll(self, project: str) -> None:
        self.deploy(project)
        self._poll()

    @rule(project=known)
    def deploy(self, project: str) -> None:
        before = self.model.get(project)
        keys, plans = self.platform.keys, self.platform.plans
        with self.main.writing() as connection:
            try:
                row = deploy_package(connection, keys, plans, self.who, project, Asked.by(self.who), None)
            except Refusal as refusal:
                assert before is None or before.desired == "erased", refusal.message
                return
        assert before is not None
        self.model[project] = deploy_asked(before, row.id).after
        self.placed[project] = True
        self.order[project].append(row.id)

    @rule(project=known)
    def stop(self, project: str) -> None:
        before = self.model.get(project)
        with self.main.writing() as connection:
            try:
                status = operations.stop(connection, self.who, project)
            except Refusal:
                assert before is None or before.desired == "erased"
                return
        assert before is not None
        self.model[project] = stop_asked(before, placed=self.placed[project]).after
        assert status == self.model[project].status

    @rule(project=known)
    def delete(self, project: str) -> None:
        before = self.model.get(project)
        with self.main.writing() as connection:
            try:
                answer = delete_project(connection, self.who, project)
            except Refusal:
                assert before is None
                return
        assert before is not None
        step = erase_asked(before, placed=self.placed[project])
        assert answer == ("deleted" if step.erased else "deleting")
        if step.erased:
            del self.model[project]
        else:
            self.model[project] = step.after

    @rule(project=known)
    def run(self, project: str) -> None:
        with self.main.writing() as connection:
            try:
                asked_run(connection, self.who, project, self.platform.plans["team"])
            except Refusal as refusal:
                assert refusal.code in ("conflict", "not_deployed", "already_running", "not_found")

    @rule(project=known)
    def cancel(self, project: str) -> None:
        with self.main.writing() as connection:
            active = select(runs.c.id).where(runs.c.project_id == project, runs.c.status.in_(sorted(ACTIVE)))
            run = connection.execute(active).scalar_one_or_none()
            if run is not None and self.model[project].desired != "erased":
                asked_cancel(connection, self.who, project, run)

    # What the runner does

    @rule()
    def poll(self) -> None:
        self._poll()

    @rule()
    def crash(self) -> None:
        """The runner forgets what it was told; what it has to say lies on its disk."""
        self.cursor, self.specs, self.run_specs = "", {}, {}
        self._poll()

    @precondition(lambda self: self.specs)
    @rule(data=st.data(), age=st.sampled_from([0, 0, 0, 0, 1, 2, -1]), phase=st.sampled_from(PHASES))
    def sees(self, data: st.DataObject, age: int, phase: Any) -> None:
        spec = self.specs[data.draw(st.sampled_from(sorted(self.specs)))]
        report = PhaseReport(project=spec.project, generation=spec.generation - age, phase=phase, detail="why", engine="1")
        self.spool.append((next(self.numbers), report))

    @precondition(lambda self: self.run_specs)
    @rule(
        data=st.data(),
        age=st.sampled_from([0, 0, 0, 1]),
        status=st.sampled_from(["running", "succeeded", "failed", "timed_out", "cancelled"]),
    )
    def sees_run(self, data: st.DataObject, age: int, status: Any) -> None:
        spec = self.run_specs[data.draw(st.sampled_from(sorted(self.run_specs)))]
        report = RunReport(project=spec.project, run=spec.id, attempt=spec.attempt - age, status=status)
        self.spool.append((next(self.numbers), report))

    @rule()
    def send(self) -> None:
        """Sends what is kept, and is heard."""
        self._send(self.spool)
        self.sent += self.spool
        self.spool = []

    @rule(many=st.integers(1, 5))
    def send_and_hear_nothing(self, many: int) -> None:
        """The answer is lost: what was stored is sent again later."""
        self._send(self.spool[:many])

    @rule(many=st.integers(1, 30))
    def send_again(self, many: int) -> None:
        """What was acknowledged long ago comes once more."""
        again = self.sent[-many:]
        before = self._stored()
        self._send(again, known=True)
        assert self._stored() == before

    # What always holds

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        with self.main.reading() as connection:
            rows = connection.execute(select(projects).where(projects.c.account_id == self.who.account_id)).all()
            assert {row.id for row in rows} == set(self.model)
            for row in rows:
                model = self.model[row.id]
                assert lifecycle_of(connection, row) == model
                shown = shown_project(connection, row.id)
                status = status_of(shown.desired, shown.newest_deploy, shown.phase)
                assert status == model.status and status in STATUSES
                self._check_deploys(connection, row.id, model)
                active = runs.c.project_id == row.id, runs.c.status.in_(sorted(ACTIVE))
                going = connection.execute(select(runs).where(*active)).all()
                assert len(going) <= 1
                for run in going:
                    # What is not wanted up has no run that waits, and one that runs is to be ended.
                    assert model.desired == "up" or (run.status == "running" and run.cancel)
                    # One that waits for nothing was told to the runner.
                    assert run.status == "running" or model.status != "ready" or run.deploy_id == model.current
            found = connection.execute(select(runs.c.status).where(runs.c.project_id.in_(set(self.model)))).scalars()
            assert set(found) <= set(RUN_STATUSES)

    def _check_deploys(self, connection: Any, project: str, model: Lifecycle) -> None:
        rows = connection.execute(select(deploys).where(deploys.c.project_id == project).order_by(deploys.c.number)).all()
        assert [row.id for row in rows] == self.order[project]
        assert {row.status for row in rows} <= set(DEPLOY_STATUSES)
        assert [row.id for row in rows if row.status in ("queued", "starting")] == ([model.coming] if model.coming else [])
        assert [row.id for row in rows if row.status == "live"] == ([model.current] if model.current else [])
        for row in rows:
            assert (row.environment is not None) == (row.id in (model.coming, model.current))
            assert (row.finished_at is None) == (row.id == model.coming)
            # A deploy that was asked for before the live one never comes after it.
            if model.current and row.id != model.current and row.id != model.coming:
                assert row.status in ("failed", "superseded", "cancelled")

    def _poll(self) -> None:
        with self.main.writing() as connection:
            arrived(connection, self.runner)
        told = self._told(self.cursor)
        self.cursor = told.cursor
        self.specs |= {spec.project: spec for spec in told.projects}
        self.run_specs |= {spec.id: spec for spec in told.runs}
        # Who follows the cursor knows what somebody knows who asks for everything.
        everything = self._told("")
        assert {spec.project: spec for spec in everything.projects} == {
            project: spec for project, spec in self.specs.items() if project in self.model
        }
        for spec in everything.projects:
            assert (spec.desired == "up") == (self.model[spec.project].wanted is not None)
            assert (spec.deploy.id if spec.deploy else None) == self.model[spec.project].wanted
        for run in everything.runs:
            assert self.run_specs[run.id].attempt == run.attempt

    def _told(self, cursor: str) -> Any:
        made = self.platform
        with self.main.reading() as connection:
            return changes_since(connection, made.keys, made.plans, made.settings, self.runner.id, position(cursor))

    def _send(self, items: list[tuple[int, Item]], *, known: bool = False) -> None:
        batch = Batch(stream="state", items=tuple((number, to_json(item)) for number, item in items))
        answer = take_report(
            self.platform.store, self.runner.id, ReportRequest(instance=self.runner.instance, batches=(batch,))
        )
        if items:
            assert answer.acknowledged["state"] >= items[-1][0]
        taken = getattr(self, "taken", 0)
        for number, item in items:
            if number <= taken:
                continue
            assert not known
            taken = number
            if isinstance(item, PhaseReport) and item.project in self.model:
                step = reported(self.model[item.project], item.generation, item.phase, item.detail)
                if step.erased:
                    del self.model[item.project]
                else:
                    self.model[item.project] = step.after
        self.taken = taken

    def _stored(self) -> Any:
        with self.main.reading() as connection:
            rows = connection.execute(select(projects).where(projects.c.account_id == self.who.account_id)).all()
            return [tuple(row) for row in rows]


def test_the_service_is_as_the_model_says(tmp_path: Path, database: str | None) -> None:
    """One store for all examples: each has an account and a runner of its own."""
    platform = Platform(Settings(data=tmp_path, database=database))
    try:
        run_state_machine_as_test(
            partial(ServiceAndRunner, platform),  # type: ignore[arg-type]
            settings=settings(max_examples=25, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)),
        )
    finally:
        platform.close()
