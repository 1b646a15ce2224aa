"""``lang caps``: what a program declares, how much of that it used, and what another version declares in addition."""

from __future__ import annotations

import json
import os

from language.analysis.comparison import compare
from language.analysis.declared_use import declared_versus_done
from language.analysis.inspection import inspect
from language.analysis.manifest import Manifest
from language.capabilities import Capability
from language.cli.arguments import CAPS, UsageError, clean, parse
from language.cli.capability_changes import change_lines, shown
from language.cli.manifest_files import manifests_below, read_manifest
from language.cli.streams import err, say_json, say_line
from language.console_text import one_line
from language.host.regular_file import open_given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def command(words: Sequence[str]) -> int:
    arguments = parse("caps", words, CAPS)
    paths = arguments.paths + arguments.rest
    as_json = arguments.given("--json")
    if arguments.given("--diff"):
        if arguments.given("--audit"):
            raise UsageError("caps", "--diff and --audit are mutually exclusive; choose one")
        if len(paths) != 2:
            raise UsageError("caps", "--diff takes two programs: OLD NEW")
        return _diff(paths[0], paths[1], as_json)
    if len(paths) != 1:
        raise UsageError(
            "caps", f"one program at a time, got '{clean(paths[1])}' too" if paths else "no program given: lang caps FILE"
        )
    log = arguments.values.get("--audit")
    manifest = read_manifest(paths[0], "caps")
    if manifest.errors:
        _report_errors(manifest)
        return 1
    done = None if log is None else _done(manifest, log)
    if as_json:
        say_json(_as_json(manifest, done))
    else:
        _show(manifest, done)
    return 0


def _report_errors(manifest: Manifest) -> None:
    for error in manifest.errors:
        err(f"Error: {one_line(error.file)}:{error.line}:{error.column}: {error.message}")


# ---- one program -------------------------------------------------------------------------------------------------------


def _show(manifest: Manifest, done: dict[str, Any] | None) -> None:
    width = max((len(shown(line.capability)) for line in manifest.requires), default=0)
    for line in manifest.requires:
        note = ""
        if line.module:
            note = "  (module)" if line.covered else "  (module: the program does not declare it, so it grants nothing)"
        say_line(f"{shown(line.capability):<{width}}  {line.file}:{line.line}{note}")
    say_line(f"ceiling: {manifest.ceiling}")
    if done is None:
        return
    for entry in done["unused"]:
        say_line(f"never used: {entry['require']}  {entry['file']}:{entry['line']}")
    for entry in done["refused"]:
        places = ", ".join(entry["places"]) or "unknown place"
        say_line(f"refused: {entry['require']}  {entry['why']} ({entry['count']} x: {places})")


def _as_json(manifest: Manifest, done: dict[str, Any] | None) -> dict[str, Any]:
    lines = [
        {
            "capability": line.capability.name,
            "scope": line.capability.scope,
            "file": line.file,
            "line": line.line,
            "module": line.file if line.module else None,
            "imported_by": line.imported_by,
            "covered": line.covered,
        }
        for line in manifest.requires
    ]
    report: dict[str, Any] = {"program": manifest.entry, "requires": lines, "ceiling": str(manifest.ceiling)}
    return report if done is None else {**report, **done}


def _done(manifest: Manifest, log: str) -> dict[str, Any]:
    """Compares the declarations with an audit log: the ``require`` lines that no granted request needed, and the refused
    requests.
    """
    try:
        with open(open_given(log), encoding="utf-8") as file:
            records = [record for line in file if (record := _record(line)) is not None]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError("caps", f"cannot read '{clean(log)}': {reason}", usage=False) from None
    found = declared_versus_done(manifest, records)
    return {
        "unused": [{**_named(line.capability), "file": line.file, "line": line.line} for line in found.unused],
        "refused": [
            {**_named(refusal.capability), "why": refusal.why, "count": refusal.count, "places": list(refusal.places)}
            for refusal in found.refused
        ],
    }


def _record(line: str) -> dict[str, Any] | None:
    """The JSON object on a line of the log; ``None`` for any other line."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _named(capability: Capability) -> dict[str, Any]:
    return {"require": shown(capability), "capability": capability.name, "scope": capability.scope}


# ---- two versions ------------------------------------------------------------------------------------------------------


def _diff(old: str, new: str, as_json: bool) -> int:
    before, after = _version(old), _version(new)
    programs = {}
    nothing = inspect("")
    for name in sorted({*before, *after}):
        old_program, new_program = (version.get(name, nothing) for version in (before, after))
        programs[name] = compare(old_program, new_program)
    more = any(difference.holds_more for difference in programs.values())
    if as_json:
        listed = []
        for name, difference in programs.items():
            entry: dict[str, Any] = {"program": name}
            entry["added"] = [_named(capability) for capability in difference.added]
            entry["removed"] = [_named(capability) for capability in difference.removed]
            entry["widened"] = [{"old": _named(was), "new": _named(now)} for was, now in difference.widened]
            entry["narrowed"] = [{"old": _named(was), "new": _named(now)} for was, now in difference.narrowed]
            listed.append(entry)
        say_json({"more": more, "programs": listed})
    else:
        for name, difference in programs.items():
            prefix = f"{name}: " if name else ""
            for line in change_lines(difference):
                say_line(f"{prefix}{line}")
    return 1 if more else 0


def _version(named: str) -> dict[str, Manifest]:
    """The programs that an argument names. The key is the path within the folder; empty for a single program."""
    revision, colon, path = named.partition(":")
    if os.path.exists(named) or not colon:
        return _programs(named, named)
    from tempfile import TemporaryDirectory

    from language.cli.revisions import extracted

    with TemporaryDirectory(prefix="lang-caps-") as folder:
        return _programs(extracted(revision, path or ".", folder, "caps"), named)


def _programs(path: str, named: str) -> dict[str, Manifest]:
    found = manifests_below(path, "caps") if os.path.isdir(path) else {"": read_manifest(path, "caps")}
    if not found:
        raise UsageError("caps", f"no .lang files in '{clean(named)}'", usage=False)
    for manifest in found.values():
        if manifest.errors:
            _report_errors(manifest)
            raise UsageError("caps", f"'{clean(named)}' does not pass the check: its capabilities are not known", usage=False)
    return found
