"""The process engine beyond containment: what a version is compiled to, what holds without control groups, and its own end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from runner.engines import EngineError, Program
from runner.engines.cgroups import Groups
from runner.engines.interpreter import own_lang
from runner.engines.process import ProcessEngine
from runner.engines.volumes import Volumes, is_there, measure, remove_tree
from tests.runner.engines.engine_stage import LONG, Stage

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """The engine where no control groups can be made."""
    made = Stage("process without groups")
    yield made
    made.close()


def test_what_holds_without_control_groups(stage: Stage) -> None:
    said = stage.run(stage.engine.isolation())
    assert said["sandbox"] and said["processes"] and not said["memory"] and not said["cpu"]


def test_a_bomb_of_processes_without_groups(stage: Stage) -> None:
    program = stage.program("attacker", "bomb_of_processes")
    running = stage.start(program)
    assert 50 < int(stage.first_line(running)) <= 260
    stage.run(running.remove())
    assert stage.left_of(program) == []


def test_memory_without_groups(stage: Stage) -> None:
    exit, lines = stage.result(stage.program("attacker", "bomb_of_small_memory", memory_mb=128))
    assert exit.reason == "memory", lines


def test_pausing_without_groups(stage: Stage) -> None:
    running = stage.start(stage.program("paused", "polite"))
    assert stage.first_line(running) == "polite"
    stage.run(running.pause())
    assert stage.run(running.stop(50)).code == 3
    stage.run(running.remove())


def write_package(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.lang").write_text(text, encoding="utf-8")
    return folder


def imports_of_a_run(program: Program) -> list[str]:
    python, options, *module = own_lang()
    return [python, options, "-X", "importtime", *module, "run", "--no-env-file", f"/app/{program.entry}"]


def test_a_version_is_compiled_once_and_starts_without_the_parser(tmp_path: Path) -> None:
    package = write_package(
        tmp_path / "package",
        main='use "./greeting.lang" as greeting\nprint(greeting.hello("you"))\n',
        greeting='export task hello(who)\n    give "hello, " + who\n',
    )
    cache, link = tmp_path / "cache", tmp_path / "link"
    link.mkdir()
    program = Program(
        project="p", deploy="d", start="s1", run=None, mode="run", package=package, entry="main.lang", ceiling="stdout",
        link=link, cache=cache, memory_mb=256, disk_mb=10,
    )  # fmt: skip

    async def act() -> tuple[int | None, list[str]]:
        engine = ProcessEngine(tmp_path / "runner", words=imports_of_a_run)
        async with asyncio.timeout(LONG):
            await engine.prepare(package, "main.lang", cache)
            for entry in cache.iterdir():
                os.utime(entry, (1, 1))  # long unused: marked as used where that can be written, and it cannot
            running = await engine.start(program)
            lines = [line.text async for _, line in running.lines(None)]
            exit = await running.wait()
            await engine.close()
            return exit.code, lines

    code, lines = asyncio.run(act())
    assert code == 0 and "hello, you" in lines, lines[-5:]
    assert len(list(cache.iterdir())) == 2
    assert any("language.runtime" in line for line in lines)
    assert not [line for line in lines if "language.syntax.parser" in line or "language.compiler" in line]


def test_a_version_that_does_not_parse_is_refused_with_its_place(tmp_path: Path) -> None:
    package = write_package(tmp_path / "package", main="let be 1\n")

    async def act() -> None:
        engine = ProcessEngine(tmp_path / "runner")
        try:
            await engine.prepare(package, "main.lang", tmp_path / "cache")
        finally:
            await engine.close()

    with pytest.raises(EngineError, match=r"could not be compiled: .*main\.lang:1:"):
        asyncio.run(act())


def groups(start: str) -> list[Path]:
    """The control groups of a start."""
    tree = Path("/sys/fs/cgroup")
    return [*tree.glob(f"lang-*/{start}"), *tree.glob(f"*/lang-*/{start}")]


KILLED = """
import asyncio, json, sys
sys.path.insert(0, {root!r})
from tests.runner.engines.engine_stage import Stage
stage = Stage("process")
stage.folder.joinpath("mine").touch()
program = stage.program("killed", "deaf")
running = stage.start(program)
print(stage.first_line(running), stage.folder, program.start, *stage.left_of(program), flush=True)
stage.run(asyncio.sleep(1000), 1000)
"""


def test_programs_end_with_a_runner_that_is_killed(tmp_path: Path) -> None:
    environ = {**os.environ, "HOME": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED.format(root=str(ROOT))], stdout=subprocess.PIPE, text=True, env=environ
    ) as runner:
        assert runner.stdout is not None
        said, folder, start, *processes = runner.stdout.readline().split()
        assert said == "deaf" and len(processes) >= 2
        assert groups(start) or os.geteuid() != 0
        runner.send_signal(signal.SIGKILL)
        runner.wait(LONG)
    deadline = time.monotonic() + LONG
    while still := [process for process in processes if Path(f"/proc/{process}").exists()]:
        assert time.monotonic() < deadline, still
        time.sleep(0.01)

    async def begin_again() -> None:
        """The next runner removes what the killed one has left of its control groups."""
        engine = ProcessEngine(Path(folder))
        assert await engine.adopt() == []
        await engine.close()

    asyncio.run(begin_again())
    assert groups(start) == []


def test_groups_that_somebody_removed_are_made_again(tmp_path: Path) -> None:
    groups = Groups(tmp_path)
    if not groups.available:
        pytest.skip("this user may make no control groups")
    groups.close()
    group = groups.make("again", 64)
    assert group.processes() == [] and not group.out_of_memory()
    group.remove()
    groups.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files away")
def test_each_project_has_a_user_of_its_own_that_is_not_given_again(tmp_path: Path) -> None:
    volumes = Volumes(tmp_path)
    first, second = volumes.of("a")[1], volumes.of("b")[1]
    assert first is not None and second is not None and first != second
    assert volumes.of("a")[1] == first
    volumes.erase("b")
    assert volumes.of("c")[1] not in (first, second)
    assert Volumes(tmp_path).of("d")[1] not in (first, second, volumes.of("c")[1])
    assert volumes.path("a").stat().st_mode & 0o777 == 0o700
    (volumes.path("e") / "deep").mkdir(parents=True)  # left by a runner that was root: no program becomes that
    (volumes.path("e") / "deep" / "away").symlink_to(tmp_path)
    assert volumes.of("e")[1] == (volumes.path("e") / "deep").stat().st_uid >= 0x70000000
    assert tmp_path.stat().st_uid == 0


def test_no_project_gets_the_user_of_another_where_the_next_one_is_not_known(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only the superuser gives projects users of their own")
    first = Volumes(tmp_path).of("a")[1]
    Volumes(tmp_path).erase("a")
    counter = tmp_path / "next-uid"
    for broken in ("", "many"):
        counter.write_text(broken, encoding="ascii")
        with pytest.raises(OSError, match="next-uid holds no number"):
            Volumes(tmp_path).of("b")
    counter.unlink()
    counter.mkdir()
    with pytest.raises(OSError, match="next-uid"):
        Volumes(tmp_path).of("b")
    counter.rmdir()
    assert first is not None
    counter.write_text(str(first + 1), encoding="ascii")
    assert Volumes(tmp_path).of("b")[1] == first + 1 and counter.read_text(encoding="ascii") == str(first + 2)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files away")
def test_projects_that_start_at_the_same_time_get_different_users(tmp_path: Path) -> None:
    """Two starts took the same user, or one failed because the other had renamed its file; a volume that was erased just then
    failed a start too."""
    volumes = Volumes(tmp_path)
    count, rounds = 16, 8
    together = Barrier(count + 1)

    def starts(round: int, number: int) -> tuple[str, int | None]:
        project = f"{round}-{number // 2}"  # two of each: the version before, and the one that replaces it
        together.wait(LONG)
        return project, volumes.of(project)[1]

    def comes_and_goes(round: int) -> None:
        together.wait(LONG)
        for number in range(count):
            volumes.of(f"gone-{round}-{number}")
            volumes.erase(f"gone-{round}-{number}")

    users: set[int] = set()
    with ThreadPoolExecutor(count + 1) as threads:
        for round in range(rounds):
            other = threads.submit(comes_and_goes, round)
            given = list(threads.map(starts, [round] * count, range(count)))
            other.result(LONG)
            owners = {project: volumes.path(project).stat().st_uid for project, _ in given}
            assert [user for _, user in given] == [owners[project] for project, _ in given], (
                "the user of a start owns its volume"
            )
            assert len(set(owners.values())) == count // 2 and not users & set(owners.values()), "no user has two projects"
            users |= set(owners.values())


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser gives files away")
def test_projects_that_share_a_user_since_an_earlier_runner_are_parted_at_the_start(tmp_path: Path) -> None:
    """The volume that got its user in the same moment as another one kept it."""
    before = Volumes(tmp_path / "process")
    first, other = before.of("a")[1], before.of("other")[1]
    assert first is not None and other is not None
    shared = [before.path(name) for name in ("b", "c", "deep")]
    for path in shared:
        (path / "folder").mkdir(parents=True)
        (path / "folder" / "file").write_text("kept", encoding="utf-8")
        (path / "away").symlink_to("/etc")
        for each in (path, path / "folder", path / "folder" / "file"):
            os.chown(each, first, first)
    inside = os.open(before.path("deep"), os.O_RDONLY)
    for _ in range(20):  # deeper than a path can lead
        os.mkdir("x" * 250, dir_fd=inside)
        inside, above = os.open("x" * 250, os.O_RDONLY, dir_fd=inside), inside
        os.close(above)
    os.close(inside)

    engine = ProcessEngine(tmp_path)
    users = {name: engine.volumes.path(name).stat().st_uid for name in ("a", "b", "c", "other")}
    assert len(set(users.values())) == 4 and (users["a"], users["other"]) == (first, other)
    assert [engine.volumes.of(name)[1] for name in users] == list(users.values())
    for name in ("b", "c"):
        path = engine.volumes.path(name)
        assert (path / "folder").stat().st_uid == (path / "folder" / "file").stat().st_uid == users[name]
        assert (path / "folder" / "file").read_text(encoding="utf-8") == "kept"
    assert Path("/etc").stat().st_uid == 0
    assert (
        len(engine.remarks) == 3
        and "project b had the same user of the machine as that of project a: it has one" in engine.remarks[0]
    )
    assert "project deep had the same user" in engine.remarks[2] and "The project is not started" in engine.remarks[2]
    with pytest.raises(OSError, match=r"project deep had the same user .* as that of project a, and cannot be given one"):
        engine.volumes.of("deep")
    asyncio.run(engine.close())

    engine = ProcessEngine(tmp_path)
    assert len(engine.remarks) == 1 and "project deep" in engine.remarks[0]
    engine.volumes.erase("deep")
    assert engine.volumes.of("deep")[1] not in (*users.values(), None)
    asyncio.run(engine.close())
    assert ProcessEngine(tmp_path).remarks == ()


def test_a_path_that_cannot_be_looked_at_is_not_taken_to_be_gone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert is_there(tmp_path) and not is_there(tmp_path / "nothing")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    assert is_there(tmp_path / "link")
    for place in (tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        with pytest.raises(OSError):
            is_there(place)
        with pytest.raises(OSError):
            remove_tree(place)


def test_the_size_of_a_volume(tmp_path: Path) -> None:
    megabyte = 1 << 20
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "file").write_bytes(b"x" * 3 * megabyte)
    os.link(tmp_path / "deep" / "er" / "file", tmp_path / "same")
    (tmp_path / "away").symlink_to("/usr")
    assert 3 * megabyte <= measure(tmp_path) < 4 * megabyte
    with open(tmp_path / "gone", "wb") as file:
        file.write(b"x" * 2 * megabyte)
        file.flush()
        os.unlink(tmp_path / "gone")
        assert 5 * megabyte <= measure(tmp_path, [os.getpid()]) < 6 * megabyte
    assert measure(tmp_path / "missing") == 0


def test_what_takes_no_room_has_an_end_too(tmp_path: Path) -> None:
    for index in range(3000):
        (tmp_path / str(index)).symlink_to("nowhere")
    assert measure(tmp_path) >= 3000 * 1024


def test_a_volume_is_removed_however_deep_and_closed_it_is(tmp_path: Path) -> None:
    volumes = Volumes(tmp_path)
    volume = volumes.of("p")[0]
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept", encoding="utf-8")
    here = os.open(volume, os.O_RDONLY)
    for _ in range(2500):
        os.mkdir("longer", dir_fd=here)
        os.symlink(outside, "away", dir_fd=here)
        below = os.open("longer", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.chmod(here, 0)
    os.close(here)
    assert measure(volume) > 1 << 50, "what cannot be measured is over every limit"
    volumes.erase("p")
    assert not volume.exists() and (outside / "kept").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize(("name", "value"), [("project", "../p"), ("start", "a/b"), ("entry", "../x"), ("entry", "--version")])
def test_names_that_would_lead_elsewhere(stage: Stage, name: str, value: str) -> None:
    parts = {
        "project": "p", "deploy": "d", "start": "s", "run": None, "mode": "run", "package": stage.package, "entry": "main.lang",
        "ceiling": "", "link": stage.folder, "cache": None, "memory_mb": 1, "disk_mb": 1, name: value,
    }  # fmt: skip
    with pytest.raises(ValueError, match="not a"):
        Program(**parts)  # type: ignore[arg-type]
