"""The manifest of a package, ``lang.toml``: what its author says of it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field

from platform_api.environment.names import name_problem
from platform_api.packages.package import KINDS

LEAST_MEMORY, MOST_MEMORY = 16, 1024 * 1024
MOST_TIMEOUT = 7 * 24 * 60
_LONGEST_TEXT = 1_000
_LONGEST_VALUE = 64 * 1024
_MOST_NAMES = 500
#: The fields and the tables that a manifest may have; in ``env``, ``secrets`` and ``volumes`` stand names of the author's.
_TEXTS = ("name", "kind", "entry", "version", "tagline", "tagline_es", "tagline_pt")
_FIELDS = {
    "resources": ("memory_mb", "timeout_minutes"),
    "source": ("repo", "ref"),
    "env": None,
    "secrets": None,
    "volumes": None,
}
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class ManifestError(ValueError):
    """A manifest that is not valid. ``line`` and ``column`` count from 1; 0 without a place."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class PackageManifest:
    """The content of a ``lang.toml``; missing fields are empty.

    Attributes:
        secrets: the names of the secrets that the program needs, each with its description.
        env: variables with their defaults.
        memory_mb: how much memory the program needs, in MiB.
        timeout_minutes: how long a run may take.
        repo: the repository of the program, and ``ref`` its branch or tag.
        unknown: the fields that a manifest does not have, those of a table with its name: ``resources.cpu``.
    """

    name: str = ""
    kind: str = ""
    entry: str = ""
    version: str = ""
    tagline: str = ""
    tagline_es: str = ""
    tagline_pt: str = ""
    secrets: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    memory_mb: int | None = None
    timeout_minutes: int | None = None
    repo: str = ""
    ref: str = ""
    unknown: tuple[str, ...] = ()


def parse_manifest(content: bytes) -> PackageManifest:
    """Parses a manifest. Unknown fields are ignored, and named in ``unknown``.

    Errors: ``ManifestError``.
    """
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise ManifestError("the file is not UTF-8") from None
    except RecursionError:
        raise ManifestError("its values are nested too deep") from None
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line, column = (int(place[1]), int(place[2])) if place and place[1] else (content.count(b"\n") + 1, 0)
        raise ManifestError(f"no TOML: {_PLACE.sub('', str(error))}", line, column) from None
    except ValueError as error:  # such as a number with too many digits, or an invalid date
        raise ManifestError(f"no TOML: {error}") from None
    texts = {name: _text(document, name) for name in _TEXTS}
    if texts["kind"] and texts["kind"] not in KINDS:
        raise ManifestError(f"kind must be {', '.join(KINDS[:-1])} or {KINDS[-1]}, it is {texts['kind'][:50]!r}")
    resources, source = _table(document, "resources"), _table(document, "source")
    _table(document, "volumes")
    return PackageManifest(
        **texts,
        secrets=_named(document, "secrets", "secret"),
        env=_named(document, "env", "variable"),
        memory_mb=_number(resources, "memory_mb", LEAST_MEMORY, MOST_MEMORY),
        timeout_minutes=_number(resources, "timeout_minutes", 1, MOST_TIMEOUT),
        repo=_text(source, "repo", "source."),
        ref=_text(source, "ref", "source."),
        unknown=tuple(_unknown(document)),
    )


def line_of(content: bytes, field: str) -> int:
    """The line on which a field of a manifest that ``unknown`` names is set; 0 if it is set in another notation."""
    table, _, name = field.rpartition(".")
    inside = ""
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), 1):
        if line.lstrip().startswith("["):
            inside = line.partition("#")[0].strip(" \t\r[]")
            if inside == field or (not table and inside.startswith(f"{field}.")):
                return number
        elif inside == table and line.partition("=")[0].strip().split(".")[0] == name:
            return number
    return 0


def _unknown(document: dict[str, object]) -> Iterator[str]:
    for name, value in document.items():
        if name not in _TEXTS and name not in _FIELDS:
            yield name
        elif (fields := _FIELDS.get(name)) and isinstance(value, dict):
            yield from (f"{name}.{inner}" for inner in value if inner not in fields)


def _table(document: dict[str, object], name: str) -> dict[str, object]:
    found = document.get(name, {})
    if not isinstance(found, dict):
        raise ManifestError(f"{name} must be a table: [{name}]")
    return found


def _text(table: dict[str, object], name: str, inside: str = "") -> str:
    found = table.get(name, "")
    if not isinstance(found, str):
        raise ManifestError(f"{inside}{name} must be text")
    if len(found) > _LONGEST_TEXT:
        raise ManifestError(f"{inside}{name} has more than {_LONGEST_TEXT:,} characters")
    return found


def _number(table: dict[str, object], name: str, least: int, most: int) -> int | None:
    found = table.get(name)
    if found is None:
        return None
    if type(found) is not int or not least <= found <= most:
        raise ManifestError(f"resources.{name} must be a whole number from {least} to {most}")
    return found


def _named(document: dict[str, object], table: str, kind: str) -> dict[str, str]:
    found = _table(document, table)
    if len(found) > _MOST_NAMES:
        raise ManifestError(f"[{table}] has more than {_MOST_NAMES} names")
    values: dict[str, str] = {}
    for name, value in found.items():
        if why := name_problem(name, kind):
            raise ManifestError(f"{table}.{name[:100]}: {why[0].lower()}{why[1:].rstrip('.')}")
        if not isinstance(value, str):
            raise ManifestError(f"{table}.{name} must be text")
        if len(value.encode()) > _LONGEST_VALUE or "\0" in value:
            raise ManifestError(f"{table}.{name} must be text of at most {_LONGEST_VALUE:,} bytes, without NUL")
        values[name] = value
    return values
