"""The Docker engine against a real daemon: what ``containment.py`` tries, and what outlives the runner.

One test: a daemon and its image take ten seconds, and each worker of the tests would start its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runner.engines import LONGEST_LINE, EngineError, Position, Program, choose
from runner.engines.docker import DockerEngine
from runner.engines.docker_api import DockerApi
from runner.engines.docker_container import Container
from runner.engines.docker_logs import PART, REMOVED, Frames, Reader, left_out, nanoseconds
from runner.engines.image import image_name, own_version
from tests import servers
from tests.runner.engines.containment import CHECKS, MARKER
from tests.runner.engines.engine_stage import LONG, Neighbour, Stage
from tests.runner.engines.linked_service import (
    a_process_beside_a_service_has_no_network,
    a_service_answers_and_its_commands_cannot_look_into_it,
)
from tests.runner.engines.scripted_daemon import scripted_daemon


def told_by_docker(stage: Stage, *words: str) -> str:
    environ = {**os.environ, "DOCKER_HOST": stage.host}
    return subprocess.run(["docker", *words], env=environ, capture_output=True, text=True, timeout=LONG, check=True).stdout


def a_container_has_every_protection(stage: Stage, neighbour: Neighbour) -> None:
    container = f"lang-{neighbour.running.program.start}"
    told: dict[str, Any] = json.loads(told_by_docker(stage, "inspect", container))[0]
    host = told["HostConfig"]
    assert host["NetworkMode"] == "none" and host["ReadonlyRootfs"] and not host["Privileged"] and host["Init"]
    assert host["CapDrop"] == ["ALL"] and not host["CapAdd"] and host["SecurityOpt"] == ["no-new-privileges"]
    assert host["Memory"] == host["MemorySwap"] == 256 << 20 and host["PidsLimit"] == 256 and host["NanoCpus"] == 10**9
    assert host["LogConfig"] == {"Type": "local", "Config": {"max-file": "2", "max-size": "10m"}}
    assert told["Config"]["User"] == "10001:10001"
    assert {mount["Destination"]: mount["RW"] for mount in told["Mounts"]} == {"/app": False, "/run/lang": False, "/data": True}
    assert told["Config"]["Labels"]["lang.project"] == "neighbour"


def what_it_wrote_goes_on_where_the_last_runner_stopped(stage: Stage, neighbour: Neighbour) -> None:
    """A runner lets go of a program in the middle of its output; the next one finds it, and no line is lost or told twice."""
    program = stage.program("talker", "talk")
    running = stage.start(program)
    read: list[tuple[str, int]] = []

    async def some(engine: DockerEngine, after: Position | None, count: int) -> Position | None:
        (found,) = [found for found in await engine.adopt() if found.program == program] or [running]
        last = after
        async for place, line in found.lines(after):
            read.append((line.stream, int(line.text)))
            last = place
            if len(read) >= count:
                break
        await engine.close()
        return last

    position: Position | None = None
    for count in (700, 1700, 4000):
        engine = DockerEngine(stage.folder, host=stage.host)
        position = stage.run(some(engine, position, count))
    exit = stage.run(running.stop(30))
    assert exit.reason == "stopped"
    read += [(line.stream, int(line.text)) for _, line in stage.lines(running, position)]
    for stream in ("out", "err"):
        numbers = [number for name, number in read if name == stream]
        assert numbers == list(range(len(numbers))) and len(numbers) > 1000
    stage.run(running.remove())


def a_paused_and_an_ended_program_are_found_again(stage: Stage, neighbour: Neighbour) -> None:
    paused, ended = stage.start(stage.program("found", "polite")), stage.start(stage.program("found", "loud", "3"))
    assert stage.first_line(paused) == "polite"
    stage.run(paused.pause())
    stage.run(ended.wait())

    runner = told_by_docker(
        stage, "inspect", "-f", '{{index .Config.Labels "lang.runner"}}', f"lang-{paused.program.start}"
    ).strip()
    for index, told in enumerate(("[]", "{}", "?", '{"mode": "serve", "start": "/etc"}')):
        labels = ["--label", f"lang.runner={runner}", "--label", f"lang.program={told}"]
        told_by_docker(stage, "create", "--name", f"lang-strange{index}", *labels, image_name(), "true")

    async def act() -> None:
        engine = DockerEngine(stage.folder, host=stage.host)
        found = {running.program.start: running for running in await engine.adopt()}
        assert found[paused.program.start].paused and found[paused.program.start].program == paused.program
        again = found[ended.program.start]
        assert (await again.wait()).code == 7
        assert len([line async for line in again.lines(None)]) == 4
        assert "strange" not in told_by_docker(stage, "ps", "-a", "--format", "{{.Names}}"), "what nobody can read is ended"
        assert (await found[paused.program.start].stop(30)).code == 3
        await engine.erase("found")
        assert "found" not in [running.program.project for running in await engine.adopt()]
        await engine.close()

    stage.run(act())
    for running in (paused, ended):
        stage.run(running.remove())


def a_container_that_somebody_removes(stage: Stage, neighbour: Neighbour) -> None:
    running = stage.start(stage.program("removed", "polite"))
    told_by_docker(stage, "rm", "-f", f"lang-{running.program.start}")
    assert stage.run(running.wait()).reason == "killed"
    stage.run(running.remove())
    assert stage.lines(running, None) == []


def containers_of_another_runner_are_not_found(stage: Stage, neighbour: Neighbour) -> None:
    async def act() -> None:
        other = DockerEngine(stage.folder / "other", host=stage.host)
        assert await other.adopt() == []
        await other.erase("neighbour")
        await other.close()

    (stage.folder / "other").mkdir()
    stage.run(act())
    assert neighbour.answers() and stage.volume("neighbour").exists()


def a_version_runs_with_the_image_that_it_went_live_with_while_that_is_here(stage: Stage, neighbour: Neighbour) -> None:
    """An upgrade brings another image; the one before stays until somebody removes it."""
    told_by_docker(stage, "tag", image_name(), image_name("0.0.1"))
    assert stage.run(stage.engine.engine_for("0.0.1")) == "0.0.1"
    for other in ("9.9.9", "", own_version(), "no/tag at all", "../x"):
        assert stage.run(stage.engine.engine_for(other)) == own_version(), other
    for engine, image in (("0.0.1", image_name("0.0.1")), ("", image_name()), (own_version(), image_name())):
        running = stage.start(stage.program("upgraded", "polite", engine=engine))
        container = f"lang-{running.program.start}"
        assert told_by_docker(stage, "inspect", "-f", "{{.Config.Image}}", container).strip() == image
        (again,) = [found for found in _adopted(stage) if found.start == running.program.start]
        assert again == running.program
        stage.run(running.remove())
    package, cache = stage.folder / "before", stage.folder / "compiled-before"
    package.mkdir()
    (package / "main.lang").write_text('print("hello")\n', encoding="utf-8")
    stage.run(stage.engine.prepare(package, "main.lang", cache, "0.0.1"))
    assert list(cache.iterdir())
    told_by_docker(stage, "rmi", image_name("0.0.1"))
    assert stage.run(stage.engine.engine_for("0.0.1")) == own_version()
    stage.run(stage.engine.erase("upgraded"))


def _adopted(stage: Stage) -> list[Program]:
    async def act() -> list[Program]:
        engine = DockerEngine(stage.folder, host=stage.host)
        found = [running.program for running in await engine.adopt()]
        await engine.close()
        return found

    return stage.run(act())


def a_version_is_compiled_in_the_image(stage: Stage, neighbour: Neighbour) -> None:
    package, cache = stage.folder / "version", stage.folder / "compiled"
    package.mkdir()
    (package / "main.lang").write_text('print("hello")\n', encoding="utf-8")
    (package / "wrong.lang").write_text("let be\n", encoding="utf-8")
    stage.run(stage.engine.prepare(package, "main.lang", cache))
    (entry,) = cache.iterdir()
    assert entry.stat().st_uid == 10001

    def words(program: Program) -> list[str]:
        return ["python3", "-IB", "-X", "importtime", "-m", "language", "run", "/app/main.lang"]

    async def act() -> list[str]:
        engine = DockerEngine(stage.folder, host=stage.host, words=words)
        running = await engine.start(stage.program("compiled", package=package, cache=cache))
        lines = [line.text async for _, line in running.lines(None)]
        assert (await running.wait()).code == 0, lines[-3:]
        await running.remove()
        await engine.close()
        return lines

    lines = stage.run(act())
    assert "hello" in lines and not [line for line in lines if "language.syntax.parser" in line]
    with pytest.raises(EngineError, match=r"could not be compiled: .*wrong\.lang:1:"):
        stage.run(stage.engine.prepare(package, "wrong.lang", cache))


def the_best_engine_is_chosen(stage: Stage, neighbour: Neighbour) -> None:
    with pytest.MonkeyPatch.context() as environ:
        environ.setenv("DOCKER_HOST", stage.host)
        engines = [choose("auto", stage.folder / "other")]
        environ.setenv("DOCKER_HOST", f"unix://{stage.folder}/nothing.sock")
        engines.append(choose("auto", stage.folder / "other"))
        assert [engine.name for engine in engines] == ["docker", "process"]
        for engine in engines:
            stage.run(engine.close())
        with pytest.raises(EngineError, match="no Docker daemon answers"):
            choose("docker", stage.folder / "other")


def the_daemon_is_started_again(stage: Stage) -> None:
    """The programs of a daemon end with it. That is told once it is there again, and the engine goes on with it."""
    running = stage.start(stage.program("restarted", "polite"))
    assert stage.first_line(running) == "polite"
    folder = Path(stage.host.removeprefix("unix://")).parent
    daemon = int((folder / "pid").read_text(encoding="ascii"))
    words = Path(f"/proc/{daemon}/cmdline").read_bytes().decode().split("\0")[:-1]
    os.kill(daemon, signal.SIGTERM)
    os.waitid(os.P_PID, daemon, os.WEXITED | os.WNOWAIT)

    def ready() -> bool:
        environ = {**os.environ, "DOCKER_HOST": stage.host}
        return subprocess.run(["docker", "info"], env=environ, capture_output=True).returncode == 0

    for _ in servers.started(words, folder / "second.log", ready):
        assert stage.run(running.wait()).code in (3, 137)
        assert [line.text for _, line in stage.lines(running, None)] == ["polite"]
        stage.run(running.remove())
        exit, lines = stage.result(stage.program("restarted", "loud", "2"))
        assert exit.code == 7 and len(lines) == 3


OWN_CHECKS: tuple[Callable[[Stage, Neighbour], None], ...] = (
    a_container_has_every_protection,
    what_it_wrote_goes_on_where_the_last_runner_stopped,
    a_paused_and_an_ended_program_are_found_again,
    a_container_that_somebody_removes,
    containers_of_another_runner_are_not_found,
    a_version_is_compiled_in_the_image,
    a_version_runs_with_the_image_that_it_went_live_with_while_that_is_here,
    the_best_engine_is_chosen,
    a_service_answers_and_its_commands_cannot_look_into_it,
    a_process_beside_a_service_has_no_network,
)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setenv("RUNNER_KNOWS", MARKER)
    for host in servers.docker():
        made = Stage("docker", host)
        yield made
        made.close()


def test_the_docker_engine(stage: Stage) -> None:
    neighbour = Neighbour(stage, "neighbour")
    failed = []
    for check in (*CHECKS, *OWN_CHECKS):
        try:
            check(stage, neighbour)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"in {check.__name__}")
            failed.append(error)
    neighbour.close(stage)
    try:
        the_daemon_is_started_again(stage)
    except AssertionError as error:
        failed.append(error)
    if failed:
        raise ExceptionGroup("checks that failed", failed)


def test_a_look_whether_the_image_is_there_does_not_hold_all_that_it_is_made_of(stage: Stage) -> None:
    """The files are tens of megabytes. Each deploy looks, several at once: each would hold them all, and its thread keeps the
    memory."""
    stage.engine.ensure_image()  # type: ignore[attr-defined]  # what is imported and compiled at first stays
    tracemalloc.start()
    try:
        stage.engine.ensure_image()  # type: ignore[attr-defined]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * 2**20


def test_moments_of_the_daemon() -> None:
    assert nanoseconds("1970-01-01T00:00:01.5Z") == 1_500_000_000
    assert nanoseconds("2026-11-22T19:00:00.123456789Z") == 1_795_374_000_123_456_789


def frame(stream: int, text: bytes) -> bytes:
    return bytes((stream, 0, 0, 0)) + len(text).to_bytes(4, "big") + text


def test_frames_that_arrive_in_pieces_and_lines_that_come_in_frames() -> None:
    stamp = b"1970-01-01T00:00:01.000000000Z "
    data = frame(1, stamp + b"one ") + frame(2, stamp + b"err\n") + frame(1, stamp + b"line\n") + frame(1, stamp + b"no end")
    reader = Reader(None)
    found = [line for index in range(len(data)) for line in reader.feed(data[index : index + 1])]
    assert [(line.stream, line.text) for _, line in found] == [("err", "err"), ("out", "one line")]
    assert [line.text for _, line in reader.rest()] == ["no end"]
    again = Reader(found[1][0])
    assert list(again.feed(data)) == [] and [line.text for _, line in again.rest()] == ["no end"]


@pytest.mark.parametrize("removed", [0, 3, 6, 7, 9])
def test_a_stream_that_is_opened_again_tells_the_rest_whatever_the_daemon_has_removed_meanwhile(removed: int) -> None:
    """It keeps so many bytes of output alone: of the frames that were read, some are gone when it is asked again."""
    texts = [b"1970-01-01T00:00:%02d.%03d000000Z line %d\n" % (number // 10, number % 10, number) for number in range(40)]
    texts[8] = texts[8].removesuffix(b"\n") + b" and "
    frames = [frame(1, text) for text in texts]
    reader = Reader(None)
    told = [line.text for _, line in reader.feed(b"".join(frames[:9]))]
    for _ in range(2):
        kept = [each for each, text in zip(frames, texts) if nanoseconds(text[:30].decode()) >= reader.place.at]
        reader = Reader(reader.place, reader)
        told += [line.text for _, line in reader.feed(b"".join(kept[removed:20]))]
    later = Reader(Position(0, 12))  # of a runner that comes later, whose stream breaks off at once, and again
    for count in (0, 5, 20):
        later = Reader(later.place, later)
        again = [line.text for _, line in later.feed(b"".join(frames[:count]))]
    assert again == [f"line {number}" for number in range(12, 20)]
    told += [line.text for _, line in reader.feed(b"".join(frames[20:]))]
    assert told == [*(f"line {number}" for number in range(8)), "line 8 and line 9", *(f"line {n}" for n in range(10, 40))]


def test_output_is_read_to_its_end_over_a_stream_that_the_daemon_breaks_off(tmp_path: Path) -> None:
    """A program that prints faster than it is read has its daemon put away the file that is being read. The daemon says so in a
    frame of its own; that was taken for a line, and the rest of the output was lost."""
    lines = [frame(1, b"1970-01-01T00:00:%02d.000000000Z line %d\n" % (number, number)) for number in range(6)]
    broken = frame(3, b"Error grabbing logs: error getting reference to decompressed log file\n")
    # The last but one ends without a word.
    streams = [lines[0] + lines[1] + broken, b"".join(lines[1:4]) + broken, b"".join(lines[3:5]), b"".join(lines[4:])]
    told: list[str] = []

    async def story() -> None:
        async with scripted_daemon(tmp_path / "daemon") as daemon:
            api = DockerApi(daemon.host, "/v1.47")
            daemon.answers["POST", "/containers/c/wait"] = {}
            daemon.answers["GET", "/containers/c/json"] = {"State": {"Status": "exited", "ExitCode": 0, "OOMKilled": False}}
            daemon.answers["GET", "/containers/c/logs"] = lambda _: lines[-1] if "tail=1" in daemon.query else streams.pop(0)
            program = Program(
                project="p", deploy="d", start="s", run=None, mode="run", package=tmp_path, entry="main.lang", ceiling="stdout",
                link=tmp_path, cache=None, memory_mb=64, disk_mb=1,
            )  # fmt: skip
            container = Container(api, program, "c", None, lambda: None, paused=False)
            await container.wait()
            async with asyncio.timeout(60):
                async for _, line in container.lines(None):
                    told.append(line.text)
            await container.leave()
            await api.close()

    asyncio.run(story())
    assert told == [f"line {number}" for number in range(6)]


@pytest.mark.parametrize("size", [16_384, 20_000, 32_768, 65_535, 65_536, 65_540, 81_920])
@pytest.mark.parametrize("line_end", [b"", b"\n"], ids=["left out", "kept"])
def test_a_line_that_the_daemon_keeps_in_parts_ends_before_the_next_one(size: int, line_end: bytes) -> None:
    """The driver ``local`` of Docker 20.10 leaves its line end out: the next line was put behind it, and cut off with it."""
    stamps = [b"1970-01-01T00:00:%02d.000000000Z " % second for second in range(3)]
    long = b"x" * size
    parts = [long[begin : begin + PART] for begin in range(0, size + 1, PART)]
    data = b"".join(frame(1, stamps[0] + part) for part in parts[:-1]) + frame(1, stamps[0] + parts[-1] + line_end)
    data += frame(1, stamps[1] + b"\n") + frame(1, stamps[2] + b"the end\n")
    found = list(Reader(None).feed(data))
    told = [line.text.encode() for _, line in found]
    for number, (position, _) in enumerate(found):  # of a runner that comes later
        assert [line for _, line in Reader(position).feed(data)] == [line for _, line in found[number + 1 :]]
    assert told == [*(long[begin : begin + LONGEST_LINE] for begin in range(0, size, LONGEST_LINE)), b"", b"the end"]


def test_a_line_whose_rest_the_daemon_has_removed_does_not_take_the_next_one_with_it() -> None:
    first, second = (b"1970-01-01T00:00:%02d.000000000Z " % second for second in range(2))
    reader = Reader(None)
    assert list(reader.feed(frame(1, first + b"x" * PART) + frame(2, first + b"err\n")))
    again = Reader(reader.place, reader)
    found = list(again.feed(frame(1, second + b"the end\n")))
    assert [line.text for _, line in found] == ["x" * PART, REMOVED, "the end"]
    later = Reader(found[0][0]).feed(
        frame(1, first + b"x" * PART) + frame(2, first + b"err\n") + frame(1, second + b"the end\n")
    )
    assert found[0][0].count == 0 and "the end" in [line.text for _, line in later]


def test_what_a_followed_stream_has_left_out_is_not_told_behind_what_came_later() -> None:
    """A stream that is followed leaves lines out where the daemon begins a new file. They were told behind the last line, and
    later not at all: the log did not say that they are missing."""
    frames = [frame(1 + number % 2, b"1970-01-01T00:00:%02d.000000000Z %d\n" % (number, number)) for number in range(20)]
    reader = Reader(None)
    told = [line.text for _, line in reader.feed(b"".join(frames[:4] + frames[10:15]))]
    for count in (2, 12, 20):  # it breaks off while it tells again what was told
        reader = Reader(reader.place, reader)
        told += [line.text for _, line in reader.feed(b"".join(frames[:count]))]
    assert told == [*map(str, (*range(4), *range(10, 15))), left_out(6), *map(str, range(15, 20))]
    reader = Reader(reader.place, reader)  # they are told of once
    assert [*reader.feed(b"".join(frames)), *reader.rest()] == []
    reader = Reader(None)
    assert len(list(reader.feed(frames[0] + frames[3] + frames[4]))) == 3
    reader = Reader(reader.place, reader)
    assert list(reader.feed(b"".join(frames[:5]))) == []
    assert [(line.stream, line.text) for _, line in reader.rest()] == [("system", left_out(2))], "also where nothing follows"
    # A clock that is set back: what is older by it came later.
    back = [frame(1, b"1970-01-01T00:00:%02d.000000000Z %d\n" % (second, second)) for second in (30, 40, 35, 36)]
    reader = Reader(None)
    told = [line.text for _, line in reader.feed(back[0] + back[1])]
    reader = Reader(reader.place, reader)
    told += [line.text for _, line in reader.feed(b"".join(back))]
    assert told == ["30", "40", "35", "36"]


def test_output_that_the_daemon_has_removed_while_no_runner_was_there_is_told_of() -> None:
    """A runner that came back passed over as many lines as the one before had read, which the daemon had not any more."""
    frames = [frame(1, b"1970-01-01T01:%02d:%02d.000000000Z %d\n" % (*divmod(second, 60), second)) for second in range(1300)]
    reader = Reader(None)
    *_, (position, line) = reader.feed(b"".join(frames[:1100]))
    assert line.text == "1099" and position.at > 0
    for first in (990, 998):
        kept = b"".join(
            each for number, each in enumerate(frames) if number >= first and (number + 3600) * 10**9 >= position.at
        )
        assert [line.text for _, line in Reader(position).feed(kept)] == [*map(str, range(1100, 1300))], first
    later = [line.text for _, line in Reader(position).feed(b"".join(frames[1200:]))]
    assert later == [REMOVED, *map(str, range(1200, 1300))]


class Counted(bytearray):
    """Counts the bytes that are copied into it, out of it, and within it."""

    copied = 0

    def __iadd__(self, more: Any) -> Counted:
        self.copied += len(more)
        super().__iadd__(more)
        return self

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        self.copied += len(found) if isinstance(place, slice) else 1
        return found

    def __delitem__(self, place: Any) -> None:
        super().__delitem__(place)
        self.copied += len(self)


@pytest.mark.parametrize("size", [16 * 1024, 4 * 1024 * 1024], ids=["small pieces", "one piece"])
def test_what_a_container_prints_is_copied_a_fixed_number_of_times(size: int) -> None:
    texts = [b"%d %s" % (number, b"x" * 80) for number in range(20_000)]
    data = b"".join(frame(1 + number % 2, text) for number, text in enumerate(texts))
    frames = Frames()
    counted = frames._data = Counted()
    found = [each for at in range(0, len(data), size) for each in frames.feed(data[at : at + size])]
    assert found == [("err" if number % 2 else "out", text) for number, text in enumerate(texts)]
    assert counted.copied < 4 * len(data)


def test_positions_stay_exact_where_moments_are_not_in_order() -> None:
    """Frames of two pipes whose moments cross each other: from every place on, all that follows is told and nothing twice."""
    moments = [1000 + index * 2_000 - (1500 if index % 3 == 0 else 0) for index in range(4000)]
    texts = [f"1970-01-01T00:00:{ms // 1000 % 60:02}.{ms % 1000:03}000000Z {index}\n" for index, ms in enumerate(moments[:29])]
    frames = [frame(1 + index % 2, text.encode()) for index, text in enumerate(texts)]
    told = list(Reader(None).feed(b"".join(frames)))
    assert [line.text for _, line in told] == [str(index) for index in range(29)]
    for index, (position, _) in enumerate(told):
        kept = [f for f, text in zip(frames, texts) if nanoseconds(text.split(" ")[0]) >= position.at]
        assert [line.text for _, line in Reader(position).feed(b"".join(kept))] == [str(n) for n in range(index + 1, 29)]
