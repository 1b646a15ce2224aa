"""A granted path whose folder is swapped for a symbolic link while it is used: nothing outside the grant is touched.

Another process exchanges, as fast as it can, something below the grant with a link to the same names outside. Meanwhile the
builtins work on the path. What happens outside is watched through the system (inotify), not through what they answer.
"""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from language.values import TRUE
from stdlib.files import (
    append_file,
    delete_dir,
    delete_file,
    edit_file,
    file_info,
    grep,
    list_dir,
    read_file,
    read_file_bytes,
    write_file,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="exchanging names and watching folders are Linux's")

SECONDS = 0.7
MOST_SECONDS = 40.0  # on a busy machine, until the act has been done and refused often enough
OFTEN = 10
INSIDE = "inside\n"
OUTSIDE = "outside, and longer\n"

SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
one, other = map(os.fsencode, sys.argv[1:])
print("ready", flush=True)
while True:
    libc.renameat2(-100, one, -100, other, 2)  # AT_FDCWD, RENAME_EXCHANGE
"""

# What a folder tells about: opened, read, written, changed, made, removed, moved. Not looked at: `lstat` makes no event.
EVENTS = {
    0x01: "read", 0x02: "written", 0x04: "changed", 0x08: "closed after writing", 0x20: "opened", 0x40: "moved away",
    0x80: "moved in", 0x100: "made", 0x200: "removed",
}  # fmt: skip


class Watch:
    """What happens in some folders and to the files in them, as the system sees it."""

    def __init__(self, *folders: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self._descriptor >= 0
        self._folders = {
            self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), sum(EVENTS)): folder for folder in folders
        }
        assert -1 not in self._folders

    def seen(self) -> set[str]:
        found = set()
        while True:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                watch, mask, _, size = struct.unpack_from("iIII", data, at)
                name = data[at + 16 : at + 16 + size].rstrip(b"\0").decode()
                what = [text for bit, text in EVENTS.items() if mask & bit] or [hex(mask)]
                found.add(f"{self._folders[watch] / name} {' '.join(what)}")
                at += 16 + size

    def close(self) -> None:
        os.close(self._descriptor)


class Field:
    """`grant/spot` is swapped with a link to `outside`; both have `f` and `sub/f`. Or `grant/spot/f` with one to its file."""

    def __init__(self, folder: Path, what: str) -> None:
        self.outside = folder / "outside"
        real = folder / "grant" / "spot"
        for place, text in ((real, INSIDE), (self.outside, OUTSIDE)):
            (place / "sub").mkdir(parents=True)
            (place / "f").write_text(text)
            (place / "sub" / "f").write_text(text)
        self.real = os.open(real, os.O_RDONLY)
        swapped = real if what == "folder" else real / "f"
        self.other = folder / "grant" / "link"
        self.other.symlink_to(self.outside if what == "folder" else self.outside / "f")
        self.watch = Watch(self.outside, self.outside / "sub")
        self.swapper = subprocess.Popen(
            [sys.executable, "-c", SWAPPER, str(swapped), str(self.other)], stdout=subprocess.PIPE, text=True
        )
        assert self.swapper.stdout is not None
        assert self.swapper.stdout.readline() == "ready\n"

    def restore(self) -> None:
        """Puts back inside what an act has removed or changed, through the folder itself, wherever its name is now."""
        for name in ("f", "sub/f"):
            try:
                if "/" in name:
                    os.mkdir("sub", dir_fd=self.real)
            except FileExistsError:
                pass
            try:
                descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666, dir_fd=self.real)
            except OSError:
                continue  # the link is there now
            os.write(descriptor, INSIDE.encode())
            os.close(descriptor)

    def stop(self) -> None:
        self.swapper.kill()
        self.swapper.wait()

    def end(self) -> None:
        self.stop()
        self.watch.close()
        os.close(self.real)
        if self.swapper.stdout is not None:
            self.swapper.stdout.close()


@pytest.fixture
def field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Field]:
    monkeypatch.chdir(tmp_path)
    made = Field(tmp_path, request.param)
    yield made
    made.end()


Act = Callable[[Context], Any]

FOLDER_ACTS: dict[str, Act] = {
    "read_file": lambda ctx: read_file(ctx, "grant/spot/f"),
    "read_file below": lambda ctx: read_file(ctx, "grant/spot/sub/f"),
    "read_file lines": lambda ctx: read_file(ctx, "grant/spot/f", 1, 1),
    "read_file_bytes": lambda ctx: read_file_bytes(ctx, "grant/spot/f").decode(),
    "file_info": lambda ctx: file_info(ctx, "grant/spot/f")["size"],
    "list_dir": lambda ctx: [entry["size"] for entry in list_dir(ctx, "grant/spot")],
    "list_dir above": lambda ctx: [entry["size"] for entry in list_dir(ctx, "grant")],
    "grep": lambda ctx: [match["text"] for match in grep(ctx, "grant/spot", "side")["matches"]],
    "grep above": lambda ctx: [match["text"] for match in grep(ctx, "grant", "side")["matches"]],
    "write_file": lambda ctx: write_file(ctx, "grant/spot/f", "written"),
    "write_file new": lambda ctx: write_file(ctx, "grant/spot/new/deep/f", "written"),
    "append_file": lambda ctx: append_file(ctx, "grant/spot/f", "x"),
    "append_file new": lambda ctx: append_file(ctx, "grant/spot/sub/appended", "x"),
    "edit_file": lambda ctx: edit_file(ctx, "grant/spot/f", "side", "e", TRUE),
    "delete_file": lambda ctx: delete_file(ctx, "grant/spot/f"),
    "delete_dir": lambda ctx: delete_dir(ctx, "grant/spot/sub", {"recursive": TRUE}),
}
FILE_ACTS = {
    name: act
    for name, act in FOLDER_ACTS.items()
    if name in ("read_file", "read_file lines", "read_file_bytes", "file_info", "append_file", "edit_file", "write_file")
    or name in ("delete_file", "list_dir", "grep")
}
REFUSED = "Capability not granted: "
# Under the swapping a path may be missing or no folder for a moment.
MISSED = (
    "Cannot resolve ",
    "File not found: ",
    "Cannot write file ",
    "Cannot delete ",
    "Not a directory: ",
    "grep: path not found: ",
    "edit_file: ",
)


def granted() -> Context:
    ctx = Context(NativeHost(), collect=True)
    ctx.capabilities.require("file", "grant")
    ctx.capabilities.require("file", "grant/*")
    return ctx


def race(field: Field, act: Act, *, refusable: bool) -> None:
    """Repeats the act, each time under a fresh check, until it was done and refused often; holds what it answers."""
    done = refused = rounds = 0
    began = time.monotonic()
    while time.monotonic() < began + SECONDS or done < OFTEN or (refusable and refused < OFTEN):
        assert time.monotonic() < began + MOST_SECONDS, f"the race shows nothing: {done} times done, {refused} times refused"
        ctx = granted()
        try:
            answer = act(ctx)
        except RuntimeFault as fault:
            if fault.message.startswith(REFUSED):
                refused += 1
            else:
                assert fault.message.startswith(MISSED), fault.message
        else:
            done += 1
            assert OUTSIDE.strip() not in str(answer)
            sizes = answer if isinstance(answer, list) else [answer]
            assert len(OUTSIDE) not in [size for size in sizes if isinstance(size, int)]
        rounds += 1
        if rounds % 4 == 0:
            field.restore()


def assert_untouched(field: Field) -> None:
    assert field.watch.seen() == set()
    assert sorted(os.listdir(field.outside)) == ["f", "sub"]
    assert os.listdir(field.outside / "sub") == ["f"]
    assert (field.outside / "f").read_text() == OUTSIDE
    assert (field.outside / "sub" / "f").read_text() == OUTSIDE


@pytest.mark.parametrize("field", ["folder"], indirect=True)
@pytest.mark.parametrize("name", FOLDER_ACTS)
def test_a_folder_swapped_for_a_link(field: Field, name: str) -> None:
    race(field, FOLDER_ACTS[name], refusable=name not in ("list_dir above", "grep above"))
    assert_untouched(field)


@pytest.mark.parametrize("field", ["file"], indirect=True)
@pytest.mark.parametrize("name", FILE_ACTS)
def test_a_file_swapped_for_a_link(field: Field, name: str) -> None:
    race(field, FILE_ACTS[name], refusable=False)
    assert_untouched(field)


@pytest.mark.parametrize("field", ["folder", "file"], indirect=True)
def test_checking_and_then_opening_would_be_seen(field: Field) -> None:
    """The same race against a check and an opening by name: the watch sees it reach outside."""
    outside = os.path.realpath(field.outside)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            if not os.path.realpath("grant/spot/f").startswith(outside):
                Path("grant/spot/f").read_text()
        except OSError:
            continue
        seen = field.watch.seen()
        if seen:
            assert f"{field.outside / 'f'} opened" in seen
            return
    pytest.fail("the race never opened: nothing is shown by the tests above")


@pytest.mark.parametrize("field", ["folder"], indirect=True)
def test_a_folder_moved_out_of_the_grant_while_it_is_open(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    """No link at all: the folder itself is moved away between the walk and the act. It is asked again where it is."""
    import language.native.files as native

    field.stop()
    spot = Path("grant/spot") if not Path("grant/spot").is_symlink() else Path("grant/link")
    name = str(spot / "sub" / "f")
    walk = native._open_parent

    def walk_and_move(real: str, make: bool) -> tuple[int | None, str]:
        opened = walk(real, make)
        (spot / "sub").rename("moved")
        return opened

    monkeypatch.setattr(native, "_open_parent", walk_and_move)
    ctx = granted()
    with pytest.raises(RuntimeFault) as caught:
        write_file(ctx, name, "x")
    assert caught.value.message == (f'Capability not granted: file.write("{name}") — symbolic link leaves the granted path')
    assert os.listdir("moved") == ["f"]
    assert Path("moved/f").read_text() == INSIDE
