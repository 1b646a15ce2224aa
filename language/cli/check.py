"""``lang check``: parses and validates a program without running it."""

from __future__ import annotations

from language.cli.arguments import CHECK, UsageError, clean, parse
from language.cli.source import not_utf8, read_source
from language.cli.streams import err, out, say_json
from language.console_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from language.analysis.checker import Checked
    from language.analysis.manifest import Problem
    from language.cli.source import Source
    from language.errors import LanguageError


def command(words: Sequence[str]) -> int:
    arguments = parse("check", words, CHECK)
    paths = arguments.paths + arguments.rest
    as_json = arguments.choice("--format", ("human", "json")) == "json"
    if len(paths) != 1:
        raise UsageError("check", f"one program at a time, got '{clean(paths[1])}' too" if paths else "no program given")
    source = read_source(paths[0], "check")
    from language.analysis.checker import check_program
    from language.analysis.warnings import warnings_of
    from language.native.host import NativeHost
    from language.runtime.modules import Sources
    from language.syntax.lexer import decode_source

    try:
        text = decode_source(source.data)
    except UnicodeDecodeError:
        raise not_utf8(source.name, "check") from None
    checked = check_program(text, source.name, Sources(source.root), NativeHost().files)
    warnings = warnings_of(checked)
    if as_json:
        say_json(_report(checked, warnings))
    else:
        _say(checked, warnings)
    if checked.errors:
        return 1
    return 1 if "--compile" in arguments.values and not _compiled(source, checked) else 0


def _compiled(source: Source, checked: Checked) -> bool:
    """Compiles the program and the modules it imports into the cache; says so where that cannot be written."""
    from language.cache import compile_cached, load, location

    compile_cached(source.data, source.name)
    kept = load(source.data, "run") is not None
    for path, unit in checked.units.items():
        if path:
            text = unit.source.encode("utf-8")
            compile_cached(text, unit.file, module=True)
            kept = kept and load(text, "module") is not None
    if not kept:
        place = location()
        reason = "the cache is off" if place is None else f"{place} is not a folder of yours alone, or cannot be written"
        err(f"lang check: compiled programs cannot be kept: {reason}")
    return kept


def _say(checked: Checked, warnings: list[Problem]) -> None:
    for warning in warnings:
        err(f"warning: {one_line(warning.file)}: {one_line(warning.message)}")
    for error in checked.errors:
        err(f"Error: {one_line(error.file)}:{error.line}:{error.column}: {error.message}")
    if not checked.errors and checked.entry is not None:
        counts = ((checked.modules, "module(s)"), (len(checked.templates), "template(s)"))
        validated = " + ".join([f"{count} {what}" for count, what in counts if count])
        rest = f" {validated} validated." if validated else ""
        out(f"OK: {len(checked.entry.program.statements)} statements parsed.{rest}")


def _report(checked: Checked, warnings: list[Problem]) -> dict[str, object]:
    def listed(found: Sequence[LanguageError | Problem]) -> list[dict[str, object]]:
        return [{"file": f.file, "line": f.line, "column": f.column, "message": f.message} for f in found]

    return {
        "ok": not checked.errors,
        "errors": listed(checked.errors),
        "warnings": listed(warnings),
        "requires": [{"capability": r.capability, "scope": r.scope, "line": r.line} for r in checked.requires],
    }
