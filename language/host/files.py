"""Files as a host offers them: what the builtins ask for, and the files an embedder hands over.

Every act takes the :class:`~language.capabilities.scopes.GrantedPath` of a check and raises ``OSError``; what it does stays
inside the grant whatever happens to the folders on the way in the meantime.
"""

from __future__ import annotations

import errno

from language.capabilities.scopes import normal_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from language.capabilities.scopes import GrantedPath


class PathLeaves(OSError):
    """The path was granted, but has since been made to lead out of the granted folder."""

    def __init__(self) -> None:
        super().__init__(errno.ELOOP, "symbolic link leaves the granted path")


class TooManyFiles(OSError):
    """There are more files below a folder than are looked at."""


class FileInfo:
    """What is known of a file or folder. ``size`` in bytes, 0 of a folder; ``modified`` in whole Unix seconds if known."""

    __slots__ = ("is_folder", "modified", "size")

    def __init__(self, is_folder: bool, size: int, modified: int | None) -> None:
        self.is_folder = is_folder
        self.size = 0 if is_folder else size
        self.modified = modified


class FolderEntry:
    """Something below a folder: ``path`` is shown and checked, ``parts`` are its names on the disk from that folder on.

    ``mark`` is the same while it has the same content; that of a folder is ``None``.
    """

    __slots__ = ("is_folder", "mark", "parts", "path")

    def __init__(self, path: str, parts: tuple[str, ...], is_folder: bool, mark: object = None) -> None:
        self.path = path
        self.parts = parts
        self.is_folder = is_folder
        self.mark = mark


class Asset:
    """A regular file below a folder. ``path`` is its real path, ``below`` the part of it from that folder on.

    ``stamp`` stands for its content: another one whenever that may have changed.
    """

    __slots__ = ("below", "path", "stamp")

    def __init__(self, path: str, below: str, stamp: object) -> None:
        self.path = path
        self.below = below
        self.stamp = stamp


class Files:
    """The files of a host. ``partial``: only some to read and none to write, for a host without a file system."""

    partial = False

    def read(self, place: GrantedPath) -> bytes:
        """The whole content of a regular file."""
        raise NotImplementedError

    def working_folder(self) -> str:
        """The absolute path of the folder that relative paths begin at."""
        raise NotImplementedError

    def read_lines(self, place: GrantedPath, skip: int, count: int | None) -> bytes:
        """At most ``count`` lines behind the first ``skip`` ones, line ends kept; ``None``: all of them."""
        raise NotImplementedError

    def info(self, place: GrantedPath) -> FileInfo:
        """What is at the end of the path, symbolic links followed."""
        raise NotImplementedError

    def find(self, folder: str, path: str) -> Asset | None:
        """The regular file at a path below a folder, links followed; ``None`` without one. ``PathLeaves`` outside of it."""
        raise NotImplementedError

    def part_below(self, folder: str, asset: Asset) -> str | None:
        """The path of a file from another folder on, links of both followed; ``None`` where it does not lie there."""
        return None

    def load(self, asset: Asset) -> tuple[bytes, object]:
        """The content of what :meth:`find` found, and the stamp of what was read, which may have been changed since."""
        raise NotImplementedError

    def entries(self, place: GrantedPath) -> list[tuple[str, FileInfo]]:
        """The names in a folder, in no order. A link that leads out of the grant, or nowhere, is an empty file."""
        raise NotImplementedError

    def contents(
        self, place: GrantedPath, wanted: Callable[[str], bool], hidden: Callable[[str], bool]
    ) -> Iterator[tuple[str, bytes]]:
        """Path and content of a file, or of the readable files below a folder by path; no link below it is followed.

        ``wanted(name)`` chooses files by name, ``hidden(path)`` leaves out files and folders.
        """
        raise NotImplementedError

    def marks(self, place: GrantedPath, hidden: Callable[[str], bool], most: int) -> dict[str, object]:
        """By path a mark for a file, or for each file and folder below a folder; no link below it is followed.

        Another mark is another content; that of a folder never changes. Nothing there: no mark. ``hidden(path)`` leaves out
        files and folders. Raises ``TooManyFiles`` for more than ``most``.
        """
        raise NotImplementedError

    def most_watches(self, warn: Callable[[str], None]) -> int:
        """How many files or folders may be watched at once in this process. ``warn`` hears of a setting that is none."""
        return 64

    def write(self, place: GrantedPath, data: bytes) -> None:
        """Puts a file with this content in the place of what is there, at once; makes the folders on the way."""
        raise NotImplementedError

    def append(self, place: GrantedPath, data: bytes) -> None:
        """Adds to the end of a file; makes it and the folders on the way."""
        raise NotImplementedError

    def remove(self, place: GrantedPath) -> None:
        """Removes a file, or a symbolic link itself. ``IsADirectoryError`` for a folder."""
        raise NotImplementedError

    def below(self, place: GrantedPath) -> list[FolderEntry]:
        """Everything below a folder, each folder before what is in it; no link is followed."""
        raise NotImplementedError

    def remove_folder(self, place: GrantedPath, below: list[FolderEntry]) -> None:
        """Removes these entries of a folder (those of :meth:`below`), then the folder, which must be empty by then."""
        raise NotImplementedError


class GivenFiles(Files):
    """The files that an embedder hands over with a program, by path; read only."""

    partial = True

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = {normal_path(path): data for path, data in files.items()}

    def read(self, place: GrantedPath) -> bytes:
        try:
            return self._files[place.path]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "not among the files given") from None

    def find(self, folder: str, path: str) -> Asset | None:
        root = normal_path(folder or ".")
        real = normal_path(f"{root}/{path}")
        data = self._files.get(real)
        below = real if root == "." else real.removeprefix(root.rstrip("/") + "/")
        leaves = below.startswith(("/", "../")) if root == "." else below == real
        if leaves and (data is not None or self._is_folder(real)):
            raise PathLeaves
        return None if data is None else Asset(real, below, data)

    def load(self, asset: Asset) -> tuple[bytes, object]:
        data = self._files[asset.path]
        return data, data

    def read_lines(self, place: GrantedPath, skip: int, count: int | None) -> bytes:
        lines = self.read(place).split(b"\n")
        rest = lines[skip:]
        if count is None or count >= len(rest):
            return b"\n".join(rest)
        return b"".join([line + b"\n" for line in rest[:count]])

    def info(self, place: GrantedPath) -> FileInfo:
        data = self._files.get(place.path)
        if data is not None:
            return FileInfo(False, len(data), None)
        self._inside(place.path)
        return FileInfo(True, 0, None)

    def entries(self, place: GrantedPath) -> list[tuple[str, FileInfo]]:
        found: dict[str, FileInfo] = {}
        for rest, data in self._inside(place.path):
            name, folder, _ = rest.partition("/")
            found[name] = FileInfo(bool(folder), len(data), None)
        return list(found.items())

    def contents(
        self, place: GrantedPath, wanted: Callable[[str], bool], hidden: Callable[[str], bool]
    ) -> Iterator[tuple[str, bytes]]:
        path = place.path
        if path in self._files:
            found = [(path, self._files[path])]
        else:
            start = "" if path == "." else path.rstrip("/") + "/"
            found = [(start + rest, data) for rest, data in self._inside(path)]
        return iter([file for file in sorted(found) if wanted(file[0].rpartition("/")[2]) and not hidden(file[0])])

    def _is_folder(self, path: str) -> bool:
        try:
            return bool(self._inside(path))
        except FileNotFoundError:
            return False

    def _inside(self, folder: str) -> list[tuple[str, bytes]]:
        """The files below a folder, by their path from there. Raises ``FileNotFoundError`` when there is none."""
        if folder == ".":
            found = [item for item in self._files.items() if not item[0].startswith(("/", "../"))]
        else:
            start = folder.rstrip("/") + "/"
            found = [(path[len(start) :], data) for path, data in self._files.items() if path.startswith(start)]
        if not found:
            raise FileNotFoundError(errno.ENOENT, "not among the files given")
        return found
