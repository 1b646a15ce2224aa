"""Reading a command's arguments by the rules of chapter 6.1 of the manual.

Our own reader and not ``argparse``: that one alone costs more than half of a warm start.
"""

from __future__ import annotations

from os.path import isdir, isfile

from language.capabilities import Ceiling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SWITCH = "switch"
VALUE = "value"

#: Flags of 6.6, which ``run`` and ``test`` share.
COMMON = {"--sandbox": SWITCH, "--cap-set": VALUE, "--env-file": VALUE, "--no-env-file": SWITCH}
AUDIT = {"--audit": VALUE, "--audit-chain": SWITCH}
LINK = {"--host-link": VALUE, "--package": VALUE}

#: Flags of the manual that belong to parts this version does not have: refused by name, not as unknown.
ABSENT = frozenset({"--profile", "--provider", "--domain", "--tls-auto"})

BARE = {**COMMON, "--test": SWITCH}
LEARN = {"--learn": SWITCH, "--write": VALUE, "--yes": SWITCH}
RUN = {**COMMON, **AUDIT, **LEARN, **LINK, "--format": VALUE, "--explain": SWITCH, "--filename": VALUE, "--gates": VALUE}
SERVE = {
    **COMMON, **AUDIT, **LINK, "--port": VALUE, "--bind": VALUE, "--secure": SWITCH, "--workers": VALUE, "--health": VALUE,
    "--trust-proxy": VALUE, "--watch": SWITCH, "--tls-cert": VALUE, "--tls-key": VALUE, "--access-log": SWITCH,
}  # fmt: skip
TEST = {**COMMON, **AUDIT, "--verbose": SWITCH, "-k": VALUE, "--watch": SWITCH, "--junit": VALUE}
CHECK = {"--format": VALUE, "--compile": SWITCH}
FMT = {"--check": SWITCH}
CAPS = {"--json": SWITCH, "--diff": SWITCH, "--audit": VALUE}
NONE: dict[str, str] = {}

#: The flags of each command.
FLAGS: dict[str, dict[str, str]] = {
    "run": RUN, "serve": SERVE, "test": TEST, "check": CHECK, "repl": COMMON, "fmt": FMT, "docs": NONE, "caps": CAPS,
    "audit": NONE,
}  # fmt: skip

ALIASES = {"-v": "--verbose"}


class UsageError(Exception):
    """A wrong call: exit code 2. ``command`` (empty in the bare form) says whose usage line follows the message."""

    def __init__(self, command: str, message: str, *, usage: bool = True) -> None:
        super().__init__(message)
        self.command = command
        self.message = message
        self.usage = usage


class Arguments:
    """What was given to a command.

    ``values`` maps each flag to its text (``""`` for a switch); ``paths`` are the words that are no flags; ``rest`` what
    stood after ``--``.
    """

    __slots__ = ("command", "paths", "rest", "values")

    def __init__(self, command: str, values: dict[str, str], paths: list[str], rest: list[str]) -> None:
        self.command = command
        self.values = values
        self.paths = paths
        self.rest = rest

    def given(self, flag: str) -> bool:
        return flag in self.values

    def choice(self, flag: str, allowed: tuple[str, ...]) -> str:
        """The value of a flag that takes one of a few words; the first of them when the flag is not given."""
        value = self.values.get(flag, allowed[0])
        if value not in allowed:
            raise UsageError(self.command, f"{flag} must be {' or '.join(allowed)}, not '{value}'")
        return value

    def package(self) -> str:
        """The folder of ``--package``; ``""`` without it."""
        folder = self.values.get("--package", "")
        if "--package" in self.values and not isdir(folder):
            raise UsageError(self.command, f"--package: there is no folder '{clean(folder)}'", usage=False)
        return folder

    def ceiling(self) -> Ceiling | None:
        """The host ceiling of ``--sandbox`` or ``--cap-set``; ``None`` without either."""
        listed = self.values.get("--cap-set")
        if "--sandbox" in self.values:
            if listed is not None:
                raise UsageError(self.command, "--sandbox and --cap-set are mutually exclusive; choose one", usage=False)
            return Ceiling.sandbox()
        if listed is None:
            return None
        try:
            return Ceiling.parse(clean(listed))
        except ValueError as error:
            raise UsageError(self.command, str(error), usage=False) from None


def parse(command: str, words: Sequence[str], flags: Mapping[str, str]) -> Arguments:
    """Sorts ``words`` into flags, paths and what follows ``--``.

    Flags may stand anywhere before ``--``; ``--flag value`` and ``--flag=value`` are the same. Raises ``UsageError`` for an
    unknown flag, a missing value, a switch with a value, and a flag repeated with another value.
    """
    values: dict[str, str] = {}
    paths: list[str] = []
    at = 0
    count = len(words)
    while at < count:
        word = words[at]
        at += 1
        if word == "--":
            return Arguments(command, values, paths, list(words[at:]))
        if word == "-" or not word.startswith("-"):
            paths.append(word)
            continue
        name, equals, value = word.partition("=")
        name = ALIASES.get(name, name)
        kind = flags.get(name)
        if kind is None:
            name = clean(name)
            if name in ABSENT:
                raise UsageError(command, f"'{name}' belongs to a part that is not in this version", usage=False)
            raise UsageError(command, f"unknown flag '{name}'")
        if kind == SWITCH:
            if equals:
                raise UsageError(command, f"{name} takes no value")
            value = ""
        else:
            if not equals and at < count:
                value, equals = words[at], "="
                at += 1
            # An empty list of capabilities has a message of its own.
            if not equals or value.startswith("--") or (not value and name != "--cap-set"):
                raise UsageError(command, f"{name} requires a value")
            if values.get(name, value) != value:
                raise UsageError(command, f"{name} is given twice with different values")
        # The last of --env-file and --no-env-file wins: the order of the keys is the order they were given in.
        values.pop(name, None)
        values[name] = value
    return Arguments(command, values, paths, [])


def stands_alone(asked: str, words: Sequence[str], *, after: str = "", command: str = "") -> None:
    """Refuses the words beside one that asks for help or the version, because nothing would come of them.

    ``after`` is the command that help is asked of. Without it one program may stand beside a flag: ``--version FILE`` is a form
    that every build has. Raises ``UsageError`` of ``command`` that names the word.
    """
    if len(words) == 1 and asked.startswith("-") and not after and (words[0] == "-" or isfile(words[0])):
        return
    if words:
        raise UsageError(command, f"{asked} stands alone: nothing would come of '{clean(words[0])}'")


def clean(word: str) -> str:
    """A word of the command line as text of the language: UTF-8 whatever the locale, wrong bytes replaced by U+FFFD."""
    if word.isascii():
        return word
    from os import fsencode

    return fsencode(word).decode("utf-8", "replace")
