"""Analyses the files of a program, each in a process of its own, because the files are not trusted.

    python -m platform_api.packages.analysis DESCRIPTOR

answers the requests of ``platform_api.packages.analyst`` on the control socket with that descriptor.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import msgspec

import language
from platform_api.forking.server import serve
from platform_api.packages.files import EXTENSION, LARGEST_SOURCE, MANIFEST
from platform_api.packages.lang_toml import ManifestError, PackageManifest, line_of, parse_manifest
from platform_api.packages.package import FoundProblem, Inspection, RequireLine

PROCESSOR_SECONDS = 5
MEMORY = 512 * 1024 * 1024
TOO_MUCH = (
    f"To analyse the program takes more than {PROCESSOR_SECONDS} seconds of processor time "
    f"or {MEMORY // 1024 // 1024} MB of memory."
)
#: The limits that the inspection checks itself. They are below those of the process, so that it ends with a message and not by
#: a signal.
_BOUNDS = {"time_ms": 60_000, "memory_bytes": 3 * MEMORY // 4}
#: A child is ended after this many seconds, even if it uses no processor time.
PATIENCE = 120
#: Seconds without a request after which the process ends, because it takes 40 MB.
_IDLE = 600.0
_MOST_REQUIRES = 1_000
#: What people write into a manifest, and where it is set instead.
_CURES = dict.fromkeys(("cron", "schedule"), "a job gets its schedule from `lang schedule`, or on its page") | dict.fromkeys(
    ("capabilities", "ceiling", "permissions", "require"), "a program declares capabilities by its `require` lines"
)
#: The most problems of an answer, and the most characters of the message and of the help of each.
_MOST_PROBLEMS = 100
_LONGEST_TEXT = 500
_MOST_UNKNOWN = 10
_FIRST = 'require net("example.com")\ntask first(x)\n    give secret("KEY")\nprint(first(1))\n'
_WRITING = ("file", "file.write", "memory")


class Request(msgspec.Struct, array_like=True):
    """What to analyse. ``source``, if given, replaces the entry file."""

    files: dict[str, bytes]
    entry: str | None
    kind: str | None
    source: bytes | None


class Fault(Exception):
    """A package that cannot be stored: a message, the field of the request, the places in its files."""

    def __init__(self, message: str, field: str | None = None, errors: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.result = {"message": message, "field": field, "errors": errors}


def analyse(request: Request) -> Inspection:
    """What the program of a package declares and needs.

    Errors: ``Fault``.
    """
    files = request.files
    manifest = PackageManifest()
    if MANIFEST in files:
        try:
            manifest = parse_manifest(files[MANIFEST])
        except ManifestError as error:
            place = FoundProblem("error", MANIFEST, error.line, error.column, 0, 0, "", _cut(str(error)), "")
            raise Fault(f"{MANIFEST}: {error}.", "files", [asdict(place)]) from None
    entry = _entry(request, manifest)
    if request.source is not None:
        files = {**files, entry: request.source}
    if entry not in files:
        raise Fault(f"There is no file {entry!r}, which is to be the entry.", "entry")
    if len(files[entry]) > LARGEST_SOURCE:
        raise Fault(f"{entry!r} has {len(files[entry]):,} bytes; a source file has at most {LARGEST_SOURCE:,}.", "files")
    found = language.inspect(files, entry=entry, limits=_BOUNDS, deployed=True)
    if any(error.kind == "resources" for error in found.errors):
        raise Fault(TOO_MUCH, "files")
    if found.errors:
        errors = [asdict(_problem(error, "error")) for error in found.errors[:_MOST_PROBLEMS]]
        first = found.errors[0]
        raise Fault(f"{first.file}:{first.line}: {_cut(first.message)}", "files", errors)
    if len(found.requires) > _MOST_REQUIRES:
        raise Fault(f"A program has at most {_MOST_REQUIRES:,} require lines, this one has {len(found.requires):,}.", "files")
    return Inspection(
        entry=entry,
        kind=request.kind or manifest.kind or found.kind,
        ceiling=str(found.ceiling),
        requires=tuple(
            RequireLine(line.capability.name, line.capability.scope, line.line, line.file) for line in found.requires
        ),
        secrets=found.missing_secrets(listed=manifest.secrets),
        read_secrets=tuple(sorted({reading.name for reading in found.secrets})),
        manifest_secrets=manifest.secrets,
        env=manifest.env,
        port=found.port,
        has_cron=bool(found.cron),
        has_agents=bool(found.agents),
        writes_data=any(_writes(item) for item in found.ceiling.items),
        memory_mb=manifest.memory_mb,
        timeout_minutes=manifest.timeout_minutes,
        name=manifest.name,
        version=manifest.version,
        tagline=manifest.tagline,
        tagline_es=manifest.tagline_es,
        tagline_pt=manifest.tagline_pt,
        repo=manifest.repo,
        ref=manifest.ref,
        problems=(*_problems(found), *_ignored(files, manifest))[:_MOST_PROBLEMS],
    )


def _problems(found: language.Manifest) -> tuple[FoundProblem, ...]:
    faults = [_problem(fault, "error") for fault in found.faults[:_MOST_PROBLEMS]]
    left = _MOST_PROBLEMS - len(faults)
    return (*faults, *(_problem(warning, "warning") for warning in found.warnings[:left]))


def _ignored(files: Mapping[str, bytes], manifest: PackageManifest) -> Iterator[FoundProblem]:
    """A warning for each field of the manifest that nothing reads."""
    for name in manifest.unknown[:_MOST_UNKNOWN]:
        line = line_of(files[MANIFEST], name)
        message = _cut(f"{MANIFEST} has no field {name!r}: it is ignored")
        cure = _CURES.get(name.partition(".")[0], "")
        yield FoundProblem("warning", MANIFEST, line, 1 if line else 0, 0, 0, "", message, cure)


def _problem(found: language.Problem, severity: str) -> FoundProblem:
    places = (found.line, found.column, found.end_line, found.end_column)
    return FoundProblem(severity, found.file, *places, found.code, _cut(found.message), _cut(found.help))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _entry(request: Request, manifest: PackageManifest) -> str:
    named = request.entry or manifest.entry
    if named:
        return named
    if "main.lang" in request.files or (request.source is not None and not request.files):
        return "main.lang"
    top = [path for path in request.files if path.endswith(EXTENSION) and "/" not in path]
    for candidates in (top, list(request.files)):
        if len(candidates) == 1:
            return candidates[0]
    raise Fault(
        "Which file is the entry? There is no main.lang: name one in the field `entry`; a folder has it in its lang.toml.",
        "entry",
    )


def _writes(item: language.Capability) -> bool:
    return item.name in _WRITING or (item.name == "db" and "://" not in (item.scope or ""))


def answer(request: bytes) -> bytes:
    """Analyses one request, within the limits of its process."""
    _limit()
    try:
        result: dict[str, Any] = {"inspection": analyse(msgspec.msgpack.decode(request, type=Request)).to_json()}
    except Fault as fault:
        result = {"fault": fault.result}
    except (MemoryError, RecursionError):
        result = {"fault": {"message": TOO_MUCH, "field": "files"}}
    return json.dumps(result).encode("utf-8", "surrogatepass")


def main() -> None:
    """Answers requests until nobody is left who could ask."""
    # A first analysis loads the tables of the parser and other modules, which every child then shares.
    analyse(Request({"main.lang": _FIRST.encode(), "lang.toml": b'name = "First"\n'}, None, None, None))
    serve(socket.socket(fileno=int(sys.argv[1])), answer, idle=_IDLE, patience=PATIENCE)


def _limit() -> None:
    try:
        import resource
    except ImportError:  # pragma: no cover - not on Windows
        return
    os.nice(10)  # with the lowest priority, so that a long analysis does not delay requests
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
