"""Reads the arguments of a command (docs/commands.md).

It does not use ``argparse``, because importing that takes longer than half of a start with a warm cache.
"""

from __future__ import annotations

from os.path import isdir, isfile

from language.capabilities import Ceiling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SWITCH = "switch"
VALUE = "value"

#: Flags that ``run`` and ``test`` share.
COMMON = {"--sandbox": SWITCH, "--cap-set": VALUE, "--env-file": VALUE, "--no-env-file": SWITCH}
AUDIT = {"--audit": VALUE, "--audit-chain": SWITCH}
LINK = {"--host-link": VALUE, "--package": VALUE}

#: Flags of the specification that this version does not implement. The error message says so instead of calling them unknown.
ABSENT = frozenset({"--profile", "--domain", "--tls-auto"})

BARE = {**COMMON, "--test": SWITCH}
LEARN = {"--learn": SWITCH, "--write": VALUE, "--yes": SWITCH}
RUN = {
    **COMMON,
    **AUDIT,
    **LEARN,
    **LINK,
    "--format": VALUE,
    "--explain": SWITCH,
    "--filename": VALUE,
    "--gates": VALUE,
    "--provider": VALUE,
    "--trace": VALUE,
    "--trace-content": SWITCH,
}
SERVE = {
    **COMMON, **AUDIT, **LINK, "--port": VALUE, "--bind": VALUE, "--secure": SWITCH, "--workers": VALUE, "--health": VALUE,
    "--trust-proxy": VALUE, "--watch": SWITCH, "--tls-cert": VALUE, "--tls-key": VALUE, "--access-log": SWITCH,
}  # fmt: skip
TEST = {
    **COMMON, **AUDIT, "--verbose": SWITCH, "-k": VALUE, "--watch": SWITCH, "--junit": VALUE, "--record": VALUE,
    "--replay": VALUE,
}  # fmt: skip
CHECK = {"--format": VALUE, "--compile": SWITCH}
FMT = {"--check": SWITCH, "--diff": SWITCH}
CAPS = {"--json": SWITCH, "--diff": SWITCH, "--audit": VALUE}
LSP = {"--stdio": SWITCH}
MCP = {
    **COMMON, "--time": VALUE, "--output": VALUE, "--memory": VALUE, "--folder": VALUE, "--route": VALUE, "--token-env": VALUE,
}  # fmt: skip
MEMORY = {"--reindex": SWITCH}
LLM = {"--json": SWITCH, "--try": SWITCH, "--env-file": VALUE, "--no-env-file": SWITCH}
CONFORM = {**COMMON, **AUDIT, "--swarm": SWITCH}
NONE: dict[str, str] = {}

#: The flags of each command.
FLAGS: dict[str, dict[str, str]] = {
    "run": RUN, "serve": SERVE, "test": TEST, "check": CHECK, "repl": COMMON, "fmt": FMT, "docs": NONE, "caps": CAPS,
    "audit": NONE, "lsp": LSP, "mcp": MCP, "memory": MEMORY, "llm": LLM,
    "conform": CONFORM,
}  # fmt: skip

ALIASES = {"-v": "--verbose"}


class UsageError(Exception):
    """A call with wrong arguments: exit code 2. The usage line of ``command`` follows the message; ``command`` is empty for the
    form without a command.
    """

    def __init__(self, command: str, message: str, *, usage: bool = True) -> None:
        super().__init__(message)
        self.command = command
        self.message = message
        self.usage = usage


class Arguments:
    """The parsed arguments of a command.

    ``values`` maps each flag to its text (``""`` for a switch). ``paths`` are the words that are not flags, ``rest`` those
    after ``--``.
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
    """Separates ``words`` into flags, paths and the words after ``--``.

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
                raise UsageError(command, f"this version of lang does not have the flag '{name}'", usage=False)
            from language.hints import did_you_mean

            meant = did_you_mean(name, flags)
            raise UsageError(command, f"unknown flag '{name}'" + (f": did you mean '{meant}'?" if meant else ""))
        if kind == SWITCH:
            if equals:
                raise UsageError(command, f"{name} takes no value")
            value = ""
        else:
            if not equals and at < count:
                value, equals = words[at], "="
                at += 1
            # An empty value of --cap-set is reported later, with a message of its own.
            if not equals or value.startswith("--") or (not value and name != "--cap-set"):
                raise UsageError(command, f"{name} requires a value")
            if values.get(name, value) != value:
                raise UsageError(command, f"{name} is given twice with different values")
        # The last of --env-file and --no-env-file wins, so the keys must be in the order in which the flags were given.
        values.pop(name, None)
        values[name] = value
    return Arguments(command, values, paths, [])


def stands_alone(asked: str, words: Sequence[str], *, after: str = "", command: str = "") -> None:
    """Refuses further words in a call for help or for the version, because they would have no effect.

    ``after`` is the command whose help is wanted. Without it, one program may follow a flag, because every build accepts
    ``--version FILE``. Raises ``UsageError`` of ``command`` that names the word.
    """
    if len(words) == 1 and asked.startswith("-") and not after and (words[0] == "-" or isfile(words[0])):
        return
    if words:
        raise UsageError(command, f"{asked} takes no further words here, got '{clean(words[0])}'")


def clean(word: str) -> str:
    """A word of the command line as text of the language: UTF-8 whatever the locale, wrong bytes replaced by U+FFFD."""
    if word.isascii():
        return word
    from os import fsencode

    return fsencode(word).decode("utf-8", "replace")
