"""Finds and reads the ``.env`` file. Its variables are never put into the process environment."""

from __future__ import annotations

import os

from language.cli.streams import warn
from language.host.regular_file import open_given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.cli.arguments import Arguments


def chosen(arguments: Arguments) -> dict[str, str] | None:
    """The variables of the file the flags, ``PLATFORM_ENV_FILE`` or the working directory name; ``None`` without one."""
    named = _named(arguments)
    path = chosen_path(arguments)
    if path is None:
        return None
    try:
        with open(open_given(path), "rb") as file:
            data = file.read()
    except FileNotFoundError:
        if named is None:
            return None
        warn(f"cannot read the env file '{path}': No such file or directory")
        return {}
    except OSError as error:
        warn(f"cannot read the env file '{path}': {error.strerror}")
        return {}
    variables, problems = read(data.decode("utf-8", "replace"))
    for line, problem in problems:
        warn(f"{path}:{line}: {problem}")
    return variables


def chosen_path(arguments: Arguments) -> str | None:
    """The path of that file, whether or not it exists; ``None`` if none is to be read."""
    named = _named(arguments)
    return ".env" if named is None else named or None


def _named(arguments: Arguments) -> str | None:
    named = None
    for flag in arguments.values:  # the last of the two wins
        if flag == "--env-file":
            named = arguments.values[flag]
        elif flag == "--no-env-file":
            named = ""
    return os.environ.get("PLATFORM_ENV_FILE") if named is None else named


def read(text: str) -> tuple[dict[str, str], list[tuple[int, str]]]:
    """The variables of a ``.env`` text, and its faulty lines with their numbers. The problems never quote a value."""
    variables: dict[str, str] = {}
    problems: list[tuple[int, str]] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = line.removesuffix("\r")
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        key = key.strip()
        if not equals:
            problems.append((number, "not of the form KEY=VALUE, line skipped"))
        elif not (key.isascii() and key.isidentifier()):
            problems.append((number, "the name before '=' is not valid, line skipped"))
        else:
            variables[key] = _value(value)
    return variables, problems


def _value(text: str) -> str:
    trimmed = text.lstrip()
    if trimmed[:1] in ("'", '"'):
        quoted, closing, _ = trimmed[1:].partition(trimmed[0])
        return quoted if closing else quoted.strip()
    for at, character in enumerate(text):
        if character == "#" and at and text[at - 1] in " \t":
            return text[:at].strip()
    return text.strip()
