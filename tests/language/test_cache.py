"""The cache of compiled programs: what it gives back, and that nobody but its owner can put anything into it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from language import cache

SOURCE = b'print("hi")\n'
COMPILED = b"compiled program" * 100
SOMEBODY_ELSE = 4242

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="giving a file to another user needs root")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache: its folder, not yet made. The way there is closed to others."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PLATFORM_CACHE", raising=False)
    yield tmp_path / "cache" / "lang"


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def stored(folder: Path) -> Path:
    """Stores one entry and answers its file."""
    cache.store(SOURCE, "run", COMPILED)
    (entry,) = entries(folder)
    assert cache.load(SOURCE, "run") == COMPILED
    return entry


def test_what_is_stored_comes_back(folder: Path) -> None:
    assert cache.load(SOURCE, "run") is None
    entry = stored(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert entry.stat().st_mode & 0o777 == 0o600
    assert cache.load(SOURCE, "test") is None
    assert cache.load(SOURCE + b" ", "run") is None
    assert cache.load(b"", "run") is None


def test_an_empty_program_and_an_empty_result(folder: Path) -> None:
    cache.store(b"", "run", b"")
    assert cache.load(b"", "run") == b""


def test_storing_again_replaces(folder: Path) -> None:
    stored(folder)
    cache.store(SOURCE, "run", b"newer")
    assert cache.load(SOURCE, "run") == b"newer"
    assert len(entries(folder)) == 1


def test_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = stored(folder)
    monkeypatch.setenv("PLATFORM_CACHE", "off")
    assert cache.location() is None
    assert cache.load(SOURCE, "run") is None
    entry.unlink()
    cache.store(SOURCE, "run", COMPILED)
    assert entries(folder) == []


def test_the_home_folder_without_xdg(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for ignored in ("", "relative/cache"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert cache.location() == f"{tmp_path}/.cache/lang"
    cache.store(SOURCE, "run", COMPILED)
    assert cache.load(SOURCE, "run") == COMPILED
    assert (tmp_path / ".cache").stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("HOME", "relative")
    assert cache.location() is None


# ---- what decides the content of an entry ------------------------------------------------------------------------------


def test_another_version_of_the_language_is_another_entry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(folder)
    monkeypatch.setattr(cache, "__version__", "9.9.9")
    assert cache.load(SOURCE, "run") is None


def test_another_python_is_another_entry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(folder)
    monkeypatch.setattr(sys, "hexversion", sys.hexversion + 1)
    assert cache.load(SOURCE, "run") is None


def test_an_entry_under_the_name_of_another_python_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = stored(folder)
    monkeypatch.setattr(sys, "hexversion", sys.hexversion + 1)
    entry.rename(folder / cache.entry_name(cache.key_parts("run"), SOURCE))
    assert cache.load(SOURCE, "run") is None


def test_a_collision_of_names_is_no_collision_of_programs(folder: Path) -> None:
    entry = stored(folder)
    other = b'print("other")\n'
    entry.rename(folder / cache.entry_name(cache.key_parts("run"), other))
    assert cache.load(other, "run") is None


def test_an_edited_implementation_is_another_entry(folder: Path, tmp_path: Path) -> None:
    """A checkout keeps its version while its compiler changes."""
    for package in ("language", "language/syntax", "language/compiler", "language/runtime", "stdlib"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "part.py").write_text("1", encoding="utf-8")
        (tmp_path / package / "__init__.py").touch()
    here = Path(cache.__file__).parent
    for name in ("cache.py", "release.py"):
        (tmp_path / "language" / name).write_bytes((here / name).read_bytes())
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")

    def key() -> bytes:
        return subprocess.run(
            [sys.executable, "-c", "from language import cache; import sys; sys.stdout.buffer.write(cache.key_parts('run'))"],
            cwd=tmp_path, capture_output=True, check=True,
        ).stdout  # fmt: skip

    keys = [key()]
    assert key() == keys[0]
    for package in ("language", "language/syntax", "language/compiler", "language/runtime", "stdlib"):
        (tmp_path / package / "part.py").write_text("22", encoding="utf-8")
        keys.append(key())
    assert len(set(keys)) == 6


def test_another_installation_of_the_same_version_is_another_entry(tmp_path: Path) -> None:
    here = Path(cache.__file__).parent
    keys = []
    for number in range(2):
        package = tmp_path / f"{number}" / "language"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        for name in ("cache.py", "release.py"):
            (package / name).write_bytes((here / name).read_bytes())
            os.utime(package / name, (number, number))
        code = "from language import cache; import sys; sys.stdout.buffer.write(cache.key_parts('run'))"
        done = subprocess.run([sys.executable, "-c", code], cwd=package.parent, capture_output=True, check=True)
        keys.append(done.stdout)
    assert keys[0] != keys[1]


@pytest.mark.parametrize("change", [["-O"], ["-OO"], ["-X", "no_debug_ranges"]], ids=" ".join)
def test_options_of_python_that_change_code_are_part_of_the_key(change: list[str]) -> None:
    def key(options: list[str]) -> bytes:
        code = "from language import cache; import sys; sys.stdout.buffer.write(cache.key_parts('run'))"
        root = Path(cache.__file__).parent.parent
        return subprocess.run([sys.executable, *options, "-c", code], cwd=root, capture_output=True, check=True).stdout

    assert key(change) != key([])
    assert key(change) == key(change)


# ---- damage ------------------------------------------------------------------------------------------------------------


def test_every_flipped_bit_is_noticed(folder: Path) -> None:
    cache.store(b"p", "run", b"code")
    (entry,) = entries(folder)
    good = entry.read_bytes()
    for at in range(len(good)):
        for bit in range(8):
            bad = bytearray(good)
            bad[at] ^= 1 << bit
            entry.write_bytes(bad)
            assert cache.load(b"p", "run") is None, f"bit {bit} of byte {at}"
    entry.write_bytes(good)
    assert cache.load(b"p", "run") == b"code"


def test_every_truncation_is_noticed(folder: Path) -> None:
    entry = stored(folder)
    good = entry.read_bytes()
    for length in range(0, len(good), 7):
        entry.write_bytes(good[:length])
        assert cache.load(SOURCE, "run") is None, length
    entry.write_bytes(good + b"x")
    assert cache.load(SOURCE, "run") is None


def test_a_damaged_entry_is_replaced(folder: Path) -> None:
    entry = stored(folder)
    entry.write_bytes(b"nonsense")
    assert cache.load(SOURCE, "run") is None
    cache.store(SOURCE, "run", COMPILED)
    assert cache.load(SOURCE, "run") == COMPILED


def test_what_a_broken_writer_left_is_swept_up(folder: Path) -> None:
    stored(folder)
    old, young, nested = folder / "x.program.77", folder / "y.program.78", folder / "nested"
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    nested.mkdir()
    os.utime(old, (1, 1))
    os.utime(nested, (1, 1))
    cache.store(SOURCE, "run", COMPILED)
    assert not old.exists()
    assert young.exists()
    assert nested.exists()


# ---- others ------------------------------------------------------------------------------------------------------------


@as_root
def test_an_entry_of_somebody_else_is_ignored(folder: Path) -> None:
    entry = stored(folder)
    os.chown(entry, SOMEBODY_ELSE, -1)
    assert cache.load(SOURCE, "run") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_others_may_write_is_ignored(folder: Path, mode: int) -> None:
    stored(folder).chmod(mode)
    assert cache.load(SOURCE, "run") is None


def test_a_linked_entry_is_ignored_and_replaced(folder: Path, tmp_path: Path) -> None:
    entry = stored(folder)
    elsewhere = tmp_path / "elsewhere"
    entry.rename(elsewhere)
    entry.symlink_to(elsewhere)
    assert cache.load(SOURCE, "run") is None
    before = elsewhere.read_bytes()
    cache.store(SOURCE, "run", b"newer")
    assert not entry.is_symlink()
    assert cache.load(SOURCE, "run") == b"newer"
    assert elsewhere.read_bytes() == before


def test_a_link_in_the_place_of_the_file_being_written_is_not_followed(folder: Path, tmp_path: Path) -> None:
    entry = stored(folder)
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (folder / f"{entry.name}.{os.getpid()}").symlink_to(victim)
    cache.store(SOURCE, "run", b"newer")
    assert victim.read_bytes() == b"precious"
    assert cache.load(SOURCE, "run") == COMPILED


def test_a_pipe_in_the_place_of_an_entry_does_not_block(folder: Path) -> None:
    entry = stored(folder)
    entry.unlink()
    os.mkfifo(entry)
    assert cache.load(SOURCE, "run") is None


def test_a_folder_in_the_place_of_an_entry(folder: Path) -> None:
    entry = stored(folder)
    entry.unlink()
    entry.mkdir()
    assert cache.load(SOURCE, "run") is None
    cache.store(SOURCE, "run", COMPILED)
    assert cache.load(SOURCE, "run") is None


@as_root
def test_a_folder_of_somebody_else_is_not_used(folder: Path) -> None:
    entry = stored(folder)
    os.chown(folder, SOMEBODY_ELSE, -1)
    assert cache.load(SOURCE, "run") is None
    entry.unlink()
    cache.store(SOURCE, "run", COMPILED)
    assert entries(folder) == []


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o750, 0o1777])
def test_a_folder_open_to_others_is_not_used(folder: Path, mode: int) -> None:
    entry = stored(folder)
    folder.chmod(mode)
    assert cache.load(SOURCE, "run") is None
    entry.unlink()
    cache.store(SOURCE, "run", COMPILED)
    assert entries(folder) == []


@as_root
def test_a_home_of_somebody_else_has_no_cache(folder: Path, tmp_path: Path) -> None:
    """As with `sudo`, which keeps the HOME of the user before."""
    entry = stored(folder)
    os.chown(tmp_path, SOMEBODY_ELSE, -1)
    assert cache.load(SOURCE, "run") is None
    entry.unlink()
    cache.store(SOURCE, "run", COMPILED)
    assert entries(folder) == []
    folder.rmdir()
    cache.store(SOURCE, "run", COMPILED)
    assert not folder.exists()


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_way_there_that_others_may_change_is_not_taken(folder: Path, tmp_path: Path, mode: int) -> None:
    stored(folder)
    folder.parent.chmod(mode)
    assert cache.load(SOURCE, "run") is None
    folder.parent.chmod(mode | 0o1000)  # sticky, as /tmp: others cannot rename what is ours
    assert cache.load(SOURCE, "run") == COMPILED


def test_a_link_of_our_own_is_followed(folder: Path, tmp_path: Path) -> None:
    stored(folder)
    (tmp_path / "deep").mkdir(mode=0o700)
    folder.parent.rename(tmp_path / "deep" / "real")
    folder.parent.symlink_to("deep/../deep/real")
    assert cache.load(SOURCE, "run") == COMPILED
    folder.parent.unlink()
    folder.parent.symlink_to(tmp_path / "deep" / "real")
    assert cache.load(SOURCE, "run") == COMPILED


@as_root
def test_a_link_of_somebody_else_is_not_followed(folder: Path, tmp_path: Path) -> None:
    stored(folder)
    folder.rename(tmp_path / "real")
    folder.symlink_to(tmp_path / "real")
    assert cache.load(SOURCE, "run") == COMPILED
    os.chown(folder, SOMEBODY_ELSE, -1, follow_symlinks=False)
    assert cache.load(SOURCE, "run") is None


@as_root
def test_a_link_through_a_folder_of_somebody_else_is_not_followed(folder: Path, tmp_path: Path) -> None:
    stored(folder)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    folder.rename(tmp_path / "real")
    (theirs / "hop").symlink_to(tmp_path / "real")
    os.chown(theirs, SOMEBODY_ELSE, -1)
    folder.symlink_to(theirs / "hop")
    assert cache.load(SOURCE, "run") is None


def test_links_in_a_circle(folder: Path) -> None:
    folder.parent.mkdir()
    folder.symlink_to(folder)
    assert cache.load(SOURCE, "run") is None
    cache.store(SOURCE, "run", COMPILED)
    assert cache.load(SOURCE, "run") is None


def test_a_file_on_the_way(folder: Path) -> None:
    folder.parent.write_bytes(b"")
    cache.store(SOURCE, "run", COMPILED)
    assert cache.load(SOURCE, "run") is None


def test_a_place_directly_below_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(os, "mkdir", lambda path, mode: made.append(path))
    monkeypatch.setenv("XDG_CACHE_HOME", "/no-such-folder")
    cache.store(SOURCE, "run", COMPILED)
    assert made == ["/no-such-folder", "/no-such-folder/lang"]


# ---- bounds ------------------------------------------------------------------------------------------------------------


def test_the_longest_unused_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_BYTES", 100_000)
    for number in range(30):
        cache.store(b"%d" % number, "run", b"x" * 5_000)
        for entry in entries(folder):
            if entry.stat().st_mtime > 1_000:  # the newest: give it the age of its number
                os.utime(entry, (number + 1, number + 1))
    assert sum(entry.stat().st_size for entry in entries(folder)) <= 100_000
    assert cache.load(b"0", "run") is None
    assert cache.load(b"29", "run") is not None


def test_the_number_of_entries_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_ENTRIES", 8)
    for number in range(30):
        cache.store(b"%d" % number, "run", b"x")
        assert len(entries(folder)) <= 8


def test_use_makes_an_entry_young(folder: Path) -> None:
    entry = stored(folder)
    os.utime(entry, (1, 1))
    assert cache.load(SOURCE, "run") == COMPILED
    assert entry.stat().st_mtime > 1_000_000


def test_a_huge_program_is_not_stored(folder: Path) -> None:
    cache.store(SOURCE, "run", b"x" * (cache.LARGEST_ENTRY + 1))
    assert entries(folder) == []
