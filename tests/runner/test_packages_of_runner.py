"""Packages on the runner's machine: only what the hash stands for, only inside their folder, and for reading alone."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path

import pytest
from project_stage import Stage
from runner_process import short_folder

from runner.packages import PackageBroken, Packages, remove_all, set_aside
from runner.protocol import FileContent, PackageAnswer, package_hash

FILES = [("main.lang", "utf8", b'print("hi")\n'), ("data/a.bin", "base64", b"\xff\x00"), ("data/b/c.txt", "utf8", b"")]


class Source:
    """A service that gives the same files whatever it is asked for."""

    def __init__(self, files: list[tuple[str, str, bytes]]) -> None:
        self._files, self.asked = files, 0

    async def package(self, package_hash: str) -> PackageAnswer:
        self.asked += 1
        contents = [
            FileContent(path=path, encoding=how, content=base64.b64encode(data).decode()) for path, how, data in self._files
        ]
        return PackageAnswer(hash=package_hash, files=tuple(contents))


def fetch(folder: Path, files: list[tuple[str, str, bytes]], wanted: str | None = None) -> Path:
    source = Source(files)
    digest = package_hash(files, "main.lang", "web") if wanted is None else wanted
    return asyncio.run(Packages(folder / "packages", source).folder(digest, "main.lang", "web"))


def test_a_package_is_fetched_once_and_for_reading_alone(tmp_path: Path) -> None:
    source = Source(FILES)
    digest = package_hash(FILES, "main.lang", "web")

    async def both() -> set[Path]:
        packages = Packages(tmp_path / "packages", source)
        return set(await asyncio.gather(*(packages.folder(digest, "main.lang", "web") for _ in range(5))))

    [place] = asyncio.run(both())
    assert source.asked == 1
    assert {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()} == {
        path: content for path, _, content in FILES
    }
    for path in (place, *place.rglob("*")):
        assert path.stat().st_mode & 0o222 == 0
        assert path.stat().st_mode & 0o444 == 0o444, "the user that programs run as reads it"


@pytest.mark.parametrize("changed", [("main.lang", "utf8", b"print(1)"), ("main.lang", "base64", FILES[0][2])])
def test_other_content_is_refused(tmp_path: Path, changed: tuple[str, str, bytes]) -> None:
    with pytest.raises(PackageBroken, match="has the hash"):
        fetch(tmp_path, [changed, *FILES[1:]], package_hash(FILES, "main.lang", "web"))
    assert list((tmp_path / "packages").iterdir()) == []


@pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out", "a//b", "", ".", "a/.", "a\0b"])
def test_no_path_leads_out(tmp_path: Path, path: str) -> None:
    with pytest.raises(PackageBroken, match="path"):
        fetch(tmp_path, [*FILES, (path, "utf8", b"out")])
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / "packages").iterdir()) == []


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(PackageBroken, match="two files"):
        fetch(tmp_path, [("a", "utf8", b""), ("a/b", "utf8", b""), ("main.lang", "utf8", b"")])


@pytest.mark.parametrize("wanted", ["sha256:../../x", "sha256:", "", "md5:0"])
def test_no_hash_is_a_path(tmp_path: Path, wanted: str) -> None:
    with pytest.raises(PackageBroken, match="no hash"):
        fetch(tmp_path, FILES, wanted)


def test_what_was_being_unpacked_when_the_runner_ended_is_removed_and_others_on_request(tmp_path: Path) -> None:
    place = fetch(tmp_path, FILES)
    left = place.with_name("new-0123")
    left.mkdir()
    (left / "half").touch()
    os.chmod(left, 0o555)
    packages = Packages(tmp_path / "packages", Source(FILES))
    assert not left.exists() and place.exists()
    assert packages.set_aside([place.name]) == [] and place.exists()
    [aside] = packages.set_aside([])
    assert not place.exists() and aside.exists()
    remove_all([aside])
    assert not aside.exists()


def test_what_a_runner_had_renamed_when_it_was_killed_is_removed_by_the_next_one() -> None:
    with short_folder() as data:
        kept = [data / "packages", data / "caches"]
        Stage(data)
        for folder in kept:
            (folder / "unused" / "deep").mkdir(parents=True)
            (folder / "unused" / "deep").chmod(0o555)
            assert [place.name.partition(".")[2] for place in set_aside(folder, [])] == ["unused"]
            assert len(list(folder.iterdir())) == 1
        Stage(data)
        assert [list(folder.iterdir()) for folder in kept] == [[], []]


def test_what_could_not_be_removed_keeps_no_other_from_it_and_is_tried_again(tmp_path: Path) -> None:
    """It stayed until the runner was started again, with all that stood behind it."""
    stuck = [tmp_path / f"old-{number}.unused" for number in range(3)]
    for place in stuck:
        place.write_text("a file is no folder", encoding="utf-8")
    (tmp_path / "unused").mkdir()
    gone = set_aside(tmp_path, [])
    with pytest.raises(NotADirectoryError):
        remove_all(gone)
    assert sorted(tmp_path.iterdir()) == stuck
    for place in stuck:
        place.unlink()
        place.mkdir()
    remove_all(set_aside(tmp_path, []))
    assert list(tmp_path.iterdir()) == []
