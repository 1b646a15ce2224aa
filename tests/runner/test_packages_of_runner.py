"""Packages on the runner's machine: only what the hash stands for, only inside their folder, and for reading alone."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path

import pytest

from runner.packages import PackageBroken, Packages, remove_all
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
