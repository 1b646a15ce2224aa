"""The line editor of ``lang repl``: completion of names and fields, and a history that is kept between sessions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from language.syntax.tokens import HARD_KEYWORDS, STATEMENT_WORDS
from language.values import as_map

#: The most lines of the history.
MOST_LINES = 1000
_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\.?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Characters that end a word for the editor. A dot is not one of them.
_DELIMITERS = " \t\n()[]{},;:+-*/%<>=!|\"'`@#$&^~?\\"


def candidates(word: str, values: Mapping[str, Any], builtins: Iterable[str]) -> list[str]:
    """The completions of a word: names of the session, builtins and keywords, or after a dot the fields of the value before it.

    Nothing is evaluated: keys are those of maps that names hold, and of maps in them.
    """
    if not word:
        return []
    if _PATH.fullmatch(word) is None:
        return []
    path, dot, start = word.rpartition(".")
    if not dot:
        known = {*values, *builtins, *HARD_KEYWORDS, *STATEMENT_WORDS}
        return sorted(name for name in known if name.startswith(word))
    first, *keys = path.split(".")
    fields = as_map(values.get(first))
    for key in keys:
        fields = None if fields is None else as_map(fields.get(key))
    names = [name for name in fields or () if isinstance(name, str) and _NAME.fullmatch(name)]
    return sorted(f"{path}.{name}" for name in names if name.startswith(start))


def history_file(environ: Mapping[str, str]) -> str | None:
    """The file of the history; ``None`` without a home folder."""
    state = environ.get("XDG_STATE_HOME") or ""
    if not os.path.isabs(state):
        home = environ.get("HOME") or ""
        if not os.path.isabs(home):
            return None
        state = os.path.join(home, ".local", "state")
    return os.path.join(state, "lang", "history")


def begin(values: Callable[[], Mapping[str, Any]], builtins: Iterable[str]) -> Callable[[], None]:
    """Sets up the line editor of this process. Call the returned function at the end to write the history. A Python without the
    ``readline`` module still reads lines, without editing."""
    try:
        import readline
    except ImportError:
        return lambda: None
    known = tuple(builtins)
    found: list[str] = []

    def complete(word: str, number: int) -> str | None:
        if number == 0:
            found[:] = candidates(word, values(), known)
        return found[number] if number < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(_DELIMITERS)
    uses_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if uses_libedit else "tab: complete")
    readline.set_history_length(MOST_LINES)
    place = history_file(os.environ)
    if place is None:
        return lambda: None
    with suppress(OSError):
        readline.read_history_file(place)

    def keep() -> None:
        """Writes the history so that only its owner can read it, because lines may contain secrets."""
        with suppress(OSError):
            os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT, 0o600))
            readline.write_history_file(place)
            os.chmod(place, 0o600)

    return keep
