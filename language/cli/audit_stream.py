"""Where audit records go as JSON lines: ``--audit``, ``PLATFORM_AUDIT_FILE``, ``PLATFORM_AUDIT``; and the chain through them.

A chained line carries ``seq``, counted from 1, and ``prev``, the SHA-256 of the line before as it was written, without its line
end (64 zeros for the first). Who holds the last line can thus tell whether any before it was changed or taken out.
"""

from __future__ import annotations

import json
import os
from _thread import allocate_lock
from hashlib import sha256
from stat import S_ISREG

from language.audit.chain import START, AuditLink
from language.cli.arguments import UsageError, clean
from language.cli.streams import OutputLost, err, write_all
from language.runtime.operation import operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from language.cli.arguments import Arguments

    class Destination(Protocol):
        """Takes lines. ``path`` is the real path of its file, ``None`` when it has none."""

        path: str | None

        def write(self, line_after: Callable[[AuditLink | None], bytes]) -> None:
            """Writes the line that follows a link, ``None`` for that of the line written last. Raises ``OSError``."""


_encode = json.JSONEncoder(ensure_ascii=False).encode
#: Of records that hold characters which act on a terminal, or are not seen on it.
_encode_visibly = json.JSONEncoder(ensure_ascii=True).encode
#: Bytes read back to find the last line of a file: a record is far shorter.
TAIL_BYTES = 64 * 1024


class AuditStream:
    """One run's records, as they are made, each line written at once; the counts of the summary."""

    def __init__(self, destination: Destination, *, chained: bool) -> None:
        self._destination = destination
        self._link: AuditLink | None = START if chained else None
        self._lock = allocate_lock()
        self._granted = self._denied = 0
        self._lost = False

    @property
    def path(self) -> str | None:
        """The real path of the file that is written, if it is one."""
        return self._destination.path

    def record(self, record: dict[str, Any], context: str, source: str | None) -> None:
        """Writes one record; the listener of an ``Audit``."""
        found, file, line = operation()
        if source == "ambient":
            file = line = None
        with self._lock:
            if record["granted"]:
                self._granted += 1
            else:
                self._denied += 1
            self._write({**record, "context": context, "source": source or found, "file": file, "line": line})

    def around(self, body: Callable[[], int]) -> int:
        """Runs ``body`` and writes the summary with its exit code, however it ends."""
        exit_code = 70
        try:
            exit_code = body()
        except UsageError:
            exit_code = 2
            raise
        except KeyboardInterrupt:
            exit_code = 130
            raise
        except OutputLost as lost:
            exit_code = 141 if lost.closed else 1
            raise
        finally:
            with self._lock:
                self._write({"summary": {"granted": self._granted, "denied": self._denied, "exit": exit_code}})
        return exit_code

    def _write(self, entry: dict[str, Any]) -> None:
        def line_after(link: AuditLink | None) -> bytes:
            if self._link is None:
                return _encoded(entry)
            seq, prev = self._link if link is None else link
            line = _encoded({**entry, "seq": seq + 1, "prev": prev})
            self._link = AuditLink(seq + 1, sha256(line[:-1]).hexdigest())
            return line

        try:
            self._destination.write(line_after)
        except OSError as error:
            if not self._lost:
                self._lost = True
                err(f"[lang] notice: the audit stream cannot be written: {error.strerror}")


def _encoded(entry: dict[str, Any]) -> bytes:
    line = _encode(entry)
    return ((line if line.isprintable() else _encode_visibly(entry)) + "\n").encode("utf-8", "replace")


class _Descriptor:
    """An open descriptor: standard error, one that was handed over, a file of this run's own, a socket."""

    def __init__(self, descriptor: int, path: str | None = None) -> None:
        self._descriptor = descriptor
        self.path = path

    def write(self, line_after: Callable[[AuditLink | None], bytes]) -> None:
        write_all(self._descriptor, line_after(None))


class _AppendedFile:
    """A file that others may rotate, and other processes append to."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._descriptor = self._open()
        self.path: str | None = os.path.realpath(name)
        self._size = -1  # behind our own last line; another one means that there are lines we do not know

    def write(self, line_after: Callable[[AuditLink | None], bytes]) -> None:
        lock = _file_lock()
        while True:
            if self._moved():
                os.close(self._descriptor)
                self._descriptor = self._open()
                # A file that is empty goes on with the chain of the one before.
                self._size = 0 if self._size >= 0 else -1
            lock(self._descriptor, True)
            if not self._moved():
                break
            lock(self._descriptor, False)
        try:
            size = os.fstat(self._descriptor).st_size
            link, complete = (None, True) if size == self._size else self._last_link(size)
            line = line_after(link)
            write_all(self._descriptor, line if complete else b"\n" + line)
            self._size = os.fstat(self._descriptor).st_size
        finally:
            lock(self._descriptor, False)

    def _open(self) -> int:
        return os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)

    def _moved(self) -> bool:
        """Whether the name points elsewhere by now."""
        try:
            named = os.stat(self._name)
        except FileNotFoundError:
            return True
        ours = os.fstat(self._descriptor)
        return (named.st_dev, named.st_ino) != (ours.st_dev, ours.st_ino)

    def _last_link(self, size: int) -> tuple[AuditLink | None, bool]:
        """What the next line follows, and whether the last line is complete."""
        if size == 0:
            if self._size >= 0:
                return None, True
            before = self._name + ".1"  # rotated while nobody ran
            if not os.path.exists(before):
                return START, True
            with open(before, "rb") as file:
                return _link_of_tail(file.fileno())[0], True
        return _link_of_tail(self._descriptor)


def _link_of_tail(descriptor: int) -> tuple[AuditLink, bool]:
    """The link after the last line of a file, and whether that line is complete."""
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, TAIL_BYTES, max(0, size - TAIL_BYTES))
    complete = tail.endswith(b"\n")
    lines = tail.removesuffix(b"\n").split(b"\n")
    seq = 0
    try:
        entry = json.loads(lines[-1])
        if isinstance(entry, dict) and type(entry.get("seq")) is int:
            seq = entry["seq"]
    except ValueError:
        pass  # not ours, or cut off: verification names it
    return AuditLink(seq, sha256(lines[-1]).hexdigest() if lines[-1] else START.sha256), complete


def _file_lock() -> Callable[[int, bool], None]:
    """Locks or unlocks a file among the processes that append to it."""
    try:
        from fcntl import LOCK_EX, LOCK_UN, flock
    except ImportError:  # no such locks on this system: appending is whole lines all the same
        return lambda descriptor, locked: None
    return lambda descriptor, locked: flock(descriptor, LOCK_EX if locked else LOCK_UN)


# ---- which destination -------------------------------------------------------------------------------------------------


def opened(arguments: Arguments) -> AuditStream | None:
    """The stream that the flag, ``PLATFORM_AUDIT_FILE`` or ``PLATFORM_AUDIT`` names, the first of them; ``None`` without.

    Raises ``UsageError`` for one that cannot be opened.
    """
    chained = arguments.given("--audit-chain")
    named = arguments.values.get("--audit")
    appended = os.environ.get("PLATFORM_AUDIT_FILE", "")
    try:
        if named is not None:
            return AuditStream(_destination(named, "--audit"), chained=chained)
        if appended:
            named = appended
            return AuditStream(_AppendedFile(appended), chained=chained)
        named = os.environ.get("PLATFORM_AUDIT", "")
        if named:
            return AuditStream(_destination(named, "PLATFORM_AUDIT"), chained=chained)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            arguments.command, f"cannot open the audit destination '{clean(named or '')}': {reason}", usage=False
        ) from None
    if chained:
        raise UsageError(arguments.command, "--audit-chain needs a destination: --audit or PLATFORM_AUDIT_FILE")
    return None


def _destination(named: str, said_by: str) -> Destination:
    if named == "json":
        return _Descriptor(2)
    scheme, colon, rest = named.partition(":")
    if colon and scheme == "fd":
        if not (rest.isascii() and rest.isdigit()) or len(rest) > 9 or int(rest) < 3:
            raise ValueError(f"{said_by} takes fd:N with N from 3")
        descriptor = int(rest)
        os.fstat(descriptor)
        os.set_inheritable(descriptor, False)
        return _Descriptor(descriptor)
    if colon and scheme == "unix":
        return _Descriptor(_connected(rest))
    descriptor = os.open(named, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o600)
    if S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)
    return _Descriptor(descriptor, os.path.realpath(named))


def _connected(path: str) -> int:
    import socket

    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
        return connection.detach()
    finally:
        connection.close()
