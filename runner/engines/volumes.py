"""The volumes of projects: a folder each, which outlives starts; who owns it, how big it is, how it goes."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock

MEGABYTE = 1024 * 1024
#: Users of the machine that no account and no tool takes: systemd leaves 0x70000000 to 0x7fffffff unused. Each runner has a
#: part of them, told by its folder, and gives each project one.
FIRST_UID, UIDS_OF_A_RUNNER, RUNNERS = 0x70000000, 0x10000, 0xFFF
#: No version is prepared where less of the disk than this part, and less than this many bytes, are free.
LEAST_FREE, ENOUGH_FREE = 0.10, 10 * 1024 * MEGABYTE
#: Bytes that a name counts for at least: files without content have no blocks, and would fill a disk all the same.
LEAST_OF_A_NAME = 1024
#: The size of a volume that cannot be looked through: no limit is as large.
UNKNOWN = 1 << 62
#: Errors where a program has closed a folder, put it deeper than a path can reach, or replaced it by a chain of links.
_CANNOT_BE_SEEN = frozenset({errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Volumes:
    """The volumes below a folder of the runner, ``<folder>/volumes``; nobody but the runner may enter that.

    Where the runner is the superuser each project gets a user of its own, who owns its volume. Threads may call this at
    the same time. No two processes have the same folder: the runner locks it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "volumes"
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._next = folder / "next-uid"
        #: is held from reading the next user until a volume belongs to that one: no other project gets the same
        self._giving = Lock()
        #: by project: why it has no user of its own
        self._shared: dict[str, str] = {}
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
        with self._giving:
            if project in self._shared:
                raise OSError(self._shared[project])
            if path.stat().st_uid not in self._range:  # it is new, or from a runner that was somebody else, or somewhere else
                give(path, self._new_uid())
            return path, path.stat().st_uid

    def part_users(self) -> tuple[str, ...]:
        """Gives every volume whose user owns another volume too a user of its own; a sentence for each.

        Runners before this one could give one user to two projects that were started at the same moment. To be called while
        no program runs. A project whose volume cannot be given is not started: ``of`` raises the reason.
        """
        if os.geteuid() != 0:
            return ()
        said = []
        with self._giving:
            first: dict[int, str] = {}
            for project in self.projects():
                path = self.path(project)
                uid = path.stat().st_uid
                if uid not in self._range or first.setdefault(uid, project) == project:
                    continue
                both = f"the volume of project {project} had the same user of the machine as that of project {first[uid]}"
                try:
                    give(path, self._new_uid())
                    said.append(f"{both}: it has one of its own now, {path.stat().st_uid}")
                except OSError as error:
                    self._shared[project] = f"{both}, and cannot be given one of its own: {error}"
                    said.append(f"{self._shared[project]}. The project is not started until the runner is started again")
        return tuple(said)

    def _new_uid(self) -> int:
        """One that no project of this runner had before: a file that was left behind must not find a new owner.

        Whoever calls this holds ``_giving``.
        """
        try:
            uid = int(self._next.read_text(encoding="ascii"))
        except FileNotFoundError:
            uid = self._range.start
        except ValueError:
            raise OSError(
                f"{self._next} holds no number: write one above the users of all files of this runner there"
            ) from None
        taken = []
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):  # it is being erased
                taken.append(path.stat().st_uid)
        uid = max([uid, *(other + 1 for other in taken if other in self._range)])
        if uid not in self._range:
            raise OSError(f"all {len(self._range)} users for projects of this runner are taken")
        made = self._next.with_suffix(".new")
        made.write_text(str(uid + 1), encoding="ascii")
        os.replace(made, self._next)  # as a whole, also where the disk is full
        return uid

    def projects(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def erase(self, project: str) -> None:
        """Removes a volume. Raises ``OSError`` where something of it is left."""
        remove_tree(self.path(project))
        self._shared.pop(project, None)


def remove_tree(path: Path) -> None:
    """Removes a folder where it is there, whatever its programs made of it. Raises ``OSError``."""
    if is_there(path):
        _remove(path)


def is_there(path: Path) -> bool:
    """Whether a path leads to something. Raises ``OSError`` where that cannot be seen: it is not taken to be gone."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


def nearly_full(folder: Path) -> bool:
    """Whether so little of a folder's disk is free that no new version is taken."""
    disk = os.statvfs(folder)
    return disk.f_bavail < LEAST_FREE * disk.f_blocks and disk.f_bavail * disk.f_frsize < ENOUGH_FREE


def _remove(path: Path) -> None:
    """Removes a folder and all in it, however deep and however closed a program has left it.

    The folders of a folder are moved up before it is removed: neither paths, nor open folders, nor calls grow with the depth.
    Nobody writes there any more.
    """
    os.chmod(path, 0o700)
    top = os.open(path, _FOLDER)
    try:
        while names := os.listdir(top):
            for name in names:
                if not _is_folder(name, top):
                    os.unlink(name, dir_fd=top)
                    continue
                below = os.open(name, _FOLDER, dir_fd=top)
                try:
                    for each in os.listdir(below):
                        if _is_folder(each, below):
                            os.rename(each, secrets.token_hex(16), src_dir_fd=below, dst_dir_fd=top)
                        else:
                            os.unlink(each, dir_fd=below)
                finally:
                    os.close(below)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    path.rmdir()


def _is_folder(name: str, parent: int) -> bool:
    """Whether a name is a folder, which is opened to its owner then."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        return False
    os.chmod(name, 0o700, dir_fd=parent)
    return True


def give(path: Path, uid: int | None) -> None:
    """Makes a folder and all below it somebody's, for him alone. Raises ``OSError``: then the folder itself is not his yet."""
    if uid is None or path.stat().st_uid == uid:
        return
    for folder, folders, files in os.walk(path, topdown=False, onerror=_raised):
        for name in (*folders, *files):  # links that lead to folders are among the folders
            os.chown(os.path.join(folder, name), uid, uid, follow_symlinks=False)
    os.chown(path, uid, uid)


def _raised(error: OSError) -> None:
    raise error


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

    Errors: ``OSError`` where it could not be measured for want of something of the runner's own.
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
            descriptor = os.open(folder, _FOLDER)  # a program may have put a link in its place
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if error.errno in _CANNOT_BE_SEEN:
                return UNKNOWN
            raise
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    try:
                        info = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    except PermissionError:
                        return UNKNOWN
                    if info.st_dev != device:
                        continue
                    if stat.S_ISDIR(info.st_mode):
                        pending.append(f"{folder}/{entry.name}")
                    elif info.st_nlink > 1:
                        if info.st_ino in seen:
                            continue
                        seen.add(info.st_ino)
                    total += max(info.st_blocks * 512, LEAST_OF_A_NAME)
        finally:
            os.close(descriptor)
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
