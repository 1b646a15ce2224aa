"""The volumes of projects: a folder each, which outlives starts; who owns it, how big it is, how it goes."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

MEGABYTE = 1024 * 1024
#: Users of the machine that no account and no tool takes: systemd leaves 0x70000000 to 0x7fffffff unused. Each runner has a
#: part of them, told by its folder, and gives each project one.
FIRST_UID, UIDS_OF_A_RUNNER, RUNNERS = 0x70000000, 0x10000, 0xFFF
#: No version is prepared where less of the disk than this part, and less than this many bytes, are free.
LEAST_FREE, ENOUGH_FREE = 0.10, 10 * 1024 * MEGABYTE


class Volumes:
    """The volumes below a folder of the runner, ``<folder>/volumes``; nobody but the runner may enter that.

    Where the runner is the superuser each project gets a user of its own, who owns its volume.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "volumes"
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._next = folder / "next-uid"
        part = int.from_bytes(hashlib.sha256(bytes(folder.resolve())).digest()[:4], "big") % RUNNERS
        #: A user without a project, for what no project's program runs as.
        self.spare_uid = FIRST_UID + part * UIDS_OF_A_RUNNER
        self._range = range(self.spare_uid + 1, self.spare_uid + UIDS_OF_A_RUNNER)

    def path(self, project: str) -> Path:
        return self.folder / project

    def of(self, project: str) -> tuple[Path, int | None]:
        """A project's volume, made where it is missing, and its owner; ``None``: the runner's user. Raises ``OSError``."""
        path = self.path(project)
        path.mkdir(mode=0o700, exist_ok=True)
        if os.geteuid() != 0:
            return path, None
        if path.stat().st_uid not in self._range:  # it is new, or from a runner that was somebody else, or somewhere else
            give(path, self._new_uid())
        return path, path.stat().st_uid

    def _new_uid(self) -> int:
        """One that no project of this runner had before: a file that was left behind must not find a new owner."""
        try:
            uid = int(self._next.read_text(encoding="ascii"))
        except (OSError, ValueError):
            uid = self._range.start
        taken = [path.stat().st_uid for path in self.folder.iterdir()]
        uid = max([uid, *(other + 1 for other in taken if other in self._range)])
        if uid not in self._range:
            raise OSError(f"all {len(self._range)} users for projects of this runner are taken")
        self._next.write_text(str(uid + 1), encoding="ascii")
        return uid

    def projects(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def erase(self, project: str) -> None:
        """Removes a volume. Raises ``OSError`` where something of it is left."""
        path = self.path(project)
        if path.exists():
            _open_folders(path)
            shutil.rmtree(path)


def nearly_full(folder: Path) -> bool:
    """Whether so little of a folder's disk is free that no new version is taken."""
    disk = os.statvfs(folder)
    return disk.f_bavail < LEAST_FREE * disk.f_blocks and disk.f_bavail * disk.f_frsize < ENOUGH_FREE


def _open_folders(path: Path) -> None:
    """Lets a runner that is not the superuser into the folders that a program has closed."""
    if os.geteuid() == 0:
        return
    for folder, names, _ in os.walk(path):
        for name in names:
            below = os.path.join(folder, name)
            if not os.path.islink(below):
                os.chmod(below, 0o700)


def give(path: Path, uid: int | None) -> None:
    """Makes a folder and all below it somebody's, for him alone."""
    if uid is None or path.stat().st_uid == uid:
        return
    for folder, _, files in os.walk(path, topdown=False):
        for name in files:
            os.chown(os.path.join(folder, name), uid, uid, follow_symlinks=False)
        os.chown(folder, uid, uid)


def readable(path: Path) -> None:
    """Lets others read a folder: the program's user is not the runner's. The folders above it stay as closed as they are."""
    for folder, _, files in os.walk(path):
        _add(folder, 0o055)
        for name in files:
            _add(os.path.join(folder, name), 0o044)


def _add(path: str, bits: int) -> None:
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    if mode & bits != bits and not os.path.islink(path):
        os.chmod(path, mode | bits)


def measure(volume: Path, processes: Iterable[int] = ()) -> int:
    """Bytes that a volume takes on the disk.

    Arguments:
        processes: those that may hold files of it open which have no name any more; each of these counts too.

    A folder that cannot be looked into counts as if it were as big as can be. A file with two names counts once.
    """
    try:
        device = os.lstat(volume).st_dev
    except FileNotFoundError:
        return 0
    seen: set[int] = set()
    total = 0
    pending = [str(volume)]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    try:
                        info = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    if info.st_dev != device:
                        continue
                    if stat.S_ISDIR(info.st_mode):
                        pending.append(entry.path)
                    elif info.st_nlink > 1:
                        if info.st_ino in seen:
                            continue
                        seen.add(info.st_ino)
                    total += info.st_blocks * 512
        except FileNotFoundError:
            continue
        except PermissionError:
            return 1 << 62
    for process in processes:
        total += _nameless(process, device, seen)
    return total


def _nameless(process: int, device: int, seen: set[int]) -> int:
    """Bytes of the files that a process holds open on a device, and that no folder names."""
    total = 0
    try:
        names = os.listdir(f"/proc/{process}/fd")
    except OSError:
        return 0
    for name in names:
        try:
            info = os.stat(f"/proc/{process}/fd/{name}")
        except OSError:
            continue
        if info.st_dev == device and info.st_nlink == 0 and stat.S_ISREG(info.st_mode) and info.st_ino not in seen:
            seen.add(info.st_ino)
            total += info.st_blocks * 512
    return total
