"""Resolves commands to files, and decides which scopes of ``exec`` cover them.

A scope without ``/`` is a name, or a pattern for names, of commands that are looked up in ``PATH``. A scope with ``/`` is
the path of a file, or a pattern for such paths. Commands and scopes with ``/`` are compared as absolute paths without
symbolic links and ``..``. A wildcard never matches a ``/``. The file that was compared is the one that must be started.
"""

from __future__ import annotations

import os

from language.capabilities import Capability, glob, text_literal
from language.capabilities.scopes import FOLDING, real_path
from language.errors import RuntimeFault

_WILDCARDS = ("*", "?")
#: Of a command with more words or characters no help is made.
MOST_SHOWN = 20
LONGEST_SHOWN = 100


class AskedCommand(Capability):
    """The request for a command, resolved once.

    ``asked`` is the text of the program, which refusals show. ``located`` is the real path of the file to start, ``None`` if no
    folder of ``PATH`` has a command of this name. ``scope``, which is recorded, is the bare name, or for a path ``located``.
    """

    __slots__ = ("asked",)

    def __init__(self, asked: str) -> None:
        file = find(asked)
        super().__init__("exec", asked if is_bare(asked) else file, file)
        self.asked = asked

    def __str__(self) -> str:
        return str(Capability("exec", self.asked))

    @property
    def written(self) -> str:
        return Capability("exec", self.asked).written


def is_bare(text: str) -> bool:
    """Whether a command or a scope is a name to be looked up in ``PATH`` and not a path."""
    return "/" not in text and (os.sep == "/" or os.sep not in text)


def find(command: str) -> str | None:
    """The real path of a command's file; ``None`` for a bare name that is not found.

    Empty and relative folders of ``PATH`` are skipped: they would depend on the program's working folder. Raises
    ``RuntimeFault`` for a path that contains a NUL or cannot be resolved.
    """
    if not is_bare(command):
        _refuse_nul(command)
        return real_path(command)
    if command and "\0" not in command:
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
            path = os.path.join(folder, command)
            if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
                return real_path(path)
    return None


def located_scope(scope: str) -> str | None:
    """The absolute path, or pattern for paths, of a scope. Symbolic links are resolved up to the first segment with a wildcard.

    ``None`` for a pattern of bare names, and for a name that is not found. Raises as :func:`find`.
    """
    if is_bare(scope):
        return None if any(wildcard in scope for wildcard in _WILDCARDS) else find(scope)
    _refuse_nul(scope)
    segments = scope.split("/")
    for at, segment in enumerate(segments):
        if any(wildcard in segment for wildcard in _WILDCARDS):
            folder = "/".join(segments[:at]) or ("/" if at else ".")
            return real_path(folder).rstrip("/") + "/" + "/".join(segments[at:])
    return real_path(scope)


def covers(grant: Capability, request: Capability) -> bool:
    """Whether a grant with a scope covers the request of a command, or of another scope as a whole."""
    scope, wanted = grant.scope or "", request.scope or ""
    if is_bare(scope):
        return is_bare(wanted) and glob(wanted, scope)
    place, wanted_place = grant.locate(), request.locate()
    return place is not None and wanted_place is not None and path_matches(wanted_place, place)


def path_matches(path: str, pattern: str) -> bool:
    """Whether a path matches a pattern, segment by segment."""
    if FOLDING:
        path, pattern = path.casefold(), pattern.casefold()
    segments, wanted = path.split("/"), pattern.split("/")
    return len(segments) == len(wanted) and all(map(glob, segments, wanted))


def _refuse_nul(text: str) -> None:
    if "\0" in text:
        raise RuntimeFault("a path cannot contain a NUL character")


def written_apart(command: str, builtin: str = "run") -> str:
    """What to write for a command whose arguments stand in the same text, so that no file has its name; empty where it has no
    arguments.
    """
    from shlex import split

    try:
        name, *arguments = split(command) or [""]
    except ValueError:  # a quote that is not closed
        return ""
    if not 0 < len(arguments) < MOST_SHOWN or not command.isprintable() or len(command) > LONGEST_SHOWN:
        return ""
    given = ", ".join(map(text_literal, arguments))
    call, line = f"{builtin}({text_literal(name)}, [{given}])", f"require exec({text_literal(name)})"
    return f"a command and its arguments are separate: write `{call}` with `{line}` at the top of the program"
