"""Watching files for changes by polling. Gate: ``file.read`` of the normalized path, checked at the beginning and at each poll.

A poll compares the files with those at the previous poll. It needs no service of the operating system, and misses only files
that were created and deleted between two polls.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.host.files import PathLeaves, TooManyFiles
from language.locks import Lock
from language.registry import Family
from language.values import TRUE, type_of
from language.values.display import raw_text
from language.values.operators import is_decimal, to_float
from stdlib.options import option_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.capabilities.scopes import GrantedPath
    from language.host.files import Files
    from language.runtime.context import Context, Lifetime
    from language.values import Bool

family = Family("file_watches", "Watching files")

_READ = "file.read"
_SECONDS = 30.0
_INTERVAL = 0.5
_LEAST_INTERVAL, _MOST_INTERVAL = 0.05, 3600.0
#: The most files and folders below one watched folder.
MOST_FILES = 100_000

_lock = Lock()
_open: dict[Lifetime, set[FileWatch]] = {}


class FileWatch:
    """The value of ``watch``: a path, and the files at the last poll."""

    __slots__ = ("_ctx", "_found", "_hidden", "_marks", "_wanted", "interval", "path")

    language_type = "watch"

    def __init__(self, ctx: Context, path: str, wanted: Callable[[str], bool], interval: float) -> None:
        self._ctx = ctx
        self._wanted = wanted
        self._hidden: dict[str, bool] = {}
        self._marks: dict[str, object] = {}
        #: changes that were found but not yet returned to the program
        self._found: list[dict[str, Any]] = []
        self.path = path
        self.interval = interval

    def display(self) -> str:
        return f"watch({self.path})"

    def belongs_to(self, ctx: Context) -> bool:
        return self._ctx is ctx

    def take(self, files: Files, place: GrantedPath) -> list[dict[str, Any]]:
        """The changes since the last call, by path. Raises ``OSError``."""
        if not self._found:
            return self._look(files, place)
        found, self._found = self._found, []
        return found

    def has_changes(self, files: Files, place: GrantedPath) -> bool:
        """Whether there are changes, which remain available to :meth:`take`. Raises ``OSError``."""
        if not self._found:
            self._found = self._look(files, place)
        return bool(self._found)

    def _look(self, files: Files, place: GrantedPath) -> list[dict[str, Any]]:
        before, now = self._marks, files.marks(place, self._passed_over, MOST_FILES)
        self._marks = now
        self._hidden = {path: known for path, known in self._hidden.items() if known or path in now}
        changes = {path: "deleted" for path in before if path not in now}
        for path, mark in now.items():
            if path not in before:
                changes[path] = "created"
            elif before[path] != mark:
                changes[path] = "modified"
        found = [path for path in changes if self._wanted(path.rpartition("/")[2])]
        return [{"path": path, "change": changes[path]} for path in sorted(found)]

    def _passed_over(self, path: str) -> bool:
        known = self._hidden.get(path)
        if known is None:
            known = self._hidden[path] = self._ctx.hides(_READ, path)
        return known


@family.builtin("watch(path, opts?)", capability=_READ, context=True)
def watch(ctx: Context, path: Any, opts: Any = None) -> FileWatch:
    """Begins to watch a file, or everything below a folder, for changes; `watch_next` waits for them. Needs
    `require file.read("the/path")`.

    The path need not exist yet. Symbolic links below a folder are not followed; at most 100,000 files and folders are watched.

    `opts` is a map of:

    - `glob`: only files and folders whose name matches this pattern of `*`, `?` and `[...]`
    - `interval`: seconds between two polls, 0.05 to 3600 (0.5)

    A watch ends with `watch_close`, and at the end of the run, handler or job that began it. It cannot be used in another one
    or in a worker. A process has at most 64 watches, or as many as `PLATFORM_WATCH_MAX` says.
    """
    files = _files(ctx, "watch")
    options = option_map("watch", opts, ("glob", "interval"))
    from stdlib.line_search import name_filter

    made = FileWatch(
        ctx,
        "",
        name_filter(raw_text(options["glob"]) if "glob" in options else None),
        _number("watch", 'option "interval"', options.get("interval"), _INTERVAL, _LEAST_INTERVAL, _MOST_INTERVAL),
    )
    place = ctx.check_path(_READ, raw_text(path))
    made.path = place.path
    lifetime = ctx.lifetime
    with _lock:
        most = files.most_watches(ctx.warn_once)
        if sum(map(len, _open.values())) >= most:
            raise RuntimeFault(
                f"watch: {most} watches are open, which is as many as there can be: close some", kind="resources"
            )
        if lifetime not in _open:
            lifetime.at_end(lambda: _end_all(lifetime))
        _open.setdefault(lifetime, set()).add(made)
    begun = False
    try:
        _look(made, files, place, "watch")
        begun = True
    finally:
        if not begun:
            _end(ctx, made)
    return made


@family.builtin("watch_next(watch, timeout?)", capability=_READ, context=True)
def watch_next(ctx: Context, watch: Any, timeout: Any = None) -> list[dict[str, Any]]:
    """Waits for changes and gives those since the last call: a list of `{path, change}`, sorted by path, where `change` is
    `created`, `modified` or `deleted`. The list is empty when there was no change within `timeout` seconds (30; 0 checks once).

    A folder is never reported as `modified`. Several writes between two polls are one change, and a file that is still being
    written may be reported again.
    """
    files = _files(ctx, "watch_next")
    if type(watch) is not FileWatch:
        raise RuntimeFault(f"watch_next expects a watch, got {type_of(watch)}", kind="type")
    place = _usable(ctx, "watch_next", watch)
    host = ctx.host
    end = host.monotonic() + _number("watch_next", "timeout", timeout, _SECONDS, 0.0, float("inf"))
    while True:
        changes = _look(watch, files, place, "watch_next")
        left = end - host.monotonic()
        if changes or left <= 0:
            return changes
        host.sleep(min(left, watch.interval))


@family.builtin("watch_close(watch)", context=True)
def watch_close(ctx: Context, watch: Any) -> Bool:
    """Ends a watch and gives `true`; ending it twice is not an error."""
    _files(ctx, "watch_close")
    if type(watch) is not FileWatch:
        raise RuntimeFault(f"watch_close expects a watch, got {type_of(watch)}", kind="type")
    if not watch.belongs_to(ctx):
        raise RuntimeFault("watch_close: a watch does not cross into workers, agents or handlers: end it where it began")
    _end(ctx, watch)
    return TRUE


def _end(ctx: Context, watch: FileWatch) -> None:
    with _lock:
        _open.get(ctx.lifetime, set()).discard(watch)


def _end_all(lifetime: Lifetime) -> None:
    with _lock:
        _open.pop(lifetime, None)


def _look(watch: FileWatch, files: Files, place: GrantedPath, builtin: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _told(watch, builtin, lambda: watch.take(files, place))
    return found


def looker(ctx: Context, builtin: str, watch: FileWatch) -> Callable[[], bool]:
    """A function that checks whether something has changed, which ``watch_next`` then returns. Both this and the returned
    function raise ``RuntimeFault``.
    """
    files = _files(ctx, builtin)
    place = _usable(ctx, builtin, watch)
    return lambda: bool(_told(watch, builtin, lambda: watch.has_changes(files, place)))


def _usable(ctx: Context, builtin: str, watch: FileWatch) -> GrantedPath:
    place = ctx.check_path(_READ, watch.path)
    if not watch.belongs_to(ctx):
        raise RuntimeFault(f"{builtin}: a watch does not cross into workers, agents or handlers: begin one there")
    if watch not in _open.get(ctx.lifetime, ()):
        raise RuntimeFault(f"{builtin}: the watch is closed")
    return place


def _told(watch: FileWatch, builtin: str, act: Callable[[], Any]) -> Any:
    try:
        return act()
    except PathLeaves as error:
        raise RuntimeFault(f'Capability not granted: file.read("{watch.path}") — {error.strerror}', kind="capability") from None
    except TooManyFiles:
        raise RuntimeFault(f"{builtin}: there are more than {MOST_FILES} files and folders below {watch.path}") from None
    except OSError as error:
        raise RuntimeFault(f"{builtin}: cannot look at {watch.path}: {error.strerror or error}", kind="file") from None


def _files(ctx: Context, builtin: str) -> Files:
    """The files of the host. Raises ``RuntimeFault`` in a build without access to the operating system, before anything else is
    checked.
    """
    files = ctx.host.files
    if files is None or files.partial or ctx.host.processes is None:
        raise RuntimeFault(
            f"{builtin}: not available in the wasm profile — this build has no child processes "
            "(run the program with the native `lang` binary)",
            kind="unsupported",
        )
    return files


def _number(builtin: str, what: str, value: Any, default: float, least: float, most: float) -> float:
    """A number of seconds within its bounds. Raises ``RuntimeFault`` that names it."""
    if value is None:
        return default
    if type(value) is not int and type(value) is not float and not is_decimal(value):
        raise RuntimeFault(f"{builtin}: {what} must be a number of seconds, got {type_of(value)}", kind="type")
    seconds: float = value.to_float() if is_decimal(value) else to_float(value)
    if not least <= seconds <= most:
        bounds = f"from {least:g}" if most == float("inf") else f"from {least:g} to {most:g}"
        raise RuntimeFault(f"{builtin}: {what} must be a number of seconds {bounds}")
    return seconds
