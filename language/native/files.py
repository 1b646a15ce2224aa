"""The files of the operating system.

A path that was checked is used in two steps. It is resolved, and the result must lie in the granted folder. Then it is opened
folder by folder without following symbolic links. If somebody replaces a folder between the two steps, the operation fails or
resolves the path again, but never reaches a file outside of the granted folder.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from itertools import islice
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG

from language.capabilities.scopes import GrantedPath, is_inside, real_path
from language.host.files import Asset, FileInfo, Files, FolderEntry, PathLeaves, TooManyFiles
from language.host.regular_file import open_regular, refuse_irregular
from language.values.allowance import refuse_beyond

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    Answer = TypeVar("Answer")

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | _CLOEXEC | _BINARY
#: Opens a folder to descend through it; on systems that can, without the permission to list it.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
_LIST = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _NO_FOLLOW
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW

#: Without ``openat`` the resolved path is opened as one text, which leaves a race between the two steps.
_WALKS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW") and sys.platform != "wasi"
_SHOWS_DESCRIPTORS = sys.platform == "linux"

#: The errors of opening a symbolic link where a folder or a file is expected.
_LINK_ERRORS = frozenset((errno.ELOOP, errno.ENOTDIR))
_ATTEMPTS = 8
#: How many found files are cached, so that finding one again needs a single ``stat``.
_MOST_FOUND = 4096


class NativeFiles(Files):
    """The files of the operating system, opened without following symbolic links out of a granted folder."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Asset] = {}

    def find(self, folder: str, path: str) -> Asset | None:
        full = os.path.join(folder or ".", path)
        try:
            status = os.stat(full)
        except (OSError, ValueError):
            return None
        stamp = _stamp(status)
        known = self._found.get((folder, path))
        if known is not None and known.stamp == stamp:
            return known  # the file has not changed since its path was resolved
        root, real = real_path(folder or "."), real_path(full)
        if not is_inside(real, root):
            raise PathLeaves
        if not S_ISREG(status.st_mode):
            return None
        asset = Asset(real, os.path.relpath(real, root), stamp)
        if _stamp(os.stat(real, follow_symlinks=False)) == stamp:  # else a folder of the path changed during the search
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            self._found[folder, path] = asset
        return asset

    def part_below(self, folder: str, asset: Asset) -> str | None:
        root = real_path(folder or ".")
        return os.path.relpath(asset.path, root) if is_inside(asset.path, root) else None

    def load(self, asset: Asset) -> tuple[bytes, object]:
        def act(folder: int | None, name: str) -> tuple[bytes, object]:
            descriptor = _open_regular(folder, name)
            try:
                stamp = _stamp(os.fstat(descriptor))
                return _whole(descriptor), stamp
            finally:
                os.close(descriptor)

        return _at(GrantedPath(asset.path, asset.path), act)

    def read(self, place: GrantedPath) -> bytes:
        return _at(place, _read)

    def working_folder(self) -> str:
        return os.getcwd()

    def read_lines(self, place: GrantedPath, skip: int, count: int | None) -> bytes:
        end = None if count is None else min(skip + count, sys.maxsize)
        start = min(skip, sys.maxsize)

        def act(folder: int | None, name: str) -> bytes:
            with open(_open_regular(folder, name), "rb") as file:
                return b"".join(islice(file, start, end))

        return _at(place, act)

    def info(self, place: GrantedPath) -> FileInfo:
        return _at(place, _info)

    def entries(self, place: GrantedPath) -> list[tuple[str, FileInfo]]:
        def act(folder: int | None, name: str) -> list[tuple[str, FileInfo]]:
            return [
                (_shown(raw), self._of_link(place, raw) if S_ISLNK(status.st_mode) else _known(status))
                for raw, status in _scan(folder, name)
            ]

        return _at(place, act)

    def _of_link(self, place: GrantedPath, name: str) -> FileInfo:
        try:
            return self.info(GrantedPath(f"{place.path}/{name}", place.within))
        except OSError:
            return FileInfo(False, 0, None)

    def contents(
        self, place: GrantedPath, wanted: Callable[[str], bool], hidden: Callable[[str], bool]
    ) -> Iterator[tuple[str, bytes]]:
        if not self.info(place).is_folder:
            if wanted(place.path.rpartition("/")[2]):
                yield place.path, self.read(place)
            return
        root, path = _at(place, _open_root)
        try:
            found = sorted(
                [(entry.path, entry.parts) for entry in _tree(root, path, place.path, hidden) if not entry.is_folder]
            )
            for shown, parts in found:
                if not wanted(shown.rpartition("/")[2]):
                    continue
                try:
                    data = _below(root, path, parts, _read)
                except OSError:
                    continue  # a search skips what it may not read and what was removed meanwhile
                yield shown, data
        finally:
            _close(root)

    def write(self, place: GrantedPath, data: bytes) -> None:
        _at(place, lambda folder, name: _replace(folder, name, data), make=True)

    def append(self, place: GrantedPath, data: bytes) -> None:
        def act(folder: int | None, name: str) -> None:
            descriptor = os.open(name, _APPEND, 0o666, dir_fd=folder)
            try:
                refuse_irregular(os.fstat(descriptor).st_mode, name)
                _write_all(descriptor, data)
            finally:
                os.close(descriptor)

        _at(place, act, make=True)

    def remove(self, place: GrantedPath) -> None:
        def act(folder: int | None, name: str) -> None:
            if S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            os.unlink(name, dir_fd=folder)

        _at(place, act, follow=False)

    def marks(self, place: GrantedPath, hidden: Callable[[str], bool], most: int) -> dict[str, object]:
        try:
            status = _at(place, _status)
            if not S_ISDIR(status.st_mode):
                return {place.path: _stamp(status)}
            root, path = _at(place, _open_root)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        found: dict[str, object] = {}
        try:
            for entry in _tree(root, path, place.path, hidden):
                found[entry.path] = entry.mark
                if len(found) > most:
                    raise TooManyFiles
        finally:
            _close(root)
        return found

    def most_watches(self, warn: Callable[[str], None]) -> int:
        from language.settings import read_setting, whole_number

        name, most = "PLATFORM_WATCH_MAX", super().most_watches(warn)
        return read_setting(name, os.environ.get(name), whole_number(0, 10**9), "a whole number", most, warn)

    def below(self, place: GrantedPath) -> list[FolderEntry]:
        root, path = _at(place, _open_root, follow=False)
        try:
            return list(_tree(root, path, place.path, lambda _: False, every=True))
        finally:
            _close(root)

    def remove_folder(self, place: GrantedPath, below: list[FolderEntry]) -> None:
        if below:
            root, path = _at(place, _open_root, follow=False)
            try:
                for entry in reversed(below):
                    _below(root, path, entry.parts, _rmdir if entry.is_folder else _unlink)
            finally:
                _close(root)
        _at(place, _rmdir, follow=False)


# ---- the way to a file -------------------------------------------------------------------------------------------------


def _at(place: GrantedPath, act: Callable[[int | None, str], Answer], *, follow: bool = True, make: bool = False) -> Answer:
    """Calls ``act(folder, name)`` with the opened folder that holds the last part of the path, and the name of that part.

    ``act`` must not follow a symbolic link of that name either. Without ``follow`` the name is the path's own last part,
    even where that is a link. ``make`` creates missing folders of the path.
    """
    resolved = ""
    for _ in range(_ATTEMPTS):
        before, resolved = resolved, _resolve(place, follow)
        folder = None
        try:
            folder, name = _open_parent(resolved, make)
            if place.within is not None and folder is not None and _SHOWS_DESCRIPTORS:
                _look_again(folder, name, place.within)
            return act(folder, name)
        except OSError as error:
            if error.errno not in _LINK_ERRORS or isinstance(error, PathLeaves) or resolved == before:
                raise
        finally:
            _close(folder)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _resolve(place: GrantedPath, follow: bool) -> str:
    """The path with symbolic links resolved. Raises ``PathLeaves`` when it lies outside of the granted folder."""
    if follow:
        real = real_path(place.path)
    else:
        head, _, name = place.path.rpartition("/")
        real = os.path.join(real_path(head or ("/" if place.path.startswith("/") else ".")), name)
    if place.within is not None and not is_inside(real, place.within):
        raise PathLeaves
    return real


def _open_parent(real: str, make: bool) -> tuple[int | None, str]:
    if not _WALKS:
        if make:
            os.makedirs(os.path.dirname(real), exist_ok=True)
        return None, real
    head, _, name = real.rpartition("/")
    folder = os.open("/", _PASS)
    return _descend(folder, head.split("/") if head else [], make), name or "."


def _descend(folder: int, parts: list[str] | tuple[str, ...], make: bool = False) -> int:
    """Opens one folder after another, relative to the one before; closes ``folder``. Raises ``OSError`` at a symbolic link."""
    for part in parts:
        if not part:
            continue
        try:
            try:
                inner = os.open(part, _PASS, dir_fd=folder)
            except FileNotFoundError:
                if not make:
                    raise
                with suppress(FileExistsError):  # another process may create it first
                    os.mkdir(part, dir_fd=folder)
                inner = os.open(part, _PASS, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _look_again(folder: int, name: str, within: str) -> None:
    """Checks where an open folder is now, because it may have been moved out of the granted folder after it was opened."""
    try:
        now = os.readlink(f"/proc/self/fd/{folder}")
    except OSError:
        return  # this system has no ``/proc``
    if not is_inside(os.path.join(now, name) if name != "." else now, within):
        raise PathLeaves


def _close(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)


# ---- acts on a name in an open folder ----------------------------------------------------------------------------------


def _open_regular(folder: int | None, name: str) -> int:
    return open_regular(name, flags=_NO_FOLLOW, folder=folder)


def _read(folder: int | None, name: str) -> bytes:
    descriptor = _open_regular(folder, name)
    try:
        return _whole(descriptor)
    finally:
        os.close(descriptor)


def _whole(descriptor: int) -> bytes:
    # Asks for one byte more than the expected size: a shorter read means the end of the file.
    size = os.fstat(descriptor).st_size
    refuse_beyond(size)
    data = os.read(descriptor, size + 1)
    if size and len(data) == size:
        return data
    pieces = [data]
    while data:
        data = os.read(descriptor, 1 << 20)
        pieces.append(data)
    return b"".join(pieces)


def _stamp(status: os.stat_result) -> object:
    """A value that changes when the content may have changed: an edited or replaced file has another size, time or inode
    number.
    """
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


def _info(folder: int | None, name: str) -> FileInfo:
    return _known(_status(folder, name))


def _status(folder: int | None, name: str) -> os.stat_result:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return status


def _known(status: os.stat_result) -> FileInfo:
    return FileInfo(S_ISDIR(status.st_mode), status.st_size, int(status.st_mtime // 1))


def _replace(folder: int | None, name: str, data: bytes) -> None:
    mode = None
    with suppress(FileNotFoundError):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if mode is not None:
        if S_ISLNK(mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        refuse_irregular(mode, name)
        if not os.access(name, os.W_OK, dir_fd=folder):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    temporary = os.path.join(os.path.dirname(name), f".{os.urandom(12).hex()}.tmp")
    descriptor = os.open(temporary, _CREATE, 0o666, dir_fd=folder)
    done = False
    try:
        try:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, S_IMODE(mode))
            _write_all(descriptor, data)
        finally:
            os.close(descriptor)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        done = True
    finally:
        if not done:
            os.unlink(temporary, dir_fd=folder)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _unlink(folder: int | None, name: str) -> None:
    os.unlink(name, dir_fd=folder)


def _rmdir(folder: int | None, name: str) -> None:
    os.rmdir(name, dir_fd=folder)


# ---- whole folders -----------------------------------------------------------------------------------------------------


def _open_root(folder: int | None, name: str) -> tuple[int | None, str]:
    """A folder to descend from: its file descriptor, or its path on systems without ``openat``."""
    if folder is None:
        os.listdir(name)  # raises when it is no folder
        return None, name
    return os.open(name, _LIST, dir_fd=folder), ""


def _below(root: int | None, path: str, parts: tuple[str, ...], act: Callable[[int | None, str], Answer]) -> Answer:
    """Calls ``act`` on something below an open folder without following symbolic links on the way."""
    if root is None:
        return act(None, os.path.join(path, *parts))
    folder = _descend(os.dup(root), parts[:-1])
    try:
        return act(folder, parts[-1])
    finally:
        os.close(folder)


def _scan(folder: int | None, name: str) -> list[tuple[str, os.stat_result]]:
    """The names in a folder with their status; symbolic links are not followed."""
    if folder is None:
        return _statuses(name)
    descriptor = os.open(name, _LIST, dir_fd=folder)
    try:
        return _statuses(descriptor)
    finally:
        os.close(descriptor)


def _statuses(folder: int | str) -> list[tuple[str, os.stat_result]]:
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                found.append((entry.name, entry.stat(follow_symlinks=False)))
            except FileNotFoundError:
                continue  # removed meanwhile
    return found


def _tree(
    root: int | None, path: str, shown: str, hidden: Callable[[str], bool], *, every: bool = False
) -> Iterator[FolderEntry]:
    """Regular files and folders below an open folder. With ``every``, all entries, and a folder that cannot be listed is an
    error.
    """
    start = "" if shown == "." else shown.rstrip("/") + "/"
    pending: list[tuple[str, ...]] = [()]
    while pending:
        parts = pending.pop()
        try:
            entries = _scan(root, ".") if root is not None and not parts else _below(root, path, parts, _scan)
        except OSError:
            if every:
                raise
            continue
        for name, status in entries:
            below = (*parts, name)
            text = start + "/".join(map(_shown, below))
            if hidden(text):
                continue
            is_folder = S_ISDIR(status.st_mode)
            if is_folder:
                pending.append(below)
            if every or is_folder or S_ISREG(status.st_mode):
                yield FolderEntry(text, below, is_folder, None if is_folder else _stamp(status))


def _shown(name: str) -> str:
    """A name as a text of the language; bytes that are not valid UTF-8 become U+FFFD."""
    return os.fsencode(name).decode("utf-8", "replace")
