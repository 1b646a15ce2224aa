"""Static mounts: files of a folder as replies, with validators, ranges and compressed copies (docs/serve.md)."""

from __future__ import annotations

import os
import time

from language.serve.byte_cache import Copies
from language.serve.compression import encode_file, is_compressible, negotiate
from language.serve.conditional import FIELDS, UnusableRange, byte_range, entity_tag, named_tag, unchanged_since, version_of
from language.serve.media_types import media_type
from language.serve.reply import FileReply, Reply
from language.serve.static_paths import at_file, names_of, open_again, segments_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from language.serve.request import Request

#: Files up to this many bytes are sent from memory, larger ones from their descriptor.
SMALL = 64 * 1024
#: Larger files are not compressed, because compressed copies are made in memory.
LARGEST_COMPRESSED = 16 * 1024 * 1024
COPIES_BYTES = 64 * 1024 * 1024

_CODINGS = ("", "br", "gzip")
_WATCHED = FIELDS | {"accept-encoding"}
#: Ranges are defined for GET only (RFC 9110 section 14.2); HEAD describes the whole file.
_OF_GET_ALONE = frozenset({"range", "if-range"})
#: A file that was changed this recently may change again with the same times, so its content is not cached.
_SETTLED_NS = 2_000_000_000


def resolve_directory(text: str, entry_folder: str | None, working_folder: str) -> str:
    """The folder that a ``static`` clause names: relative to the folder of the entry file if it exists there, else to the
    working folder. A program without an entry file uses the working folder.
    """
    if entry_folder is not None:
        beside = os.path.join(entry_folder, text)
        if os.path.isdir(beside):
            return beside
    return os.path.join(working_folder, text)


def cache_control(spec: str | int) -> str:
    """The ``Cache-Control`` of a ``cache`` clause. Raises ``ValueError`` with the message for a start that fails."""
    if spec == "immutable":
        return "public, max-age=31536000, immutable"
    if spec == "no-store":
        return "no-store"
    digits = str(spec).strip()
    unit = {"s": 1, "m": 60, "h": 3600, "d": 86400}.get(digits[-1:], 0)
    if unit:
        digits = digits[:-1]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10):
        raise ValueError(
            'static cache must be "immutable", "no-store", a number of seconds or one with a unit ("30s", "10m", "2h", "7d"), '
            f"got {spec!r}"
        )
    return f"public, max-age={int(digits) * (unit or 1)}"


class StaticMount:
    """One ``static`` clause.

    ``prefix`` is the path it answers below, ``directory`` a resolved folder (:func:`resolve_directory`), ``written`` the path
    in the source, for errors; ``cache`` and ``fallback`` are those of the clause. Raises ``ValueError`` with the message for a
    start that fails. A missing folder is not an error, because it may be created later: ``is_missing`` reports it.
    """

    __slots__ = ("cache_control", "fallback", "is_missing", "prefix", "root", "segments")

    def __init__(
        self,
        prefix: str,
        directory: str,
        cache: str | int | None = None,
        fallback: str | None = None,
        *,
        written: str | None = None,
    ) -> None:
        if not prefix.startswith("/"):
            raise ValueError(f"static prefix must start with '/', got '{prefix}'")
        self.segments = segments_of(prefix)
        self.prefix = "/" + "/".join(self.segments)
        self.root = os.path.realpath(directory)
        self.is_missing = not os.path.isdir(self.root)
        self.cache_control = None if cache is None else cache_control(cache)
        self.fallback: list[str] | None = None
        if fallback is not None:
            names = segments_of(os.path.normpath(fallback))
            if ".." in names or "\0" in fallback or at_file(self.root, names, lambda *_: True) is None:
                shown = directory if written is None else written
                raise ValueError(
                    f"static fallback '{fallback}' not found in '{shown}' — the fallback file must exist when the server starts"
                )
            self.fallback = names


class StaticMounts:
    """The static mounts of one table, the longest prefix first. Raises ``ValueError`` if two have the same.

    ``denied(path, status)`` returns whether a file, given by its real path, must never be sent; it then counts as missing.
    """

    def __init__(
        self,
        mounts: Sequence[StaticMount],
        *,
        copies_bytes: int = COPIES_BYTES,
        denied: Callable[[str, os.stat_result], bool] | None = None,
    ) -> None:
        prefixes = set()
        for mount in mounts:
            if mount.prefix in prefixes:
                raise ValueError(
                    f"two static mounts at the same prefix '{mount.prefix}'; mount each at a distinct prefix "
                    '(e.g. static "/assets" from "./assets")'
                )
            prefixes.add(mount.prefix)
        self._mounts = sorted(mounts, key=lambda mount: -len(mount.segments))
        self._copies = Copies(copies_bytes)
        self._denied = denied

    def find(self, request: Request, is_declared: Callable[[str], bool] | None = None) -> Reply | None:
        """The reply to a ``GET`` or ``HEAD`` of a file; ``None`` if no mount has it.

        Routes compare a path as it was sent. If its normal form, decoded and without ``..``, is different, ``is_declared`` is
        called with that; if a route answers it, no file does.
        """
        if request.method not in ("GET", "HEAD"):
            return None
        segments = segments_of(request.path)
        for mount in self._mounts:
            depth = len(mount.segments)
            if segments[:depth] != mount.segments:
                continue
            names = names_of(segments[depth:])
            if names is None:
                continue
            plain = mount.segments + names
            if is_declared is not None and plain != segments and is_declared("/" + "/".join(plain)):
                continue
            reply = self._reply(mount, names, request, own=".." not in segments)
            if reply is not None:
                return reply
        return None

    def holds(self, path: str) -> bool:
        """Whether a mount has a file for the path, which a ``GET`` would be answered with."""
        segments, denied = segments_of(path), self._denied

        def act(folder: int | None, name: str, status: os.stat_result, real: str) -> Reply | None:
            return None if denied is not None and denied(real, status) else _HELD

        for mount in self._mounts:
            depth = len(mount.segments)
            names = names_of(segments[depth:]) if segments[:depth] == mount.segments else None
            if names is not None and at_file(mount.root, names, act) is not None:
                return True
        return False

    def fallback(self, request: Request) -> Reply | None:
        """The reply to a ``GET`` or ``HEAD`` that nothing else answers: the fallback file of a mount. Mounts with longer
        prefixes are tried first.
        """
        if request.method not in ("GET", "HEAD"):
            return None
        segments = segments_of(request.path)
        for mount in self._mounts:
            if mount.fallback is not None and segments[: len(mount.segments)] == mount.segments:
                reply = self._reply(mount, mount.fallback, request)
                if reply is not None:
                    return reply
        return None

    def _reply(self, mount: StaticMount, names: Sequence[str], request: Request, *, own: bool = False) -> Reply | None:
        """The reply with a file. Where ``own`` says that the path is in its normal form, the page of a folder is sent to the
        path with a slash at its end: without it, relative links of the page would lead beside the folder.
        """
        asked: dict[str, str] = {}
        for name, value in request.fields:
            if name in _WATCHED and (request.method == "GET" or name not in _OF_GET_ALONE):
                asked[name] = f"{asked[name]}, {value}" if name in asked else value

        denied = self._denied

        def act(folder: int | None, name: str, status: os.stat_result, path: str) -> Reply | None:
            if denied is not None and denied(path, status):
                return None
            if own and name == _INDEX and _is_folder(mount, names, request):
                return _to_folder(request)
            answer = _Answer(mount, name, path, status, asked)
            reply = answer.without_content()
            if reply is None:
                reply = self._from_memory(answer)
            if reply is None:
                descriptor, status = open_again(folder, name)
                reply = self._with_content(_Answer(mount, name, path, status, asked), descriptor)
            return reply

        return at_file(mount.root, names, act)

    def _from_memory(self, answer: _Answer) -> Reply | None:
        if not answer.fits_memory:
            return None
        content = self._copies.get(answer.key)
        return None if content is None else answer.sized(content)

    def _with_content(self, answer: _Answer, descriptor: int) -> Reply:
        """The reply from an open file. Its status is read again, because the file may have been replaced."""
        keeps = False
        try:
            reply = answer.without_content()
            if reply is None and answer.fits_memory:
                content = self._copies.made(answer.key, lambda: _content(answer, descriptor), keep=answer.is_settled)
                if content is not None:
                    reply = answer.sized(content)
            if reply is None:
                reply = answer.from_descriptor(descriptor)
                keeps = True
            return reply
        finally:
            if not keeps:
                os.close(descriptor)


_HELD = Reply(200)
_INDEX = "index.html"


def _is_folder(mount: StaticMount, names: Sequence[str], request: Request) -> bool:
    """Whether the path is that of a folder and lacks its slash."""
    if request.path.endswith("/") or not request.path or list(names[-1:]) == [_INDEX]:
        return False
    return os.path.isdir(os.path.join(mount.root, *names))


def _to_folder(request: Request) -> Reply:
    """The redirect to the same path with a slash at its end: relative, so that it holds behind a proxy that cuts off a prefix,
    and leads to no other host whatever the path is.
    """
    last = request.path.rpartition("/")[2]
    query = f"?{request.query_text}" if request.query_text else ""
    return Reply(308, None, b"", [("Location", f"./{last}/{query}")])


class _Answer:
    """The part of a reply that follows from the request and the status of a file, without its content."""

    __slots__ = ("_asked", "_mount", "_range", "_status", "_varies", "_version", "coding", "content_type", "key", "size")

    def __init__(self, mount: StaticMount, name: str, path: str, status: os.stat_result, asked: dict[str, str]) -> None:
        self._mount = mount
        self._status = status
        self._asked = asked
        self._version = version_of(status)
        self.size = status.st_size
        self.content_type = media_type(name)
        self._varies = is_compressible(self.content_type)
        self._range = self._asked_range()
        self.coding = ""
        if self._varies and self._range is None and self.size <= LARGEST_COMPRESSED:
            self.coding = negotiate(asked.get("accept-encoding"))
        self.key = (path, status.st_ino, self.size, status.st_mtime_ns, status.st_ctime_ns, self.coding)

    @property
    def fits_memory(self) -> bool:
        return self.coding != "" or self.size <= SMALL

    @property
    def is_settled(self) -> bool:
        """Whether any later change of the file is certain to change its times."""
        return self._status.st_ctime_ns + _SETTLED_NS < time.time_ns()

    def is_of(self, status: os.stat_result) -> bool:
        """Whether the content is unchanged. The time of the last status change is not compared: it also changes if another file
        replaces this one.
        """
        return (status.st_size, status.st_mtime_ns) == (self.size, self._status.st_mtime_ns)

    def without_content(self) -> Reply | None:
        """The reply without content: 304, 412 or 416, in the order of RFC 9110 section 13.2.2; else ``None``."""
        asked = self._asked
        if asked.keys().isdisjoint(FIELDS):
            return None
        own = self._tag(self.coding)
        tags = (own, *(tag for tag in map(self._tag, _CODINGS) if tag != own))
        if "if-match" in asked:
            if named_tag(asked["if-match"], tags, weakly=False) is None:
                return self._refused(412, "precondition failed")
        elif "if-unmodified-since" in asked and self._is_unchanged_since("if-unmodified-since") is False:
            return self._refused(412, "precondition failed")
        if "if-none-match" in asked:
            tag = named_tag(asked["if-none-match"], tags, weakly=True)
            if tag is not None:
                return Reply(304, None, b"", self._headers(tag))
        elif "if-modified-since" in asked and self._has_date and self._is_unchanged_since("if-modified-since"):
            return Reply(304, None, b"", self._headers(own))
        if self._range == (0, 0):
            return self._refused(416, "range not satisfiable", ("Content-Range", f"bytes */{self.size}"))
        return None

    def sized(self, content: bytes) -> Reply:
        """The reply with the content of the file, or with its compressed form."""
        headers = self._headers(self._tag(self.coding))
        if self.coding:
            headers.append(("Content-Encoding", self.coding))
        if self._range is None:
            return Reply(200, self.content_type, content, headers, compressible=False)
        start, length = self._range
        headers.append(self._content_range())
        return Reply(206, self.content_type, content[start : start + length], headers, compressible=False)

    def from_descriptor(self, descriptor: int) -> FileReply:
        """The reply that sends the file as it is, from an open descriptor."""
        headers = self._headers(self._tag(""))
        if self._range is None:
            return FileReply(200, self.content_type, headers, descriptor, 0, self.size)
        start, length = self._range
        headers.append(self._content_range())
        return FileReply(206, self.content_type, headers, descriptor, start, length)

    def _asked_range(self) -> tuple[int, int] | None:
        """Start and length of the range to send, ``None`` for the whole, ``(0, 0)`` for one that cannot be sent."""
        field = self._asked.get("range")
        if field is None:
            return None
        condition = self._asked.get("if-range")
        if condition is not None and condition != self._tag("") and not (self._has_date and condition == self._modified_date()):
            return None
        try:
            return byte_range(field, self.size)
        except UnusableRange:
            return (0, 0)

    def _content_range(self) -> tuple[str, str]:
        start, length = self._range or (0, self.size)
        return ("Content-Range", f"bytes {start}-{start + length - 1}/{self.size}")

    def _headers(self, tag: str) -> list[tuple[str, str]]:
        headers = [("ETag", tag)]
        if self._has_date:
            headers.append(("Last-Modified", self._modified_date()))
        headers.append(("Accept-Ranges", "bytes"))
        if self._mount.cache_control is not None:
            headers.append(("Cache-Control", self._mount.cache_control))
        if self._varies:
            headers.append(("Vary", "Accept-Encoding"))
        return headers

    def _refused(self, code: int, message: str, *headers: tuple[str, str]) -> Reply:
        body = f'{{"error": "{message}", "status": {code}}}'.encode()
        return Reply(code, "application/json", body, list(headers))

    def _tag(self, coding: str) -> str:
        return entity_tag(self._version, coding)

    @property
    def _has_date(self) -> bool:
        """Whether a date in whole seconds identifies the content. In the second of a change the file may change again."""
        return self._status.st_mtime_ns + _SETTLED_NS < time.time_ns()

    @property
    def _modified(self) -> int:
        return self._status.st_mtime_ns // 1_000_000_000

    def _modified_date(self) -> str:
        return http_date(self._modified)

    def _is_unchanged_since(self, field: str) -> bool | None:
        return unchanged_since(self._asked[field], self._modified, self._modified_date())


def http_date(second: int) -> str:
    """A Unix time in the form of ``Last-Modified`` (RFC 9110 section 5.6.7)."""
    known = _dates.get(second)
    if known is None:
        moment = min(max(second, 0), _LAST_SECOND)
        year, month, day, hour, minute, seconds, weekday, _, _ = time.gmtime(moment)
        known = f"{_DAYS[weekday]}, {day:02} {_MONTHS[month - 1]} {year:04} {hour:02}:{minute:02}:{seconds:02} GMT"
        if len(_dates) >= _DATES:
            _dates.clear()
        _dates[second] = known
    return known


_dates: dict[int, str] = {}
_DATES = 4096
_LAST_SECOND = 253_402_300_799  # the end of the year 9999
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _content(answer: _Answer, descriptor: int) -> bytes | None:
    """The content of a file in the coding of the answer; ``None`` if it changed while it was read."""
    pieces = []
    left = answer.size
    while left:
        piece = os.read(descriptor, left)
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    if left or not answer.is_of(os.fstat(descriptor)):
        os.lseek(descriptor, 0, os.SEEK_SET)
        return None
    content = b"".join(pieces)
    return encode_file(content, answer.coding) if answer.coding else content
