"""``lang run --learn``: allows capabilities that a program does not declare, and prints the ``require`` lines it needs.

An explicit ceiling, ``sandbox`` and ``call_tool`` still limit the program. Capabilities that permit more than one run shows
(commands, plain text of secrets, patterns) are still refused, and listed for a person to decide.
"""

from __future__ import annotations

import os

from language.capabilities import Capability, text_literal
from language.capabilities.grants import NO_GRANT
from language.cli.arguments import UsageError, clean
from language.cli.streams import err
from language.host.regular_file import open_regular
from language.runtime.operation import operation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from language.audit.records import Place
    from language.audit.uses import Uses
    from language.cli.arguments import Arguments
    from language.cli.audit_stream import AuditStream
    from language.cli.source import Source

#: Never granted by ``--learn``: one use does not show how much a grant would permit.
DECIDE = frozenset({"exec", "reveal", "secret", "sandbox_run", "spend", "sign", "wallet"})

#: From this many files with computed names in one folder, the folder is proposed instead.
FILES_OF_A_FOLDER = 3

QUESTION = (
    "lang: --learn lets this program do more than it declares: read and write files, use the network and databases, "
    "read the environment. Run it? [y/N] "
)

Key = tuple[str, str | None]


class Lesson:
    """What one run needed beyond its grants. It is an audit stream and forwards each record to the stream of ``--audit``."""

    def __init__(self, source: Source, stream: AuditStream | None) -> None:
        self._source = source
        self._stream = stream
        #: granted and refused capabilities, each with the places (operation, file, line) that needed it
        self._learned: dict[Key, dict[tuple[str, str, int], None]] = {}
        self._to_decide: dict[Key, dict[tuple[str, str, int], None]] = {}

    @property
    def path(self) -> str | None:
        return None if self._stream is None else self._stream.path

    @property
    def uses(self) -> Uses | None:
        return None if self._stream is None else self._stream.uses

    def grants(self, capability: Capability) -> bool:
        """Whether a request that no grant covers is allowed."""
        scope = capability.scope
        key = capability.name, scope
        if capability.name in DECIDE or (scope is not None and ("*" in scope or "?" in scope)):
            self._to_decide.setdefault(key, {})
            return False
        self._learned.setdefault(key, {})
        return True

    def place(self) -> Place:
        """The file and line of the program that the calling thread runs."""
        return operation()[1:]

    def record(self, record: dict[str, Any], context: str, source: str | None, place: Place | None = None) -> None:
        """Notes the place of a decision; the listener of an ``Audit``."""
        key = record["capability"], record["scope"]
        places = self._learned.get(key) if record["granted"] else None
        if not record["granted"] and record["why"] == NO_GRANT:
            places = self._to_decide.get(key)
        if places is not None:
            found, file, line = operation()
            if file is not None and line is not None:
                places[source or found, file, line] = None
        if self._stream is not None:
            self._stream.record(record, context, source, place)

    def report(self) -> list[str]:
        """The sorted lines to add, each with its places and the origin of its scope; then those for a person to decide on."""
        literal = {key: self._is_literal(key, places) for key, places in [*self._learned.items(), *self._to_decide.items()]}
        lines = [_line(key, places, literal, members) for key, places, members in _merged(self._learned, literal)]
        decide = [_line(key, places, literal, [key]) for key, places in sorted(self._to_decide.items(), key=_order)]
        if decide:
            lines += ["-- decide yourself:", *(f"-- {line}" for line in decide)]
        return lines

    def _is_literal(self, key: Key, places: Iterable[tuple[str, str, int]]) -> bool:
        """Whether the scope is written literally in the source at every place that needed it."""
        found = False
        for source, file, line in places:
            if key not in _literals(self._text(file), key[0], source, line):
                return False
            found = True
        return found

    def _text(self, file: str) -> str:
        if file == self._source.name:
            return self._source.data.decode("utf-8", "replace")
        try:
            with open(open_regular(file), encoding="utf-8", errors="replace") as opened:
                return opened.read()
        except OSError:
            return ""


def _literals(text: str, name: str, source: str, line: int) -> set[Key]:
    """The canonical scopes of the literal texts on a line, or in a call that spans it."""
    from language.errors import LanguageError
    from language.syntax import nodes
    from language.syntax.parser import parse
    from language.syntax.walk import descend

    try:
        program = parse(text, "")
    except LanguageError:
        return set()
    found: set[Key] = set()
    for node in descend(program):
        if isinstance(node, nodes.Text) and node.span[0] == line:
            found.add(_canonical(name, node.value))
        if not (isinstance(node, nodes.Call) and isinstance(node.func, nodes.Name) and node.func.id + "()" == source):
            continue
        if node.span[0] <= line <= node.span[2]:
            texts = (part for argument in node.args for part in descend(argument) if isinstance(part, nodes.Text))
            found.update(_canonical(name, part.value) for part in texts)
    return found


def _canonical(name: str, text: str) -> Key:
    from language.capabilities.scopes import db_target, net_target, normal_path
    from language.errors import RuntimeFault

    try:
        if name == "net":
            return name, net_target(text, "").scope
        if name == "db":
            return name, db_target(text).scope
        return name, normal_path(text) if name.startswith("file") else text
    except RuntimeFault:
        return name, text


def _merged(
    learned: dict[Key, dict[tuple[str, str, int], None]], literal: dict[Key, bool]
) -> list[tuple[Key, dict[tuple[str, str, int], None], list[Key]]]:
    """The proposed lines. Files are merged into their folder and ports into their host at most, never into a wildcard."""
    groups: dict[Key, list[Key]] = {}
    for key in learned:
        groups.setdefault(_wider(key, literal[key]), []).append(key)
    lines = []
    for wide, members in groups.items():
        enough = FILES_OF_A_FOLDER if wide[0].startswith("file") else 2
        for merged, keys in [(wide, members)] if len(members) >= enough else [(key, [key]) for key in members]:
            places: dict[tuple[str, str, int], None] = {}
            for key in keys:
                places.update(learned[key])
            lines.append((merged, places, keys))
    return sorted(lines, key=_order)


def _wider(key: Key, literal: bool) -> Key:
    name, scope = key
    if scope is None or literal:
        return key
    if name.startswith("file"):
        folder = scope.rpartition("/")[0]
        # Not the folder of the program itself nor the root: either would permit about as much as a wildcard.
        return (name, folder + "/*") if folder and not folder.endswith("..") else key
    if name == "net":
        host, colon, port = scope.rpartition(":")
        return (name, host.strip("[]")) if colon and port.isdigit() and (":" not in host or host.startswith("[")) else key
    return key


def _order(item: tuple[Any, ...]) -> tuple[str, str]:
    return item[0][0], item[0][1] or ""


def _line(key: Key, places: Iterable[tuple[str, str, int]], literal: dict[Key, bool], members: list[Key]) -> str:
    where = ", ".join(f"{source} at {file}:{line}" for source, file, line in places) or "unknown place"
    name, scope = key
    if scope is None:
        return f"require {name}  -- {where}"
    line = f"require {name}({text_literal(scope)})  -- {where}"
    origin = "scope stands in the source" if all(literal[member] for member in members) else "scope computed from data"
    return f"{line}; {origin}" + (f" ({len(members)} scopes)" if len(members) > 1 else "")


# ---- the command -------------------------------------------------------------------------------------------------------


def begin(arguments: Arguments, source: Source, stream: AuditStream | None) -> Lesson | None:
    """Asks for confirmation; ``None`` if the answer is no. Raises ``UsageError`` if there is no terminal to ask at."""
    if "--format" in arguments.values:
        raise UsageError("run", "--learn and --format are mutually exclusive; choose one")
    target = arguments.values.get("--write")
    if target is not None and os.path.exists(target) and (target.endswith(".lang") or _is_same(target, arguments.paths[0])):
        raise UsageError(
            "run", f"--write: '{clean(target)}' is a program, which --learn never changes: name another file", usage=False
        )
    if not arguments.given("--yes"):
        from language.cli.terminal import Terminal

        if source.from_stdin or not Terminal.is_there():
            raise UsageError("run", "--learn asks for confirmation: run it at a terminal, or add --yes", usage=False)
        if (Terminal().ask(QUESTION) or "").strip().lower() not in ("y", "yes"):
            return None
    return Lesson(source, stream)


def _is_same(path: str, program: str) -> bool:
    return os.path.exists(program) and os.path.samefile(path, program)


def end(lesson: Lesson, arguments: Arguments) -> None:
    """Prints the lines that the program needs, and writes them to the file of ``--write``."""
    lines = lesson.report()
    if not lines:
        err("[lang] notice: the program declares all that it needed")
    else:
        err("[lang] notice: the program needed these lines:")
        for line in lines:
            err(line)
    target = arguments.values.get("--write")
    if target is not None:
        try:
            with open(target, "w", encoding="utf-8") as file:
                file.writelines(line + "\n" for line in lines)
        except OSError as error:
            err(f"lang run: cannot write '{clean(target)}': {error.strerror}")
