"""Files and folders. Gates: ``file.read``, ``file.write``, of the normalized path."""

from __future__ import annotations

from errno import EEXIST, ENOTEMPTY

from language.errors import RuntimeFault
from language.host.files import PathLeaves
from language.registry import Family
from language.values import FALSE, TRUE, Secret, to_bool
from language.values.display import raw_text
from language.values.operators import to_index, truthy
from stdlib.options import option_map, whole_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.capabilities.scopes import GrantedPath
    from language.host.files import FileInfo, Files
    from language.runtime.context import Context
    from language.values import Bool

family = Family("files", "Files")

_READ = "file.read"
_WRITE = "file.write"


def no_files(builtin: str) -> str:
    """The error on a host without a file system."""
    return (
        f"{builtin}: this host has no filesystem — pass data in through the program's source/env, or run the program with "
        "the native `lang` binary (or the wasip1 build under wasmtime with --dir)"
    )


class Target:
    """A path for which a builtin has a grant, and the files of the host."""

    __slots__ = ("_builtin", "_capability", "files", "path", "place")

    def __init__(self, ctx: Context, builtin: str, capability: str, path: Any) -> None:
        files = ctx.host.files
        try:
            place = ctx.check_path(capability, raw_text(path))
        except RuntimeFault as fault:
            if files is not None and not files.partial:
                raise
            raise RuntimeFault(f"{fault.message}; {no_files(builtin)}", kind=fault.kind, code=fault.code) from None
        if files is None or (files.partial and capability == _WRITE):
            raise RuntimeFault(no_files(builtin), kind="unsupported")
        self._builtin = builtin
        self._capability = capability
        self.files: Files = files
        self.place: GrantedPath = place
        self.path: str = place.path

    def fault(self, error: OSError, text: str, *, code: str = "") -> RuntimeFault:
        """The error for the program, from an error of the host."""
        if isinstance(error, PathLeaves):
            text = f'Capability not granted: {self._capability}("{self.path}") — {error.strerror}'
            return RuntimeFault(text, kind="capability")
        if self.files.partial:
            return RuntimeFault(no_files(self._builtin), kind="unsupported")
        return RuntimeFault(text, kind="file", code=code)

    def not_found(self, error: OSError) -> RuntimeFault:
        return self.fault(error, f"File not found: {self.path}", code="E0605")

    def cannot(self, act: str, error: OSError) -> RuntimeFault:
        return self.fault(error, f"Cannot {act} {self.path}: {error.strerror or error}")


# ---- reading -----------------------------------------------------------------------------------------------------------


@family.builtin("read_file(path, offset?, limit?)", capability=_READ, context=True)
def read_file(ctx: Context, path: Any, offset: Any = None, limit: Any = None) -> str:
    """The text of a file with its line ends unchanged; bytes that are not UTF-8 become U+FFFD. Needs
    `require file.read("the/path")`.

    With `offset` the result is the lines from that one on (the first is 1), at most `limit`, each with its line end; `""` past
    the end. Lines end at LF. A folder, a device or a pipe is an error.

    `read_file("log.txt", 100, 20)` is lines 100 to 119.
    """
    target = Target(ctx, "read_file", _READ, path)
    if offset is None and limit is None:
        try:
            return target.files.read(target.place).decode("utf-8", "replace")
        except OSError as error:
            raise target.not_found(error) from None
    start = 1 if offset is None else to_index(offset)
    if start < 1:
        raise RuntimeFault("read_file: offset must be >= 1")
    count = None if limit is None else to_index(limit)
    if count is not None and count < 0:
        raise RuntimeFault("read_file: limit must be >= 0")
    try:
        return target.files.read_lines(target.place, start - 1, count).decode("utf-8", "replace")
    except OSError as error:
        raise target.not_found(error) from None


@family.builtin("read_file_bytes(path)", capability=_READ, context=True)
def read_file_bytes(ctx: Context, path: Any) -> bytes:
    """The content of a file as bytes."""
    target = Target(ctx, "read_file_bytes", _READ, path)
    try:
        return target.files.read(target.place)
    except OSError as error:
        raise target.not_found(error) from None


@family.builtin("list_dir(path)", capability=_READ, context=True)
def list_dir(ctx: Context, path: Any) -> list[dict[str, Any]]:
    """The content of a folder: a list of `{name, is_dir, size}`, sorted by name, hidden names included. The size of a folder is
    0.

    The capability must cover the folder itself: `require file.read("data")` for `list_dir("data")`; `data/*` covers only its
    content. A symbolic link that leads out of the granted folder is shown as an empty file.
    """
    target = Target(ctx, "list_dir", _READ, path)
    try:
        entries = target.files.entries(target.place)
    except OSError as error:
        raise target.fault(error, f"Not a directory: {target.path}") from None
    entries.sort(key=_name_of)
    return [{"name": name, "is_dir": to_bool(info.is_folder), "size": info.size} for name, info in entries]


@family.builtin("cwd()", context=True)
def cwd(ctx: Context) -> str:
    """The absolute path of the working directory, in which the command was started and to which relative paths refer."""
    files = ctx.host.files
    if files is None or files.partial:
        raise RuntimeFault(no_files("cwd"), kind="unsupported")
    return files.working_folder()


def _name_of(entry: tuple[str, FileInfo]) -> str:
    return entry[0]


@family.builtin("file_info(path)", capability=_READ, context=True)
def file_info(ctx: Context, path: Any) -> dict[str, Any]:
    """`{exists, is_dir, size, modified}` of a file or folder; `modified` in whole Unix seconds, or `nothing`.

    A path without a file or folder (or with one that may not be accessed) gives `exists` false, never an error.
    """
    info = _known(ctx, "file_info", path)
    if info is None:
        return {"exists": FALSE, "is_dir": FALSE, "size": 0, "modified": None}
    return {"exists": TRUE, "is_dir": to_bool(info.is_folder), "size": info.size, "modified": info.modified}


@family.builtin("file_exists(path)", capability=_READ, context=True)
def file_exists(ctx: Context, path: Any) -> Bool:
    """Whether there is a file or folder of that path."""
    return to_bool(_known(ctx, "file_exists", path))


def _known(ctx: Context, builtin: str, path: Any) -> FileInfo | None:
    target = Target(ctx, builtin, _READ, path)
    try:
        return target.files.info(target.place)
    except PathLeaves as error:
        raise target.not_found(error) from None
    except OSError:
        return None


@family.builtin("grep(target, pattern, opts?)", capability=_READ, context=True)
def grep(ctx: Context, target: Any, pattern: Any, opts: Any = None) -> dict[str, Any]:
    """Searches a file, or all files below a folder: `{matches: [{file, line, col, text}], truncated}`.

    Each line that contains the pattern gives one match, its first; `line` and `col` count from 1, `col` in characters. The
    matches are in the order of the paths, then of the lines. Symbolic links below the folder are not followed, and files that
    cannot be read are skipped. `file.read` of the folder suffices.

    `opts` is a map of:

    - `regex`: `true` for a regular expression (as in `matches`); otherwise the pattern is literal text
    - `ignore_case`: `true` to ignore case
    - `glob`: only files whose name matches this pattern of `*`, `?` and `[...]`
    - `max_results`: the most matches; when there are that many, the search stops and `truncated` is `true`

    `grep("src", "TODO", {"glob": "*.lang"})["matches"]` lists the places.
    """
    options = option_map("grep", opts, ("regex", "ignore_case", "glob", "max_results"))
    start = Target(ctx, "grep", _READ, target)
    wanted = raw_text(pattern)
    if wanted == "":
        raise RuntimeFault("grep: empty pattern")
    most = whole_option("grep", options, "max_results", -1, least=0)
    # Imported here, because a program that only reads a file does not need it.
    from stdlib.line_search import BadPattern, name_filter, search

    try:
        matches, truncated = search(
            start.files.contents(
                start.place,
                name_filter(raw_text(options["glob"]) if "glob" in options else None),
                lambda path: ctx.hides(_READ, path),
            ),
            wanted,
            regex=truthy(options.get("regex")),
            ignore_case=truthy(options.get("ignore_case")),
            most=most if "max_results" in options else None,
        )
    except BadPattern as error:
        raise RuntimeFault(f"grep: invalid regex pattern: {error}", code="E0408") from None
    except OSError as error:
        raise start.fault(error, f"grep: path not found: {start.path}") from None
    return {"matches": matches, "truncated": to_bool(truncated)}


# ---- writing -----------------------------------------------------------------------------------------------------------


@family.builtin("write_file(path, content)", capability=_WRITE, context=True)
def write_file(ctx: Context, path: Any, content: Any) -> Bool:
    """Writes a file and gives `true`. Creates the file and missing folders of its path. Needs `require file.write("the/path")`.

    Bytes are written as they are, anything else as text. The file is replaced atomically: a reader sees the old content or
    the new one, and after a failure the old one is still there. A secret as the content needs `require reveal("NAME")` as
    well.
    """
    target = Target(ctx, "write_file", _WRITE, path)
    data = _octets(ctx, content)
    try:
        target.files.write(target.place, data)
    except OSError as error:
        raise target.cannot("write file", error) from None
    return TRUE


@family.builtin("append_file(path, content)", capability=_WRITE, context=True)
def append_file(ctx: Context, path: Any, content: Any) -> Bool:
    """Appends to a file and gives `true`. Creates the file and missing folders of its path. `content` is as for
    `write_file`.
    """
    target = Target(ctx, "append_file", _WRITE, path)
    data = _octets(ctx, content)
    try:
        target.files.append(target.place, data)
    except OSError as error:
        raise target.cannot("write file", error) from None
    return TRUE


@family.builtin("edit_file(path, old, new, replace_all?)", capability=_WRITE, context=True)
def edit_file(ctx: Context, path: Any, old: Any, new: Any, replace_all: Any = None) -> dict[str, Any]:
    """Replaces the text `old` in a file by `new` and gives `{replaced}`, the number of replacements. Needs only `file.write`.

    `old` is literal text and must occur exactly once, unless `replace_all` is `true`. The rest of the file stays unchanged byte
    for byte. The file is replaced atomically.
    """
    target = Target(ctx, "edit_file", _WRITE, path)
    searched = _octets(ctx, raw_text(old))
    if not searched:
        raise RuntimeFault("edit_file: empty pattern")
    try:
        data = target.files.read(target.place)
    except OSError as error:
        raise target.not_found(error) from None
    count = data.count(searched)
    if count == 0:
        raise RuntimeFault("edit_file: pattern not found")
    if count > 1 and replace_all is not TRUE:
        raise RuntimeFault(f"edit_file: ambiguous, {count} occurrences (use replace_all to replace all)")
    replacement = _octets(ctx, new)
    try:
        target.files.write(target.place, data.replace(searched, replacement))
    except OSError as error:
        raise target.cannot("write file", error) from None
    return {"replaced": count}


@family.builtin("delete_file(path)", capability=_WRITE, context=True)
def delete_file(ctx: Context, path: Any) -> Bool:
    """Deletes a file and gives `true`. Of a symbolic link it deletes the link itself, not its target."""
    target = Target(ctx, "delete_file", _WRITE, path)
    try:
        target.files.remove(target.place)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise target.not_found(error) from None
    except IsADirectoryError:
        raise RuntimeFault(f"{target.path} is a directory: use delete_dir to delete it", kind="file") from None
    except OSError as error:
        raise target.cannot("delete file", error) from None
    return TRUE


@family.builtin("delete_dir(path, opts?)", capability=_WRITE, context=True)
def delete_dir(ctx: Context, path: Any, opts: Any = None) -> Bool:
    """Deletes an empty folder, or with `{"recursive": true}` a folder with its whole content. Gives `true`.

    A recursive deletion needs `file.write` for the folder and for every entry below it, which is checked before the first one
    is deleted. Symbolic links are deleted, not followed.
    """
    options = option_map("delete_dir", opts, ("recursive",))
    target = Target(ctx, "delete_dir", _WRITE, path)
    try:
        below = target.files.below(target.place) if truthy(options.get("recursive")) else []
        for entry in below:
            ctx.check_path(_WRITE, entry.path)
        target.files.remove_folder(target.place, below)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise target.fault(error, f"Not a directory: {target.path}") from None
    except OSError as error:
        if error.errno in (ENOTEMPTY, EEXIST):
            all_of_it = 'delete_dir(path, {"recursive": true}) deletes what is in it as well'
            raise RuntimeFault(f"{target.path} is not empty: {all_of_it}", kind="file") from None
        raise target.cannot("delete folder", error) from None
    return TRUE


def _octets(ctx: Context, content: Any) -> bytes:
    """The bytes to write. The plaintext of a secret is used only where its name is granted, as with ``reveal``."""
    if type(content) is Secret:
        from stdlib.sealing import unsealed

        content = unsealed(ctx, content)
    return content if type(content) is bytes else raw_text(content).encode("utf-8", "replace")
