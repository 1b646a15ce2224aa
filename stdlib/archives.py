"""Archives: ZIP, tar, gzip. In memory they are pure; files are read and written through ``file.read`` and ``file.write``."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import Secret, as_map, type_of
from language.values.display import raw_text
from stdlib.native_only import native_only
from stdlib.options import option_map, whole_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.host.archives import Names
    from language.host.compressed import Room
    from language.runtime.context import Context

family = Family("archives", "Archives")

_READ = "file.read"
_WRITE = "file.write"
_LIMITS = ("max_bytes", "max_entries", "max_ratio")
_MOST_BYTES = 1 << 28
_MOST_ENTRIES = 10_000
_MOST_RATIO = 200
_LEVEL = 6


@family.builtin("zip_create(files)", capability=_READ, profile="native", context=True)
def zip_create(ctx: Context, files: Any) -> bytes:
    """A ZIP archive as bytes: of a map from names to contents (text or bytes), or, given a path, of everything below a folder
    or of one file.

    Names in a map use `/` between folders and must not lead out of the archive. A path needs `require file.read("the/path")`;
    symbolic links below a folder are left out. A map needs no capability. Equal contents give equal bytes, because no times are
    stored.

    `write_file("notes.zip", zip_create("notes"))`
    """
    _need_zlib("zip_create")
    from language.host.archives import zip_of

    return zip_of(_sources(ctx, "zip_create", files))


@family.builtin("zip_extract(archive, folder?, opts?)", capability=_READ, profile="native", context=True)
def zip_extract(ctx: Context, archive: Any, folder: Any = None, opts: Any = None) -> Any:
    """The files of a ZIP archive (its bytes, or its path, which needs `file.read`). Without `folder` the result is a map from
    names to bytes. With `folder` the files are written below it, which needs `file.write` for each, and the result is the list
    of their paths.

    The whole archive is read and every name checked before the first file is written. These are errors: a name that is absolute
    or contains a drive letter, a backslash or `..`; a link or device; two names of the same file, even if they differ only in
    case; entries that share data; an encrypted or damaged entry. Empty folders are not created.

    `opts` is a map of limits: `max_bytes`, the unpacked bytes in total (268,435,456), `max_entries` (10,000), and `max_ratio`
    of unpacked to packed size (200; applies above 1 MiB). Archives inside archives are not unpacked.

    `zip_extract("upload.zip", "inbox", {"max_bytes": 1000000})`
    """
    _need_zlib("zip_extract")
    from language.host.archives import unzipped

    return _extracted(ctx, "zip_extract", unzipped, archive, folder, opts)


@family.builtin("tar_create(files)", capability=_READ, profile="native", context=True)
def tar_create(ctx: Context, files: Any) -> bytes:
    """A tar archive as bytes, from the same arguments as `zip_create`. It is not compressed:
    `gzip_compress(tar_create("notes"))` is a `.tar.gz`.

    No times, owners and permissions are kept.
    """
    _need_zlib("tar_create")
    from language.host.archives import tar_of

    return tar_of(_sources(ctx, "tar_create", files))


@family.builtin("tar_extract(archive, folder?, opts?)", capability=_READ, profile="native", context=True)
def tar_extract(ctx: Context, archive: Any, folder: Any = None, opts: Any = None) -> Any:
    """The files of a tar archive, which may be compressed by gzip. Arguments, result, errors and limits are those of
    `zip_extract`.

    `tar_extract(gzip_compress(tar_create({"a.txt": "x"})))` is `{a.txt: bytes(78)}`.
    """
    _need_zlib("tar_extract")
    from language.host.archives import untarred

    return _extracted(ctx, "tar_extract", untarred, archive, folder, opts)


@family.builtin("gzip_compress(data, level?)", profile="native")
def gzip_compress(data: Any, level: Any = None) -> bytes:
    """The gzip form of bytes, or of a text as UTF-8; `level` from 0 (stored) to 9 (smallest), 6 unless given. The header has no
    name and no time, so equal data gives equal bytes.

    `gzip_compress("")` has 20 bytes.
    """
    _need_zlib("gzip_compress")
    from language.host.compressed import GZIP, packed
    from stdlib.options import whole

    strength = _LEVEL if level is None else whole(level)
    if strength is None or not 0 <= strength <= 9:
        raise RuntimeFault("gzip_compress: level must be an integer from 0 to 9")
    return packed(_octets("gzip_compress", data), strength, GZIP)


@family.builtin("gzip_decompress(data, opts?)", profile="native")
def gzip_decompress(data: Any, opts: Any = None) -> bytes:
    """The decompressed bytes of gzip data, all its members concatenated. Data that is not gzip, damaged or truncated is an
    error.

    `opts` is a map of limits: `max_bytes` (268,435,456) and `max_ratio` (200; applies above 1 MiB).

    `decode(gzip_decompress(gzip_compress("text")))` is `text`.
    """
    _need_zlib("gzip_decompress")
    from language.host.compressed import gunzipped

    if data.__class__ is not bytes:
        raise RuntimeFault(f"gzip_decompress expects bytes, got {type_of(data)}", kind="type")
    options = option_map("gzip_decompress", opts, ("max_bytes", "max_ratio"))
    return gunzipped("gzip_decompress", data, _room("gzip_decompress", len(data), options))


# --- parts ------------------------------------------------------------------------------------------------------------------


def _need_zlib(builtin: str) -> None:
    try:
        __import__("zlib")
    except ImportError:
        raise native_only(builtin, "this build has no compression") from None


def _room(builtin: str, size: int, options: dict[str, Any]) -> Room:
    from language.host.compressed import Room

    return Room(
        builtin,
        size,
        whole_option(builtin, options, "max_bytes", _MOST_BYTES, 0, 1 << 40),
        whole_option(builtin, options, "max_ratio", _MOST_RATIO, 1, 1 << 20),
    )


def _sources(ctx: Context, builtin: str, files: Any) -> list[tuple[str, bytes]]:
    """Names and contents, from a map or from the file or folder at a path."""
    from language.host.archives import Names

    names = Names(builtin, 65_535)
    given = as_map(files)
    found: list[tuple[str, bytes]] = []
    if given is not None:
        for name, content in given.items():
            names.count()
            found.append((names.file(name), _octets(builtin, content)))
        return found
    if type(files) is not str:
        raise RuntimeFault(f"{builtin} expects a map of contents or a path, got {type_of(files)}", kind="type")
    from language.values.allowance import refuse_beyond
    from stdlib.files import Target

    target = Target(ctx, builtin, _READ, files)
    start = "" if target.path == "." else target.path.rstrip("/") + "/"
    size = 0
    try:
        for path, content in target.files.contents(target.place, lambda _: True, lambda path: ctx.hides(_READ, path)):
            name = path.rpartition("/")[2] if path == target.path else path.removeprefix(start)
            names.count()
            size += len(content)
            refuse_beyond(2 * size)
            found.append((names.file(name), content))
    except OSError as error:
        raise target.fault(error, f"{builtin}: path not found: {target.path}") from None
    return found


def _extracted(
    ctx: Context,
    builtin: str,
    read: Callable[[str, bytes, Names, Room], list[tuple[str, bytes]]],
    archive: Any,
    folder: Any,
    opts: Any,
) -> Any:
    from language.host.archives import Names
    from stdlib.files import Target

    options = option_map(builtin, opts, _LIMITS)
    data = archive
    if type(archive) is str:
        source = Target(ctx, builtin, _READ, archive)
        try:
            data = source.files.read(source.place)
        except OSError as error:
            raise source.not_found(error) from None
    elif archive.__class__ is not bytes:
        raise RuntimeFault(f"{builtin} expects bytes or a path, got {type_of(archive)}", kind="type")
    names = Names(builtin, whole_option(builtin, options, "max_entries", _MOST_ENTRIES, 0, 65_535))
    files = read(builtin, data, names, _room(builtin, len(data), options))
    if folder is None:
        return dict(files)
    start = raw_text(folder).rstrip("/") or ("/" if raw_text(folder) else ".")
    targets = [(Target(ctx, builtin, _WRITE, f"{start.rstrip('/')}/{name}"), content) for name, content in files]
    for target, content in targets:
        try:
            target.files.write(target.place, content)
        except OSError as error:
            raise target.cannot("write file", error) from None
    return [target.path for target, _ in targets]


def _octets(builtin: str, content: Any) -> bytes:
    if content.__class__ is bytes:
        return content
    if type(content) is Secret:
        raise RuntimeFault(f"{builtin}: a secret stays sealed: it is not written into an archive", kind="type")
    if type(content) is not str:
        raise RuntimeFault(f"{builtin} expects text or bytes, got {type_of(content)}", kind="type")
    return content.encode("utf-8", "replace")
