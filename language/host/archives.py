"""ZIP and tar archives in memory. Archives are not trusted: a name that leads out of the folder, a link or a device is refused,
and stated sizes are not relied on.
"""

from __future__ import annotations

from io import BytesIO

from language.errors import RuntimeFault
from language.host.compressed import BARE, Room, gunzipped, unpacked
from language.waits import cancellation_point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from tarfile import TarInfo
    from zipfile import ZipInfo

_MOST_DEPTH = 32
_MOST_NAME = 255
_MOST_PATH = 1024
_END = b"PK\x05\x06"
_CENTRAL = b"PK\x01\x02"
_LOCAL = b"PK\x03\x04"
_END_SIZE = 22
_LOCAL_SIZE = 30
#: The most bytes of the comment of a ZIP archive.
_MOST_COMMENT = 65535
_STORED, _DEFLATED = 0, 8
_LINK = 0o120000
_KIND = 0o170000
#: The flag bits of an encrypted ZIP entry.
_ENCRYPTED = 0x1 | 0x40


class Names:
    """The names of one archive so far. Error messages begin with ``builtin``."""

    def __init__(self, builtin: str, most: int) -> None:
        self._builtin = builtin
        self._most = most
        #: normalized name, by which two names can be the same file → the name as written
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self._count = 0

    def count(self) -> None:
        """Counts one more entry. Raises ``RuntimeFault`` for more than an archive may have."""
        self._count += 1
        self.expect(self._count)

    def expect(self, count: int) -> None:
        """Raises ``RuntimeFault`` for more entries than an archive may have."""
        if count > self._most:
            raise RuntimeFault(f"{self._builtin}: it has more than {self._most} entries (option max_entries)", kind="resources")

    def file(self, name: str) -> str:
        """The path of a file relative to the folder that it is unpacked to. Raises ``RuntimeFault`` for a name that leads
        outside of that folder, and for a name that was seen before, even if it differs in case.
        """
        parts = self._parts(name)
        path = "/".join(parts)
        alike = _alike(path)
        if not path or alike in self._folders:
            raise self.refuse(name, "is a file and a folder at once")
        if alike in self._files:
            raise self.refuse(name, f"occurs twice (as {_shown(self._files[alike])})")
        self._add_folders(name, parts[:-1])
        self._files[alike] = path
        return path

    def folder(self, name: str) -> None:
        """Adds the name of a folder. Raises as :meth:`file`."""
        self._add_folders(name, self._parts(name))

    def _add_folders(self, name: str, parts: list[str]) -> None:
        for end in range(1, len(parts) + 1):
            alike = _alike("/".join(parts[:end]))
            if alike in self._files:
                raise self.refuse(name, "is a file and a folder at once")
            self._folders[alike] = name

    def _parts(self, name: str) -> list[str]:
        if name.startswith("/") or "\\" in name or (len(name) > 1 and name[1] == ":" and name[0].isalpha()):
            raise self.refuse(name, "is no relative path with / between folders")
        if not name.isprintable():
            raise self.refuse(name, "has control characters")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise self.refuse(name, "leads out of its folder (..)")
        if len(parts) > _MOST_DEPTH or len(name) > _MOST_PATH or any(len(part.encode()) > _MOST_NAME for part in parts):
            raise self.refuse(name, f"is too long or too deep ({_MOST_DEPTH} folders, {_MOST_NAME} bytes a name)")
        return parts

    def refuse(self, name: str, why: str) -> RuntimeFault:
        """The error for an entry that must not be unpacked."""
        return RuntimeFault(f"{self._builtin}: the entry {_shown(name)} {why}", kind="file")


def _alike(path: str) -> str:
    from unicodedata import normalize

    return normalize("NFC", normalize("NFC", path).casefold())


def _shown(name: str) -> str:
    from language.values.display import quote

    return quote(name if len(name) <= 80 else name[:80] + "…")


def zip_of(files: Iterable[tuple[str, bytes]]) -> bytes:
    """A ZIP archive of names and contents, without times: equal files give equal bytes."""
    from zipfile import ZipFile, ZipInfo

    out = BytesIO()
    with ZipFile(out, "w") as archive:
        for name, content in files:
            entry = ZipInfo(name)
            entry.compress_type = _DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
            cancellation_point()
    return out.getvalue()


def unzipped(builtin: str, data: bytes, names: Names, room: Room) -> list[tuple[str, bytes]]:
    """The files of a ZIP archive. Raises ``RuntimeFault`` if it is not a ZIP archive, and for an entry that must not be
    unpacked.
    """
    from struct import error as StructError
    from zipfile import BadZipFile, LargeZipFile, ZipFile

    _count_entries(builtin, data, names)
    try:
        with ZipFile(BytesIO(data)) as archive:
            entries = archive.infolist()
    except (BadZipFile, LargeZipFile, StructError, ValueError, EOFError, OSError, NotImplementedError, UnicodeError) as error:
        raise RuntimeFault(f"{builtin}: the bytes are no ZIP archive, or a damaged one ({error})") from None
    found: list[tuple[str, bytes]] = []
    free = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        names.count()
        name = _zip_name(entry)
        if (entry.external_attr >> 16) & _KIND not in (0, 0o100000, 0o040000):
            what = "a symbolic link" if (entry.external_attr >> 16) & _KIND == _LINK else "no file"
            raise names.refuse(name, f"is {what}, which is not unpacked")
        # Refuses entries with overlapping data, by which a small archive can unpack to petabytes (ZIP bomb).
        if entry.header_offset < free:
            raise names.refuse(name, "shares its data with another entry")
        if name.endswith("/"):
            names.folder(name)
            free = entry.header_offset + _LOCAL_SIZE
            continue
        path = names.file(name)
        content, free = _zip_content(builtin, data, entry, names, room)
        found.append((path, content))
    return found


def _count_entries(builtin: str, data: bytes, names: Names) -> None:
    """Counts the entries before ``zipfile`` creates a list of them."""
    end = data.rfind(_END, max(0, len(data) - _END_SIZE - _MOST_COMMENT))
    if end < 0 or end + _END_SIZE > len(data):
        raise RuntimeFault(f"{builtin}: the bytes are no ZIP archive")
    size = int.from_bytes(data[end + 12 : end + 16], "little")
    if size == 0xFFFFFFFF:
        raise RuntimeFault(f"{builtin}: ZIP64 archives of such a size are not read", kind="resources")
    if size > end:
        raise RuntimeFault(f"{builtin}: the list of entries of the ZIP archive is damaged")
    names.expect(data.count(_CENTRAL, end - size, end))


def _zip_name(entry: ZipInfo) -> str:
    # The name as it is in the archive: Python cuts names at a NUL and converts the separators of its own system.
    return entry.orig_filename


def _zip_content(builtin: str, data: bytes, entry: ZipInfo, names: Names, room: Room) -> tuple[bytes, int]:
    """The content of a file, and the position at which its data ends."""
    from zlib import crc32

    name = entry.orig_filename
    at = entry.header_offset
    if entry.flag_bits & _ENCRYPTED:
        raise names.refuse(name, "is encrypted")
    if data[at : at + 4] != _LOCAL or at + _LOCAL_SIZE > len(data):
        raise names.refuse(name, "has a damaged header")
    lengths = int.from_bytes(data[at + 26 : at + 28], "little"), int.from_bytes(data[at + 28 : at + 30], "little")
    begin = at + _LOCAL_SIZE + sum(lengths)
    end = begin + entry.compress_size
    if end > len(data):
        raise names.refuse(name, "is cut off")
    if entry.compress_type == _STORED:
        content = data[begin:end]
        room.take(len(content))
    elif entry.compress_type == _DEFLATED:
        content, used = unpacked(builtin, data[begin:end], 0, BARE, room)
        if used != end - begin:
            raise names.refuse(name, "has something behind its data")
    else:
        raise names.refuse(name, "is compressed by another method than deflate")
    if len(content) != entry.file_size or crc32(content) != entry.CRC:
        raise names.refuse(name, "is damaged: its size or checksum is another")
    return content, end


def tar_of(files: Iterable[tuple[str, bytes]]) -> bytes:
    """A tar archive of names and contents, without times and owners: equal files give equal bytes."""
    from tarfile import PAX_FORMAT, TarFile, TarInfo

    out = BytesIO()
    with TarFile(fileobj=out, mode="w", format=PAX_FORMAT) as archive:
        for name, content in files:
            entry = TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, BytesIO(content))
            cancellation_point()
    return out.getvalue()


def untarred(builtin: str, data: bytes, names: Names, room: Room) -> list[tuple[str, bytes]]:
    """The files of a tar archive, which may be compressed by gzip. Raises as :func:`unzipped`."""
    from struct import error as StructError
    from tarfile import TarError, TarFile

    if data[:2] == b"\x1f\x8b":
        data = gunzipped(builtin, data, room)
        counted = True
    else:
        counted = False
    found: list[tuple[str, bytes]] = []
    try:
        with TarFile(fileobj=BytesIO(data), errorlevel=2) as archive:
            for entry in archive:
                cancellation_point()
                names.count()
                if entry.isdir():
                    names.folder(entry.name)
                    continue
                if not entry.isreg() or entry.issparse():
                    raise names.refuse(entry.name, f"is {_tar_kind(entry)}, which is not unpacked")
                if entry.offset_data + entry.size > len(data) or entry.size < 0:
                    raise names.refuse(entry.name, "is cut off")
                path = names.file(entry.name)
                if not counted:  # data from gzip has been counted already
                    room.take(entry.size)
                found.append((path, data[entry.offset_data : entry.offset_data + entry.size]))
    except (TarError, StructError, ValueError, EOFError, OSError, OverflowError, LookupError, RecursionError) as error:
        raise RuntimeFault(f"{builtin}: the bytes are no tar archive, or a damaged one ({error})") from None
    return found


def _tar_kind(entry: TarInfo) -> str:
    if entry.issym():
        return "a symbolic link"
    if entry.islnk():
        return "a hard link"
    return "a sparse file" if entry.isreg() else "no file"
