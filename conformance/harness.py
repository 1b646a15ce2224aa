"""Runs conformance cases and compares: ``python -m conformance.harness [PATH...] [--profile native] [--command LINE]``.

The comparison is complete: every line that comes out was expected, in that order, the error with its place, the exit code.
"""

from __future__ import annotations

import argparse
import faulthandler
import re
import shlex
import sys
import traceback
from collections import Counter
from pathlib import Path

from conformance.cases import ERRORS, BadCase, Case, Expectation, find, load
from conformance.profiles import PROFILES, Profile, Result, command_profile

CASE_SECONDS = 120


def compare(case: Case, result: Result, *, log_in_output: bool) -> list[str]:
    """The differences between what the case expects and what came out, empty when there are none."""
    out_kinds = ("output", "log") if log_in_output else ("output",)
    err_kinds = ("stderr",) if log_in_output else ("log", "stderr")
    differences: list[str] = []
    if case.expected_text is not None:
        wanted = case.expected_text.removesuffix("\n").split("\n")
        if wanted != result.output:
            differences.append(f"output: expected {wanted!r}\n        got      {result.output!r}")
    else:
        differences += _compare_lines("output", [e for e in case.expectations if e.kind in out_kinds], result.output)
    differences += _compare_lines("stderr", [e for e in case.expectations if e.kind in err_kinds], result.stderr)
    differences += _compare_error(case, result.error)
    if result.exit_code != case.expected_exit:
        differences.append(f"exit code: expected {case.expected_exit}, got {result.exit_code}")
    return differences


def _compare_lines(stream: str, expected: list[Expectation], got: list[str]) -> list[str]:
    differences: list[str] = []
    for number in range(max(len(expected), len(got))):
        want = expected[number] if number < len(expected) else None
        have = got[number] if number < len(got) else None
        if want is None:
            differences.append(f"{stream}: not expected: {have!r}")
        elif have is None:
            differences.append(f"{stream} of line {want.written_at}: expected {_shown(want)}, got nothing")
        elif not want.matches(have):
            differences.append(f"{stream} of line {want.written_at}: expected {_shown(want)}\n        got      {have!r}")
            if len(expected) != len(got):
                rest = len(got) - number - 1
                differences.append(f"{stream}: {rest} more line(s) came, {len(expected) - number - 1} more expected")
                break
    return differences


def _compare_error(case: Case, error: str | None) -> list[str]:
    want = case.error
    if want is None:
        return [] if error is None else [f"error: none expected, got {error!r}"]
    if error is None:
        return [f"error of line {want.written_at}: expected {want.kind} {_shown(want)}, got none"]
    file = re.escape(want.file or case.path.name)
    prefix = ERRORS[want.kind] + ": "
    if want.placed:
        prefix += f"{'(?:.*/)?' if want.file else ''}{file}:{want.line}:{want.column or '[0-9]+'}: "
    found = re.match(prefix, error)
    message = error[found.end() :] if found else ""
    unplaced = want.placed or not re.match(r"[^ ]*\.lang:[0-9]+:[0-9]+: ", message)
    if found and unplaced and want.matches(message):
        return []
    place = f"{want.line}:{want.column or '*'}" if want.placed else "without place"
    return [f"error of line {want.written_at}: expected {want.kind} {place} {_shown(want)}\n        got      {error!r}"]


def _shown(want: Expectation) -> str:
    return f"{'like ' if want.like else ''}{want.text!r}"


def check(case: Case, profile: Profile) -> list[str]:
    """Runs one case in one profile: its differences, a crash of the runner among them."""
    try:
        result = profile.run(case)
    except Exception:
        return ["the run did not end properly:\n" + traceback.format_exc(limit=-2)]
    return compare(case, result, log_in_output=profile.log_in_output)


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 when every case passed, 1 otherwise, 2 on a bad argument."""
    parser = argparse.ArgumentParser(prog="conformance.harness", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="case files or area folders (default: all)")
    parser.add_argument("--profile", default="embedded", help=f"one of {', '.join(PROFILES)}, or a name for --command")
    parser.add_argument("--command", help="command line of the interpreter to test, such as a wasm runtime with its file")
    parser.add_argument("--quiet", action="store_true", help="only the counts")
    options = parser.parse_args(argv)
    if options.command:
        profile = command_profile(options.profile, shlex.split(options.command))
    elif options.profile in PROFILES:
        profile = PROFILES[options.profile]
    else:
        parser.error(f"unknown profile {options.profile!r}")
    counts: Counter[str] = Counter()
    for path in find(options.paths):
        try:
            case = load(path)
        except BadCase as problem:
            counts["bad"] += 1
            print(f"BAD   {problem}")
            continue
        reason = case.excluded(profile.build)
        if reason:
            counts["excluded"] += 1
            continue
        faulthandler.dump_traceback_later(CASE_SECONDS, exit=True)
        differences = check(case, profile)
        faulthandler.cancel_dump_traceback_later()
        if case.needs:
            counts["stale" if not differences else "not in this version"] += 1
            if not differences:
                print(f"STALE {case.name}: passes, remove its 'needs' ({case.needs})")
            elif not options.quiet:
                print(f"later {case.name}: not in this version, needs {case.needs}")
        elif differences:
            counts["failed"] += 1
            if not options.quiet:
                print(f"FAIL  {case.name}")
                print("\n".join(f"      {difference}" for difference in differences))
        else:
            counts["passed"] += 1
    print(f"{profile.name}: " + ", ".join(f"{number} {state}" for state, number in sorted(counts.items())))
    return 1 if counts["failed"] or counts["bad"] or counts["stale"] else 0


if __name__ == "__main__":
    sys.exit(main())
