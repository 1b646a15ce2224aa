"""What another version of a program declares more, less, wider and narrower, as lines for a person."""

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
    """What the watched programs declare, so that a change of it is told before the changed program runs.

    A program that does not pass the check is compared again when it does, with what it declared last.
    """

    def __init__(self, command: str, files: Callable[[], Iterable[str]]) -> None:
        """``command`` names the command in errors; ``files`` gives the paths of the programs at each look."""
        self._command = command
        self._files = files
        self._known: dict[str, Manifest] = {}

    def look(self) -> None:
        """Reads the programs anew and writes to standard error in what they differ from the last look."""
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
            except UsageError:  # it has gone, or is no text just now: the run itself says so
                continue
            if not manifest.errors:
                yield path, manifest
