"""Rehearsals, through the ways in that users have: nothing reaches beyond the program, and the report says what it tried."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from deploying import API, detail, ok, until
from project_stage import Stage, stage
from project_stage import until as until_on_loop
from runner_process import short_folder
from whole_platform import SECONDS, Platform, whole_platform

from runner.protocol import RehearsalSpec
from runner.rehearsals import Rehearsals

pytestmark = pytest.mark.once

LIVE = """require serve(8080)
require net("127.0.0.1:{port}")
serve on 8080
    route "GET /"
        give ok("live")
"""
#: Each attempt is refused and the program goes on, up to the last one, which ends it.
NEXT = """require serve(8080)
require net("127.0.0.1:{port}")
require net("other.example")
require file("kept.txt")
require secret("KEY")
print("begun")
task try_it(work)
    try
        work()
    recover why
        print("refused")
try_it(() => http_post("http://127.0.0.1:{port}/", "leaked"))
try_it(() => http_post("http://127.0.0.1:{port}/", "leaked"))
try_it(() => http_get("https://other.example/"))
try_it(() => write_file("kept.txt", "changed"))
try_it(() => secret("KEY"))
try_it(() => env("HOME"))
print(approve "Ship it?" within 1h, ask "Who?" within 1h)
serve on 8080
    route "GET /"
        give ok("next")
"""


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with whole_platform() as made:
        yield made


@pytest.fixture(scope="module")
def live(platform: Platform) -> tuple[str, str]:
    """A project that is live, with a secret, and its address."""
    project = platform.made("Live", source=LIVE.format(port=platform.listener.port))
    ok(platform.client.put(f"{API}/projects/{project}/secrets/KEY", json={"value": "hidden words"}))
    assert platform.deploy(project)["status"] == "live"
    return project, str(detail(platform.client, project)["project"]["url"])


def rehearsed(platform: Platform, project: str, **version: Any) -> Any:
    """Asks for a rehearsal, and gives it when it is over."""
    asked = ok(platform.client.post(f"{API}/projects/{project}/rehearsals", json=version))["rehearsal"]

    def over() -> Any:
        found = ok(platform.client.get(f"{API}/projects/{project}/rehearsals/{asked['id']}"))["rehearsal"]
        return found if found["finished_at"] else None

    return until(over, SECONDS)


def test_the_report_sets_what_was_tried_beside_the_ceilings(platform: Platform, live: tuple[str, str]) -> None:
    project, url = live
    platform.listener.posted.clear()
    deploys = len(detail(platform.client, project)["deploys"])
    found = rehearsed(platform, project, source=NEXT.format(port=platform.listener.port))

    assert (found["status"], found["exit_code"]) == ("ended", 1), found
    here = f"127.0.0.1:{platform.listener.port}"
    tried = {(one["capability"], one["scope"]): one for one in found["tried"]}
    assert [(key, one["allowed"], one["live"]) for key, one in tried.items()] == [
        (("net", here), True, True),
        (("net", "other.example"), True, False),
        (("file.write", "kept.txt"), True, False),
        (("secret", "KEY"), True, False),
        (("env", "HOME"), False, False),
        (("approve", "Ship it?"), True, True),
        (("ask", "Who?"), True, True),
        (("serve", "8080"), True, True),
    ]
    first = tried["net", here]
    assert (first["file"], first["line"], first["source"], first["count"]) == ("main.lang", 12, "http_post()", 2)
    assert "begun" in found["output"].splitlines() and "false" in found["output"]

    assert platform.listener.posted == []  # nothing left the program
    assert "hidden words" not in json.dumps(found)
    assert httpx.get(url, timeout=SECONDS).json() == "live"
    assert len(detail(platform.client, project)["deploys"]) == deploys
    assert "begun" not in platform.lines(project)
    assert not ok(platform.client.get(f"{API}/approvals"))["items"]
    audit = ok(platform.client.get(f"{API}/projects/{project}/audit"))["items"]
    assert not any("other.example" in (one["scope"] or "") for one in audit)
    # Nothing of it stays on the runner: no volume, no package, no compiled files.
    data = platform.folder / "d" / "runner"
    kept = {
        each.removeprefix("sha256:") for each in (one["package_hash"] for one in detail(platform.client, project)["deploys"])
    }
    until(lambda: {path.name for path in (data / "packages").iterdir()} <= kept, SECONDS)
    until(lambda: {path.name for path in (data / "caches").iterdir()} <= kept, SECONDS)
    assert list((data / "process" / "scratch").iterdir()) == []
    assert {path.name for path in (data / "process" / "volumes").iterdir()} <= {project}


def test_a_job_is_run_once_and_a_second_rehearsal_waits_for_the_first(platform: Platform) -> None:
    job = platform.made("Job", kind="job", source='print("ran")\nsleep(2)\nprint(args())\n')
    other = platform.made("Other", kind="job", source='print("ran")\n')
    asked = ok(platform.client.post(f"{API}/projects/{job}/rehearsals", json={}))["rehearsal"]
    refused = platform.client.post(f"{API}/projects/{other}/rehearsals", json={})
    assert (refused.status_code, refused.json()["details"]) == (409, {"rehearsal": asked["id"]})
    until(lambda: ok(platform.client.get(f"{API}/projects/{job}/rehearsals"))["items"][0]["finished_at"], SECONDS)
    [found] = ok(platform.client.get(f"{API}/projects/{job}/rehearsals"))["items"]
    assert (found["status"], found["exit_code"], found["tried"], found["live_ceiling"]) == ("ended", 0, [], None)
    assert found["output"].splitlines() == ["ran", "[]"]
    assert ok(platform.client.get(f"{API}/projects/{job}/runs"))["items"] == []


def test_the_command_and_the_pages_show_the_report(platform: Platform, live: tuple[str, str]) -> None:
    project, _ = live
    home = platform.folder / "home"
    home.mkdir(exist_ok=True)
    (home / "next.lang").write_text('require stdout\nprint("hello")\nprint(read_file("/etc/hostname"))\n')
    said = platform.lang("deploy", "next.lang", "--rehearse", "--name", "Next", "--kind", "job")
    assert said.returncode == 1, said.stderr
    assert "hello" in said.stdout and "file.read(/etc/hostname)" in said.stdout and "next.lang:3" in said.stdout
    assert "A deploy would be refused some of these" in said.stderr

    page = f"/projects/{project}/deploys"
    token = re.search(r'name="csrf" value="([^"]+)"', platform.browser.get(page).text)
    assert token is not None
    asked = platform.browser.post(f"/projects/{project}/rehearsals", data={"csrf": token[1]}, follow_redirects=True)
    assert asked.status_code == 200, asked.text
    place = asked.url.path
    assert place.startswith(f"/projects/{project}/rehearsals/")
    until(lambda: "serve(8080)" in platform.browser.get(place).text, SECONDS)
    for language, title in (("en", "Rehearsal"), ("es", "Ensayo"), ("pt", "Ensaio")):
        shown = platform.browser.get(place, headers={"Accept-Language": language}).text
        assert title in shown, language
    assert place in platform.browser.get(page).text


def test_what_does_not_end_is_ended_and_a_runner_that_was_killed_begins_anew() -> None:
    async def story(stage: Stage) -> None:
        deploy = stage.deploy('print("begun")\nsleep(3600)\n', "job")
        spec = RehearsalSpec(
            id="reh_1", project="prj_1", package_hash=deploy.package_hash, entry="main.lang", kind="job", seconds=2
        )
        killed = Rehearsals(stage.context)
        killed.take(spec)
        await until_on_loop(lambda: list((stage.settings.data / "process" / "scratch").iterdir()))
        await killed.close()
        assert [each["status"] for each in stage.reports("rehearsal")] == ["running"]

        rehearsals = Rehearsals(stage.context)
        rehearsals.take(spec)
        rehearsals.take(spec)  # the service tells it with every poll until it has the report
        last = await until_on_loop(lambda: [each for each in stage.reports("rehearsal") if each["status"] != "running"])
        assert [(each["status"], each["exit_code"]) for each in last] == [("timed_out", None)]
        rehearsals.take(spec)
        await rehearsals.close()
        assert [each["status"] for each in stage.reports("rehearsal")] == ["running", "running", "timed_out"]
        assert list((stage.settings.data / "process" / "scratch").iterdir()) == []
        assert list((stage.settings.data / "links").iterdir()) == []

    async def whole() -> None:
        with short_folder() as folder:
            async with stage(folder) as made:
                await story(made)

    asyncio.run(whole())


def test_nothing_of_a_project_is_rehearsed_once_it_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(stage: Stage) -> None:
        monkeypatch.setattr("runner.rehearsals.AT_ONCE", 1)
        rehearsals = Rehearsals(stage.context)
        job = stage.deploy('print("begun")\nsleep(3600)\n', "job")
        project, other = stage.project(job), stage.project(job, project="prj_other")

        def wanted(rehearsal: str, of: str) -> RehearsalSpec:
            return RehearsalSpec(
                id=rehearsal, project=of, package_hash=job.package_hash, entry="main.lang", kind="job", seconds=3600
            )

        rehearsals.take(wanted("reh_1", project.id))
        scratch = stage.settings.data / "process" / "scratch"
        await until_on_loop(lambda: list(scratch.iterdir()))
        rehearsals.take(wanted("reh_2", project.id))  # waits for its turn
        stage.want(project, desired="erased", deploy=None)
        await until_on_loop(lambda: stage.gone == [project.id])
        assert list(scratch.iterdir()) == [] and list((stage.settings.data / "links").iterdir()) == []
        rehearsals.take(wanted("reh_3", other.id))
        await until_on_loop(lambda: len(stage.reports("rehearsal")) == 2)
        assert [each["rehearsal"] for each in stage.reports("rehearsal")] == ["reh_1", "reh_3"], "the second never began"
        await rehearsals.close()

    async def whole() -> None:
        with short_folder() as folder:
            async with stage(folder) as made:
                await story(made)

    asyncio.run(whole())
