"""The files of a host: what builtins call, and the files that an embedder passes with a program.

Every method takes the :class:`~language.capabilities.scopes.GrantedPath` of a check and raises ``OSError``. It stays inside
the granted folder, even if folders of the path are replaced meanwhile.
"""

from __future__ import annotations

import errno

from language.capabilities.scopes import normal_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from language.capabilities.scopes import GrantedPath


class PathLeaves(OSError):
    """The path was granted, but it leads out of the granted folder."""

    def __init__(self) -> None:
        super().__init__(errno.ELOOP, "symbolic link leaves the granted path")


class TooManyFiles(OSError):
    """There are more files below a folder than the limit."""


class FileInfo:
    """Properties of a file or folder. ``size`` is in bytes, 0 for a folder; ``modified`` in whole Unix seconds if known."""

    __slots__ = ("is_folder", "modified", "size")

    def __init__(self, is_folder: bool, size: int, modified: int | None) -> None:
        self.is_folder = is_folder
        self.size = 0 if is_folder else size
        self.modified = modified


class FolderEntry:
    """A file or folder below a folder. ``path`` is shown and checked; ``parts`` are the names of its path from that folder.

    ``mark`` changes when the content of a file may have changed; a folder has ``None``.
    """

    __slots__ = ("is_folder", "mark", "parts", "path")

    def __init__(self, path: str, parts: tuple[str, ...], is_folder: bool, mark: object = None) -> None:
        self.path = path
        self.parts = parts
        self.is_folder = is_folder
        self.mark = mark


class Asset:
    """A regular file below a folder. ``path`` is its real path, ``below`` that path relative to the folder.

    ``stamp`` changes whenever the content may have changed.
    """

    __slots__ = ("below", "path", "stamp")

    def __init__(self, path: str, below: str, stamp: object) -> None:
        self.path = path
        self.below = below
        self.stamp = stamp


class Files:
    """The files of a host. ``partial``: some can be read and none written, for a host without a file system."""

    partial = False

    def read(self, place: GrantedPath) -> bytes:
        """The whole content of a regular file."""
        raise NotImplementedError

    def working_folder(self) -> str:
        """The absolute path of the folder that relative paths refer to."""
        raise NotImplementedError

    def read_lines(self, place: GrantedPath, skip: int, count: int | None) -> bytes:
        """At most ``count`` lines after the first ``skip`` lines, with their line ends. ``count`` ``None`` means all."""
        raise NotImplementedError

    def info(self, place: GrantedPath) -> FileInfo:
        """Properties of the file or folder at the path, symbolic links followed."""
        raise NotImplementedError

    def find(self, folder: str, path: str) -> Asset | None:
        """The regular file at a path below a folder, symbolic links followed; ``None`` without one. Raises ``PathLeaves``
        outside of it.
        """
        raise NotImplementedError

    def part_below(self, folder: str, asset: Asset) -> str | None:
        """The path of a file relative to ``folder``, symbolic links of both resolved; ``None`` where it does not lie below."""
        return None

    def load(self, asset: Asset) -> tuple[bytes, object]:
        """The content of a file that :meth:`find` returned, and its stamp at the time of reading."""
        raise NotImplementedError

    def entries(self, place: GrantedPath) -> list[tuple[str, FileInfo]]:
        """The names in a folder, unordered. A link that leads out of the granted folder, or nowhere, is listed as an empty
        file.
        """
        raise NotImplementedError

    def contents(
        self, place: GrantedPath, wanted: Callable[[str], bool], hidden: Callable[[str], bool]
    ) -> Iterator[tuple[str, bytes]]:
        """Path and content of a file, or of the readable files below a folder by path; symbolic links below it are not
        followed.

        ``wanted(name)`` chooses files by name, ``hidden(path)`` leaves out files and folders.
        """
        raise NotImplementedError

    def marks(self, place: GrantedPath, hidden: Callable[[str], bool], most: int) -> dict[str, object]:
        """A mark by path for a file, or for each file and folder below a folder; symbolic links below it are not followed.

        The mark of a file changes with its content, that of a folder never. A missing file has none. ``hidden(path)`` leaves
        out files and folders. Raises ``TooManyFiles`` for more than ``most``.
        """
        raise NotImplementedError

    def most_watches(self, warn: Callable[[str], None]) -> int:
        """The most files or folders that may be watched at once in this process. ``warn`` is called about an invalid
        setting.
        """
        return 64

    def write(self, place: GrantedPath, data: bytes) -> None:
        """Creates a file with this content or replaces it atomically. Creates missing folders of the path."""
        raise NotImplementedError

    def append(self, place: GrantedPath, data: bytes) -> None:
        """Appends to a file. Creates it and missing folders of the path."""
        raise NotImplementedError

    def remove(self, place: GrantedPath) -> None:
        """Removes a file, or a symbolic link itself. Raises ``IsADirectoryError`` for a folder."""
        raise NotImplementedError

    def below(self, place: GrantedPath) -> list[FolderEntry]:
        """Everything below a folder, each folder before its content; symbolic links are not followed."""
        raise NotImplementedError

    def remove_folder(self, place: GrantedPath, below: list[FolderEntry]) -> None:
        """Removes these entries of a folder (from :meth:`below`), then the folder itself, which must then be empty."""
        raise NotImplementedError


class GivenFiles(Files):
    """The files that an embedder passes with a program, by path. They are read-only."""

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
        """The files below a folder, by their path relative to it. Raises ``FileNotFoundError`` when there is none."""
        if folder == ".":
            found = [item for item in self._files.items() if not item[0].startswith(("/", "../"))]
        else:
            start = folder.rstrip("/") + "/"
            found = [(path[len(start) :], data) for path, data in self._files.items() if path.startswith(start)]
        if not found:
            raise FileNotFoundError(errno.ENOENT, "not among the files given")
        return found
