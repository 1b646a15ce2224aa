"""Where audit records go as JSON lines: ``--audit``, ``PLATFORM_AUDIT_FILE``, ``PLATFORM_AUDIT``.

The processes of a service share a destination, and so the chain through its lines (``language.audit.chain``). Each writes only
only while it holds a lock that the others see, and continues the chain from the line that is last at that time, whichever
process wrote it.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from stat import S_ISREG
from weakref import WeakSet

from language.audit.chain import START, AuditLink, encoded
from language.audit.uses import Uses
from language.cli.arguments import UsageError, clean
from language.cli.streams import OutputLost, err, write_all
from language.locks import Lock
from language.runtime.operation import operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.audit.records import Place
    from language.cli.arguments import Arguments

    #: Makes a line from the link of the line before it. Returns the bytes of the line, with its line end, and its own link.
    NextLine = Callable[[AuditLink], tuple[bytes, AuditLink]]

#: Bytes read first from the end of a file to find its last line; for a longer line more is read.
TAIL_BYTES = 64 * 1024


class AuditStream:
    """Writes the records of one run, each line at once, and counts them for the summary."""

    def __init__(self, destination: Destination, *, chained: bool) -> None:
        self._destination = destination
        self._chained = chained
        self._lock = Lock()
        self._granted = self._denied = 0
        self._lost = False
        #: what the programs of the run declare and do, for the summary
        self.uses = Uses()
        _streams.add(self)

    @property
    def path(self) -> str | None:
        """The real path of the file that is written; ``None`` for another destination."""
        return self._destination.path

    def record(self, record: dict[str, Any], context: str, source: str | None, place: Place | None = None) -> None:
        """Writes one record; the listener of an ``Audit``. Without ``place`` it is where the calling thread stands."""
        found, file, line = operation()
        if place is not None:
            file, line = place
        if source == "ambient":
            file = line = None
        with self._lock:
            if record["granted"]:
                self._granted += 1
            else:
                self._denied += 1
            self._write({**record, "context": context, "source": source or found, "file": file, "line": line})

    @staticmethod
    def place() -> Place:
        """The file and line of the program that the calling thread runs."""
        return operation()[1:]

    def around(self, body: Callable[[], int]) -> int:
        """Runs ``body`` and then writes the summary with its exit code, also after an exception."""
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
                summary: dict[str, Any] = {"granted": self._granted, "denied": self._denied, "exit": exit_code}
                self._write({"summary": {**summary, **self.uses.beside_declared()}})
        return exit_code

    def _write(self, entry: dict[str, Any]) -> None:
        def following(link: AuditLink) -> tuple[bytes, AuditLink]:
            if not self._chained:
                return encoded(entry) + b"\n", link
            line = encoded({**entry, "seq": link.seq + 1, "prev": link.sha256})
            return line + b"\n", AuditLink(link.seq + 1, sha256(line).hexdigest())

        try:
            self._destination.write(following)
        except OSError as error:
            if not self._lost:
                self._lost = True
                err(f"[lang] notice: the audit stream cannot be written: {error.strerror}")

    def before_fork(self) -> None:
        # Held over the fork, so that the child inherits neither a half-written line nor a lock held by a thread that does not
        # exist there.
        self._lock.acquire()
        self._destination.before_fork()

    def after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._destination.in_child()
            self._granted = self._denied = 0
        self.uses.give_up()  # other processes grant capabilities, too
        self._lock.release()


class Destination:
    """Where lines are written. ``path`` is the real path of its file, ``None`` if it is not a file."""

    path: str | None = None

    def write(self, following: NextLine) -> None:
        """Writes the line that follows the last one. Raises ``OSError``."""
        raise NotImplementedError

    def before_fork(self) -> None:
        """Called before a fork: another process will write to this destination, too."""

    def in_child(self) -> None:
        """Called in the forked process."""


class _Descriptor(Destination):
    """An open descriptor: standard error, one that was inherited, a file of this run, a socket."""

    def __init__(self, descriptor: int, path: str | None = None) -> None:
        self._descriptor = descriptor
        self.path = path
        self._link = START
        self._shared: _SharedLink | None = None

    def write(self, following: NextLine) -> None:
        shared = self._shared
        if shared is None:
            line, self._link = following(self._link)
            write_all(self._descriptor, line)
            return
        shared.lock()
        try:
            line, link = following(shared.read())
            shared.write(link)
            write_all(self._descriptor, line)
        finally:
            shared.unlock()

    def before_fork(self) -> None:
        if self._shared is None:
            self._shared = _SharedLink(self._link)


class _SharedLink:
    """The last link, shared by all processes of a service, and the lock that a process holds while it writes a line.

    The lock belongs to the process and not, as that of ``flock``, to the open file, which forked processes share.
    """

    _SIZE = 20 + 64

    def __init__(self, link: AuditLink) -> None:
        try:
            self._descriptor = os.memfd_create("audit")
        except (AttributeError, OSError):
            from tempfile import TemporaryFile

            with TemporaryFile() as file:
                self._descriptor = os.dup(file.fileno())
        self.write(link)

    def lock(self) -> None:
        from fcntl import LOCK_EX, lockf

        lockf(self._descriptor, LOCK_EX)

    def unlock(self) -> None:
        from fcntl import LOCK_UN, lockf

        lockf(self._descriptor, LOCK_UN)

    def read(self) -> AuditLink:
        text = os.pread(self._descriptor, self._SIZE, 0).decode("ascii")
        return AuditLink(int(text[:20]), text[20:])

    def write(self, link: AuditLink) -> None:
        os.pwrite(self._descriptor, f"{link.seq:020d}{link.sha256}".encode("ascii"), 0)


class _AppendedFile(Destination):
    """A file that others may rotate, and other processes append to."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._descriptor = self._open()
        self.path = os.path.realpath(name)
        #: link of the last line that this process knows, which ends at ``_size``; a different size of the file means that
        #: another process has appended lines
        self._link = START
        self._size = -1
        self._shared: _SharedLink | None = None

    def write(self, following: NextLine) -> None:
        shared = self._shared
        if shared is None:
            self._append(following)
            return
        shared.lock()
        try:
            # If the file was rotated more than once since this process last wrote, only the shared link names the last line.
            self._link = max(self._link, shared.read())
            self._append(following)
            shared.write(self._link)
        finally:
            shared.unlock()

    def _append(self, following: NextLine) -> None:
        lock = _file_lock()
        while True:
            if self._moved():
                self._follow(lock)
            lock(self._descriptor, True)
            if not self._moved():
                break
            lock(self._descriptor, False)
        try:
            size = os.fstat(self._descriptor).st_size
            link, complete = (self._link, True) if size and size == self._size else self._last_link(size)
            line, made = following(link)
            write_all(self._descriptor, line if complete else b"\n" + line)
            self._link, self._size = made, os.fstat(self._descriptor).st_size
        finally:
            lock(self._descriptor, False)

    def before_fork(self) -> None:
        if self._shared is None:
            self._shared = _SharedLink(self._link)

    def in_child(self) -> None:
        # A lock belongs to the open file, which both processes share after a fork.
        os.close(self._descriptor)
        self._descriptor = self._open()

    def _open(self) -> int:
        return os.open(self._name, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)

    def _moved(self) -> bool:
        """Whether the name now belongs to another file."""
        try:
            named = os.stat(self._name)
        except FileNotFoundError:
            return True
        ours = os.fstat(self._descriptor)
        return (named.st_dev, named.st_ino) != (ours.st_dev, ours.st_ino)

    def _follow(self, lock: Callable[[int, bool], None]) -> None:
        """Opens the file of that name. Its chain continues that of the former file, to which other processes may have added."""
        lock(self._descriptor, True)
        try:
            if os.fstat(self._descriptor).st_size:
                self._link = max(self._link, _link_of_tail(self._descriptor)[0])
        finally:
            lock(self._descriptor, False)
        os.close(self._descriptor)
        self._descriptor = self._open()
        self._size = -1

    def _last_link(self, size: int) -> tuple[AuditLink, bool]:
        """The link that the next line follows, and whether the last line is complete."""
        if size:
            return _link_of_tail(self._descriptor)
        try:
            with open(self._name + ".1", "rb") as before:  # rotated since this process last wrote
                return max(self._link, _link_of_tail(before.fileno())[0]), True
        except FileNotFoundError:
            return self._link, True


def _link_of_tail(descriptor: int) -> tuple[AuditLink, bool]:
    """The link after the last line of a file, and whether that line is complete."""
    size = os.fstat(descriptor).st_size
    looked = TAIL_BYTES
    while True:
        tail = os.pread(descriptor, min(looked, size), max(0, size - looked))
        complete = tail.endswith(b"\n")
        before, _, last = tail.removesuffix(b"\n").rpartition(b"\n")
        if before or looked >= size:
            break
        looked *= 4
    seq = 0
    try:
        entry = json.loads(last)
        if isinstance(entry, dict) and type(entry.get("seq")) is int:
            seq = entry["seq"]
    except (ValueError, RecursionError):
        pass  # not a chained line, or cut off: `lang audit verify` reports it
    return AuditLink(seq, sha256(last).hexdigest() if last else START.sha256), complete


def _file_lock() -> Callable[[int, bool], None]:
    """Locks or unlocks a file among the processes that append to it."""
    try:
        from fcntl import LOCK_EX, LOCK_UN, flock
    except ImportError:  # no such locks on this system; each append is still one whole line
        return lambda descriptor, locked: None
    return lambda descriptor, locked: flock(descriptor, LOCK_EX if locked else LOCK_UN)


_streams: WeakSet[AuditStream] = WeakSet()
_forking: list[AuditStream] = []
_one_fork = Lock()


def _before_fork() -> None:
    _one_fork.acquire()
    _forking[:] = _streams
    for stream in _forking:
        stream.before_fork()


def _after_fork(*, in_child: bool) -> None:
    for stream in _forking:
        stream.after_fork(in_child=in_child)
    _forking.clear()
    _one_fork.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(in_child=False),
        after_in_child=lambda: _after_fork(in_child=True),
    )


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
