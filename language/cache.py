"""The cache of compiled programs on disk, so that a start imports neither the parser nor the compiler.

An entry is trusted code: whoever can write one can run any code as the user of the cache. The cache lies in
``$XDG_CACHE_HOME/lang``, else ``~/.cache/lang``. It is used only when that folder belongs to the user with no access for
others, and nobody else can replace a folder or a link on the path to it. Each entry is opened without following links and
its owner is checked again. An entry that fails a check is ignored, and the program compiled as if there were no cache.
``PLATFORM_CACHE=off`` turns the cache off.

An entry is found by a hash of everything that determines its content: the source, the compile mode, the versions of language
and Python. It holds all of that in full, so that a hash collision cannot matter, and a checksum, because damaged code
crashes the interpreter.

An entry: ``MAGIC``, 16 bytes checksum of the rest, the lengths of key and source, key, source, compiled program.
"""

from __future__ import annotations

import os
import sys
from stat import S_ISDIR, S_ISLNK, S_ISREG, S_ISVTX

from language.release import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.code import Code

MAGIC = b"lang program 1\n\0"
HEADER = len(MAGIC) + 16 + 8
SUFFIX = ".program"

#: The largest size of the whole folder and of one entry; the least recently used entries are removed first.
MOST_BYTES = 64 * 1024 * 1024
MOST_ENTRIES = 4096
LARGEST_ENTRY = 8 * 1024 * 1024

DAY = 86_400
MOST_LINKS = 16
WRITABLE_BY_OTHERS = 0o022
OPEN_TO_OTHERS = 0o077


def compile_cached(source: bytes, filename: str, *, test: bool = False, module: bool = False) -> Code:
    """The compiled program of a source: from the cache, else compiled and stored there.

    ``filename`` is the name shown in errors; it is not part of the entry. Raises ``UnicodeDecodeError`` for a source that is
    not UTF-8, ``LexerError`` and ``ParseError`` for one that does not parse.
    """
    from language.code import Code

    mode = "test" if test else "module" if module else "run"
    stored = load(source, mode)
    if stored is not None:
        return Code.load(stored, filename)
    from language.compiler.compilation import compile_source
    from language.syntax.lexer import decode_source

    code = compile_source(decode_source(source), filename, test=test, module=module)
    store(source, mode, code.dump())
    return code.named(filename)


def load(source: bytes, mode: str) -> bytes | None:
    """The stored program of this source and mode, or ``None``."""
    folder = open_folder(location())
    if folder is None:
        return None
    key = key_parts(mode)
    try:
        return _read_entry(folder, entry_name(key, source), key, source)
    except OSError:
        return None
    finally:
        os.close(folder)


def store(source: bytes, mode: str, compiled: bytes) -> None:
    """Stores a program. A cache that cannot be written is no error."""
    key = key_parts(mode)
    body = len(key).to_bytes(4, "little") + len(source).to_bytes(4, "little") + key + source + compiled
    if len(body) > LARGEST_ENTRY:
        return
    path = location()
    if path is None:
        return
    try:
        make_folders(path)
    except OSError:
        return
    folder = open_folder(path)
    if folder is None:
        return
    try:
        write_whole(folder, entry_name(key, source), MAGIC + checksum(body) + body)
        _evict(folder)
    except OSError:
        return
    finally:
        os.close(folder)


def location() -> str | None:
    """The path of the cache folder; ``None`` when the cache is turned off, or where files have no owner that could be
    checked.
    """
    environ = os.environ
    if environ.get("PLATFORM_CACHE") == "off" or not hasattr(os, "geteuid") or os.geteuid() != os.getuid():
        return None
    base = environ.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):
        home = environ.get("HOME", "")
        if not home.startswith("/"):
            return None
        base = home + "/.cache"
    return base.rstrip("/") + "/lang"


def key_parts(mode: str) -> bytes:
    """Everything except the source that determines the compiled program."""
    columns = next(iter(location.__code__.co_positions()))[2] is not None  # missing under PYTHONNODEBUGRANGES
    parts = (__version__, _stamp(), mode, sys.implementation.cache_tag, sys.hexversion, sys.flags.optimize, columns)
    return "\n".join(map(str, parts)).encode()


_stamps: list[int] = []


def _stamp() -> int:
    """A number that changes when the installed files do: the same version may be reinstalled, or be a working checkout.

    It is made from sizes and times: of all files in a checkout, else of one file, because an installation changes them
    together.
    """
    if not _stamps:
        here = os.path.dirname(__file__)
        parent = os.path.dirname(here)
        total = 0
        try:
            if os.path.lexists(parent + "/pyproject.toml"):
                for folder in (here, here + "/syntax", here + "/compiler", here + "/runtime", parent + "/stdlib"):
                    with os.scandir(folder) as entries:
                        for entry in entries:
                            if entry.name.endswith((".py", ".lark")):
                                info = entry.stat()
                                total += info.st_mtime_ns + info.st_size * 31
            else:
                info = os.stat(__file__)
                total = info.st_mtime_ns + info.st_size * 31
        except OSError:
            pass  # files inside of a zip archive have none: there the version must suffice
        _stamps.append(total)
    return _stamps[0]


def _hash(data: bytes) -> bytes:
    # The hash that CPython uses for its own compiled files. It is not cryptographic and need not be: the folder is private, and
    # an entry is compared in full. It is built in, while hashlib would be imported.
    from _imp import source_hash

    return source_hash(0, data) + source_hash(1, data)


def checksum(body: bytes) -> bytes:
    """A checksum of 16 bytes over the body of an entry."""
    return _hash(body)


def entry_name(key: bytes, source: bytes) -> str:
    return _hash(key + b"\0" + source).hex() + SUFFIX


def open_folder(path: str | None) -> int | None:
    """A file descriptor of a trusted folder: only the user can change it and the path to it. ``None`` otherwise."""
    if path is None:
        return None
    try:
        real = trusted_path(path)
        if real is None:
            return None
        folder = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    info = os.fstat(folder)
    if info.st_uid != os.geteuid() or info.st_mode & OPEN_TO_OTHERS:
        os.close(folder)
        return None
    return folder


def trusted_path(path: str) -> str | None:
    """The real path of a folder that only its user and root can replace; ``None`` if anybody else could.

    Every folder of the path, and every link followed, must belong to the user or root. Others must not be able to write in
    any of the folders, unless it has the sticky bit (``/tmp``), which keeps them from replacing the files of others. Raises
    ``OSError`` when there is no such folder.
    """
    owners = (0, os.geteuid())
    pending = path.split("/")[::-1]
    links = 0
    step = ""
    while pending:
        part = pending.pop()
        if part in ("", "."):
            continue
        if part == "..":
            step = step.rpartition("/")[0]  # the part before it has no symbolic links any more
            continue
        entry = f"{step}/{part}"
        info = os.lstat(entry)
        mode = info.st_mode
        if info.st_uid not in owners:
            return None
        if S_ISLNK(mode):
            links += 1
            if links > MOST_LINKS:
                return None
            target = os.readlink(entry)
            if target.startswith("/"):
                step = ""
            pending.extend(target.split("/")[::-1])
            continue
        if not S_ISDIR(mode) or (mode & WRITABLE_BY_OTHERS and not mode & S_ISVTX):
            return None
        step = entry
    return step


def make_folders(path: str) -> None:
    """Makes a folder and those of its path, accessible for the user only. Does nothing where the path is not trusted."""
    missing = []
    while path and not os.path.lexists(path):
        missing.append(path)
        path = path.rpartition("/")[0]
    if missing and trusted_path(path) is not None:
        for folder in reversed(missing):
            os.mkdir(folder, 0o700)


def _read_entry(folder: int, name: str, key: bytes, source: bytes) -> bytes | None:
    # O_NONBLOCK: opening a named pipe put in its place would wait for a writer for ever.
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        info = os.fstat(descriptor)
        if not S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & WRITABLE_BY_OTHERS:
            return None
        if not HEADER < info.st_size <= LARGEST_ENTRY + HEADER:
            return None
        data = os.read(descriptor, info.st_size + 1)
        _mark_used(descriptor, info.st_mtime)
    finally:
        os.close(descriptor)
    start = HEADER + len(key) + len(source)
    if (
        len(data) != info.st_size
        or not data.startswith(MAGIC)
        or int.from_bytes(data[HEADER - 8 : HEADER - 4], "little") != len(key)
        or int.from_bytes(data[HEADER - 4 : HEADER], "little") != len(source)
        or data[HEADER:start] != key + source
        or checksum(data[HEADER - 8 :]) != data[len(MAGIC) : HEADER - 8]
    ):
        return None
    return data[start:]


def _mark_used(descriptor: int, modified: float) -> None:
    import time

    if time.time() - modified > DAY:
        from contextlib import suppress

        with suppress(OSError):  # a cache on a read-only file system can still be read
            os.utime(descriptor)


def write_whole(folder: int, name: str, data: bytes, *, sync: bool = False) -> None:
    """Writes a temporary file and renames it: a reader sees the old file, no file, or the complete new one.

    With ``sync`` that also holds after a loss of power. Raises ``OSError``.
    """
    temporary = f"{name}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(temporary, dir_fd=folder)
        raise


def _evict(folder: int) -> None:
    """Removes the least recently used entries until the folder is well below its limits, and files left by interrupted
    writers.
    """
    import time

    entries = []
    total = 0
    now = time.time()
    with os.scandir(folder) as listing:
        for entry in listing:
            info = entry.stat(follow_symlinks=False)
            if S_ISDIR(info.st_mode):
                continue
            if not entry.name.endswith(SUFFIX):
                if now - info.st_mtime > DAY:
                    os.unlink(entry.name, dir_fd=folder)
                continue
            entries.append((info.st_mtime, info.st_size, entry.name))
            total += info.st_size
    if total <= MOST_BYTES and len(entries) <= MOST_ENTRIES:
        return
    entries.sort()
    count = len(entries)
    for _, size, name in entries:
        if total <= MOST_BYTES * 3 // 4 and count <= MOST_ENTRIES * 3 // 4:
            return
        os.unlink(name, dir_fd=folder)
        total -= size
        count -= 1
