"""Files of a program whose package is not its working folder: files missing in the working folder are read from the package."""

from __future__ import annotations

import os

from language.capabilities.scopes import GrantedPath, is_inside, real_path
from language.native.files import NativeFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from language.host.files import FileInfo

    Answer = TypeVar("Answer")


class PackagedFiles(NativeFiles):
    """A relative path that is read and does not exist in the working folder is looked up below ``package``, within the part of
    the grant that lies there. Files are written to the working folder.
    """

    def __init__(self, package: str) -> None:
        super().__init__()
        self._package = real_path(package)

    def read(self, place: GrantedPath) -> bytes:
        return self._either(place, super().read)

    def read_lines(self, place: GrantedPath, skip: int, count: int | None) -> bytes:
        read = super().read_lines
        return self._either(place, lambda found: read(found, skip, count))

    def info(self, place: GrantedPath) -> FileInfo:
        return self._either(place, super().info)

    def entries(self, place: GrantedPath) -> list[tuple[str, FileInfo]]:
        return self._either(place, super().entries)

    def contents(
        self, place: GrantedPath, wanted: Callable[[str], bool], hidden: Callable[[str], bool]
    ) -> Iterator[tuple[str, bytes]]:
        packaged = self._packaged(place)
        if packaged is not None:
            try:
                super().info(place)
            except FileNotFoundError:
                # Files are shown, and compared with denied paths, by the paths that the program uses.
                start = len(self._package) + 1
                found = super().contents(packaged, wanted, lambda path: hidden(path[start:]))
                return ((path[start:], data) for path, data in found)
        return super().contents(place, wanted, hidden)

    def _either(self, place: GrantedPath, act: Callable[[GrantedPath], Answer]) -> Answer:
        try:
            return act(place)
        except FileNotFoundError:
            packaged = self._packaged(place)
            if packaged is None:
                raise
            return act(packaged)

    def _packaged(self, place: GrantedPath) -> GrantedPath | None:
        """The same path below the package; ``None`` where the path or the grant is not relative to the working folder."""
        path = place.path
        if os.path.isabs(path) or path == ".." or path.startswith("../"):
            return None
        within = self._package
        if place.within is not None:
            here = real_path(".")
            if not is_inside(place.within, here):
                return None
            within = os.path.normpath(os.path.join(within, os.path.relpath(place.within, here)))
        return GrantedPath(f"{self._package}/{path}", within)
