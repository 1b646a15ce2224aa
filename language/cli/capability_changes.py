"""The capabilities that another version of a program adds, removes, widens and narrows, as lines for a person."""

from __future__ import annotations

from language.analysis.comparison import Comparison, compare
from language.analysis.manifest import Manifest
from language.capabilities import Capability
from language.cli.arguments import UsageError, clean
from language.cli.manifest_files import read_manifest
from language.cli.streams import err
from language.console_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def shown(capability: Capability) -> str:
    """A capability as a ``require`` line spells it, without the word."""
    return capability.require_line.removeprefix("require ")


def change_lines(difference: Comparison) -> Iterator[str]:
    """One line for each capability in which two versions differ, as ``lang caps --diff`` shows it."""
    surplus = {str(capability) for capability in difference.uncovered}
    for capability in difference.added:
        note = "" if str(capability) in surplus else " (held already)"
        yield f"added: {shown(capability)}{note}"
    for capability in difference.removed:
        yield f"removed: {shown(capability)}"
    for was, now in difference.widened:
        yield f"widened: {shown(was)} -> {shown(now)}"
    for was, now in difference.narrowed:
        yield f"narrowed: {shown(was)} -> {shown(now)}"


class WatchedManifests:
    """The capabilities that watched programs declare, to report a change of them before the changed program runs.

    A program with errors is compared when they are corrected, with what it declared before them.
    """

    def __init__(self, command: str, files: Callable[[], Iterable[str]]) -> None:
        """``command`` names the command in errors; ``files`` returns the paths of the programs."""
        self._command = command
        self._files = files
        self._known: dict[str, Manifest] = {}

    def look(self) -> None:
        """Reads the programs again and prints to standard error how their capabilities changed since the last call."""
        for path, manifest in self._readable():
            before = self._known.get(path)
            self._known[path] = manifest
            if before is not None:
                for line in change_lines(compare(before, manifest)):
                    err(one_line(f"[lang] {clean(path)}: capability {line}"))

    def _readable(self) -> Iterator[tuple[str, Manifest]]:
        try:
            paths = tuple(self._files())
        except UsageError:
            return
        for path in paths:
            try:
                manifest = read_manifest(path, self._command)
            except UsageError:  # it is gone or not text: the run reports that
                continue
            if not manifest.errors:
                yield path, manifest
