"""A runner without an engine: it speaks the protocol over HTTP and acts as if programs ran.

What a program does is read off its text: ``raise`` crashes it, ``approve "..."`` opens a gate, ``print("...")`` and
``print(env("..."))`` print, ``exit(n)`` ends a run with that code, ``sleep(...)`` goes on until it is cancelled or its time is
up. A worker ends at once, unless it sleeps.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
import threading
import time
from pathlib import Path
from typing import Any

import httpx

from runner import protocol
from runner.protocol import (
    DecisionSpec,
    GateClosed,
    GateOpened,
    Item,
    LogLine,
    PackageAnswer,
    PhaseReport,
    PollAnswer,
    PollRequest,
    ProjectSpec,
    ReportAnswer,
    ReportRequest,
    RunnerState,
    RunReport,
    RunSpec,
)

ENGINE = "0.0.1-fake"
#: What a runner says of a program that crashed: the end of what it wrote, on lines of its own.
CRASHED = "The program ended with exit code 1.\nRuntime error: boom"


class FakeRunner:
    """A runner.

    Args:
        url: the service.
        token: the runner's.
        folder: what outlives a restart: the instance, the numbers of streams, what is not acknowledged.
    """

    def __init__(self, url: str, token: str, runner_id: str, folder: Path | None = None, *, capacity_mb: int = 65_536) -> None:
        self.id, self.capacity_mb = runner_id, capacity_mb
        self._file = None if folder is None else folder / "runner.json"
        self._kept: dict[str, Any] = {"instance": secrets.token_hex(8), "numbers": {}, "spool": {}, "up": {}, "ran": []}
        if self._file is not None and self._file.exists():
            self._kept = json.loads(self._file.read_text())
        self.instance = self._kept["instance"]
        self.isolation: dict[str, bool] = {}
        self._client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60, verify=False)
        self._cursor = ""
        self.projects: dict[str, ProjectSpec] = {}
        self.runs: dict[str, RunSpec] = {}
        self.decisions: dict[str, DecisionSpec] = {}
        self.refused: list[str] = []
        self._seen: dict[str, tuple[int, str]] = {}
        self._gates: dict[str, str] = {}
        self._deadlines: dict[str, float] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    # The protocol

    def ask(self, path: str, body: bytes) -> httpx.Response:
        return self._client.post(f"{protocol.PREFIX}/{path}", content=body)

    def poll(self, wait: int = 0) -> PollAnswer:
        state = RunnerState(
            id=self.id,
            instance=self.instance,
            engines=("fake",),
            isolation=self.isolation,
            capacity_mb=self.capacity_mb,
            free_mb=self.capacity_mb,
        )
        answer = self.ask("poll", protocol.dumps(PollRequest(runner=state, cursor=self._cursor, wait=wait)))
        assert answer.status_code == 200, answer.text
        told = protocol.loads(PollAnswer, answer.content)
        self._cursor = told.cursor
        for project in told.projects:
            known = self.projects.get(project.project)
            if known is None or project.generation >= known.generation:
                self.projects[project.project] = project
        self.runs |= {run.id: run for run in told.runs}
        self.decisions |= {decision.id: decision for decision in told.decisions}
        return told

    def package(self, package_hash: str) -> dict[str, bytes]:
        answer = self._client.get(f"{protocol.PREFIX}/packages/{package_hash}")
        assert answer.status_code == 200, answer.text
        files = protocol.loads(PackageAnswer, answer.content).files
        return {file.path: base64.b64decode(file.content) for file in files}

    def spool(self, *items: Item) -> None:
        """Keeps items until they are acknowledged."""
        for item in items:
            stream = "records" if item.type in protocol.RECORDS else "state"
            number = self._kept["numbers"].get(stream, 0) + 1
            self._kept["numbers"][stream] = number
            self._kept["spool"].setdefault(stream, []).append([number, protocol.to_json(item)])
        self._keep()

    def send(self, *, acknowledge: bool = True) -> ReportAnswer:
        """Sends what is kept.

        Args:
            acknowledge: whether the answer arrives; without it the same is sent again.
        """
        batches = tuple(
            protocol.Batch(stream=stream, items=tuple((number, item) for number, item in items))
            for stream, items in self._kept["spool"].items()
        )
        answer = self.ask("report", protocol.dumps(ReportRequest(instance=self.instance, batches=batches)))
        assert answer.status_code == 200, answer.text
        told = protocol.loads(ReportAnswer, answer.content)
        if acknowledge:
            self.refused += [refused.reason for refused in told.refused]
            for stream, number in told.acknowledged.items():
                self._kept["spool"][stream] = [each for each in self._kept["spool"].get(stream, []) if each[0] > number]
            self._keep()
        return told

    def report(self, *items: Item) -> ReportAnswer:
        self.spool(*items)
        return self.send()

    def phase(self, project: str, phase: Any, *, generation: int | None = None, detail: str = "") -> ReportAnswer:
        """Reports a phase of the generation that this runner knows, or of another."""
        generation = self.projects[project].generation if generation is None else generation
        return self.report(PhaseReport(project=project, generation=generation, phase=phase, detail=detail, engine=ENGINE))

    # What a runner does by itself

    def converge(self, wait: int = 0) -> None:
        """Polls once and does everything that is wanted."""
        self.poll(wait)
        for project in list(self.projects.values()):
            self._converge_project(project)
        for run in list(self.runs.values()):
            self._converge_run(run)
        for decision in list(self.decisions.values()):
            self._deliver(decision)
        if any(self._kept["spool"].values()):
            self.send()

    def start(self) -> None:
        """Does so until it is stopped, in a thread."""

        def loop() -> None:
            while not self._stop.is_set():
                try:
                    self.converge(wait=1)
                except (httpx.HTTPError, AssertionError):
                    self._stop.wait(0.1)

        self._thread = threading.Thread(target=loop, daemon=True)
        self._thread.start()

    def kill(self) -> None:
        """Ends it without a word."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._client.close()

    def _keep(self) -> None:
        if self._file is not None:
            self._file.write_text(json.dumps(self._kept))

    def _source(self, project: ProjectSpec) -> str:
        assert project.deploy is not None
        return self.package(project.deploy.package_hash)[project.deploy.entry].decode()

    def _converge_project(self, project: ProjectSpec) -> None:
        wanted = (project.generation, project.desired)
        if self._seen.get(project.project) == wanted:
            return
        self._seen[project.project] = wanted
        report = {"project": project.project, "generation": project.generation, "engine": ENGINE}
        up = self._kept["up"]
        if project.desired != "up":
            up.pop(project.project, None)
            self._close_gates(project.project)
            self.spool(PhaseReport(phase="erased" if project.desired == "erased" else "stopped", **report))
            return
        assert project.deploy is not None
        if up.get(project.project) != project.deploy.id:
            self.spool(PhaseReport(phase="starting", **report))
            source = self._source(project)
            if project.kind != "job":
                if "raise " in source:
                    self.spool(PhaseReport(phase="failed", detail=CRASHED, **report))
                    return
                self._print(project, source, None)
                self._open_gate(project, source)
            up[project.project] = project.deploy.id
        self.spool(PhaseReport(phase="ready" if project.kind == "job" else "running", **report))
        if project.kind == "worker" and "sleep(" not in self._source(project):
            self.spool(PhaseReport(phase="done", **report))

    def _print(self, project: ProjectSpec, source: str, run: str | None) -> str:
        assert project.deploy is not None
        printed = []
        for text, name in re.findall(r'^print\((?:"(.*)"|env\("(.*)"\))\)', source, re.MULTILINE):
            printed.append(project.deploy.variables[name] if name else text)
        self._say(project.project, printed, run)
        return "".join(f"{line}\n" for line in printed)

    def _say(self, project: str, lines: list[str], run: str | None) -> None:
        at = time.time_ns() // 1_000_000
        self.spool(*(LogLine(project=project, at=at, line=line, run=run) for line in lines))

    def _converge_run(self, run: RunSpec) -> None:
        key = f"{run.id}:{run.attempt}"
        report = {"project": run.project, "run": run.id, "attempt": run.attempt}
        going = key in self._deadlines
        if run.cancel:
            if going:
                del self._deadlines[key]
                self._close_gates(run.project)
                self.spool(RunReport(status="cancelled", output="", **report))
            return
        if going:
            if time.monotonic() > self._deadlines[key]:
                del self._deadlines[key]
                self.spool(RunReport(status="timed_out", **report))
            return
        project = self.projects.get(run.project)
        if key in self._kept["ran"] or project is None or project.deploy is None or project.deploy.id != run.deploy:
            return
        self._kept["ran"].append(key)
        self.spool(RunReport(status="running", **report))
        source = self._source(project)
        output = self._print(project, source, run.id)
        if "approve " in source:
            self._deadlines[key] = time.monotonic() + run.timeout_minutes * 60
            self._open_gate(project, source, run)
            return
        if "sleep(" in source:
            self._deadlines[key] = time.monotonic() + run.timeout_minutes * 60
            self.spool(RunReport(status="running", output=output, **report))
            return
        code = int(found[1]) if (found := re.search(r"^exit\((\d+)\)", source, re.MULTILINE)) else 0
        code = 1 if "raise " in source else code
        self.spool(RunReport(status="failed" if code else "succeeded", exit_code=code, output=output, **report))

    def _open_gate(self, project: ProjectSpec, source: str, run: RunSpec | None = None) -> None:
        found = re.search(r'\b(approve|confirm|ask) "([^"]*)"', source)
        if found is None or project.deploy is None:
            return
        gate = run.id if run else f"{project.deploy.id}-1"
        self._gates[gate] = project.project
        kind: Any = found[1]
        self.spool(GateOpened(project=project.project, gate=gate, kind=kind, message=found[2], left_ms=300_000))

    def _close_gates(self, project_id: str) -> None:
        for gate, project in list(self._gates.items()):
            if project == project_id:
                del self._gates[gate]
                self.spool(GateClosed(project=project, gate=gate, outcome="expired", channel="exit", delivered=False))

    def _deliver(self, decision: DecisionSpec) -> None:
        del self.decisions[decision.id]
        known = self._gates.pop(decision.gate, None)
        if decision.value is not None:
            outcome: Any = "answered"
        else:
            outcome = "approved" if decision.decision else "denied"
        self.spool(
            GateClosed(
                project=decision.project,
                gate=decision.gate,
                outcome=outcome if known else "expired",
                channel="api",
                value=decision.value,
                delivered=known is not None,
            )
        )
        run = self.runs.get(decision.gate)
        if known and run is not None and self._deadlines.pop(f"{run.id}:{run.attempt}", None):
            line = "shipped" if decision.decision else "kept"
            self._say(run.project, [line], run.id)
            report = {"project": run.project, "run": run.id, "attempt": run.attempt, "output": f"{line}\n"}
            self.spool(RunReport(status="succeeded", exit_code=0, **report))
