"""``lang check``: finds errors and warnings in programs without running them."""

from __future__ import annotations

import os
from typing import NamedTuple

from language.cli.arguments import CHECK, parse
from language.cli.program_files import program_files
from language.cli.source import not_utf8, read_source
from language.cli.streams import err, out, say_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from language.analysis.checker import Checked
    from language.analysis.manifest import Problem
    from language.analysis.problems import Problems
    from language.cli.source import Source


class _Program(NamedTuple):
    """One program, with what was found in it."""

    source: Source
    checked: Checked
    problems: Problems


def command(words: Sequence[str]) -> int:
    arguments = parse("check", words, CHECK)
    paths = arguments.paths + arguments.rest or ["."]
    as_json = arguments.choice("--format", ("human", "json")) == "json"
    files = program_files(paths, "check")
    named = {path for path in paths if not os.path.isdir(path)}
    sources = [read_source(file, "check") for file in files]
    programs = _entries([_check(source) for source in sources], named)
    errors = _once(error for program in programs for error in program.problems.errors)
    warnings = _once(warning for program in programs for warning in program.problems.warnings)
    if as_json:
        say_json(_report(programs, errors, warnings, alone=len(files) == 1))
    else:
        _say(programs, errors, warnings)
    if "--compile" not in arguments.values:
        return 1 if errors else 0
    # An error in a line that may never run does not prevent a start. Only programs that cannot start are not compiled.
    if any(program.problems.refusals for program in programs):
        return 1
    kept = [_compiled(program) for program in programs]
    return 0 if all(kept) else 1


def _check(source: Source) -> _Program:
    from language.analysis.checker import check_program
    from language.analysis.problems import problems_of
    from language.compiler.compilation import no_collection
    from language.native.host import NativeHost
    from language.runtime.modules import Sources
    from language.syntax.lexer import decode_source

    try:
        text = decode_source(source.data)
    except UnicodeDecodeError:
        raise not_utf8(source.name, "check") from None
    with no_collection():
        checked = check_program(text, source.name, Sources(source.root), NativeHost().files)
        # A folder with a `lang.toml`, the configuration of its deployment, is meant to be deployed.
        deployed = not source.from_stdin and os.path.exists(os.path.join(source.root, "lang.toml"))
        return _Program(source, checked, problems_of(checked, deployed=deployed))


def _entries(programs: list[_Program], named: set[str]) -> list[_Program]:
    """The files that are programs and not modules of another one; every file that was named counts as a program.

    Each file of a cycle of imports counts as a program.
    """
    modules: set[str] = set()
    for program in programs:
        own = os.path.realpath(program.source.name)
        modules.update(real for real in program.checked.units if real and real != own)
    entries = [p for p in programs if p.source.name in named or os.path.realpath(p.source.name) not in modules]
    read = {real for program in entries for real in program.checked.units}
    return [p for p in programs if p in entries or os.path.realpath(p.source.name) not in read]


def _once(problems: Iterable[Problem]) -> list[Problem]:
    """Each problem once: a module is read for every program that uses it."""
    return list(dict.fromkeys(problems))


def _compiled(program: _Program) -> bool:
    """Compiles the program and the modules it imports into the cache; prints an error if that cannot be written."""
    from language.cache import compile_cached, load, location

    source, checked = program.source, program.checked
    compile_cached(source.data, source.name)
    kept = load(source.data, "run") is not None
    for path, unit in checked.units.items():
        if path:
            text = unit.source.encode("utf-8")
            compile_cached(text, unit.file, module=True)
            kept = kept and load(text, "module") is not None
    if not kept:
        place = location()
        reason = "the cache is off" if place is None else f"{place} cannot be written, or other users can access it (chmod 700)"
        err(f"lang check: compiled programs cannot be cached: {reason}")
    return kept


def _say(programs: list[_Program], errors: list[Problem], warnings: list[Problem]) -> None:
    if errors or warnings:
        from language.cli.error_display import show_problems

        show_problems([*warnings, *errors], [program.source for program in programs])
    if len(programs) > 1:
        if errors or warnings:
            counts = f"{_counted(len(errors), 'error')} and {_counted(len(warnings), 'warning')}"
            err(f"{counts} in {_counted(len(programs), 'program')}")
        if not errors:
            out(f"OK: {len(programs)} programs checked.")
    elif not errors:
        checked = programs[0].checked
        assert checked.entry is not None
        parts = ((checked.modules, "module(s)"), (len(checked.templates), "template(s)"))
        validated = " + ".join([f"{count} {what}" for count, what in parts if count])
        rest = f" {validated} validated." if validated else ""
        out(f"OK: {len(checked.entry.program.statements)} statements parsed.{rest}")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _report(programs: list[_Program], errors: list[Problem], warnings: list[Problem], *, alone: bool) -> dict[str, object]:
    from language.diagnostics.fields import fields_of

    requires: list[dict[str, object]] = []
    for program in programs:
        for line in program.checked.requires:
            entry: dict[str, object] = {"capability": line.capability, "scope": line.scope, "line": line.line}
            requires.append(entry if alone else {"file": program.source.name, **entry})
    return {
        "ok": not errors,
        "errors": [fields_of(error) for error in errors],
        "warnings": [fields_of(warning) for warning in warnings],
        "requires": requires,
    }
