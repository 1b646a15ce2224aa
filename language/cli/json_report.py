"""``lang run --format json``: the whole run as one line of JSON."""

from __future__ import annotations

import os

from language.cli.compiled_program import compile_program, make_instance
from language.cli.streams import say_json
from language.errors import ExitProgram, LanguageError, LimitExceeded, RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from language.capabilities import Ceiling
    from language.cli.arguments import Arguments
    from language.cli.audit_stream import AuditStream
    from language.cli.source import Source
    from language.host import Host
    from language.runtime.instance import Instance


def run_reported(
    source: Source,
    host: Host,
    ceiling: Ceiling | None,
    arguments: tuple[str, ...],
    flags: Arguments,
    stream: AuditStream | None,
) -> int:
    """Runs a program, collects its output, and writes the report. Returns the exit code of the report."""
    report: dict[str, Any] = {"ok": True, "output": [], "errors": [], "audit": [], "exit": 0, "llm_tokens": 0}
    explained: list[dict[str, Any]] | None = [] if flags.given("--explain") else None
    instance = None
    try:
        code = compile_program(source, "run")
        instance = make_instance(
            code,
            source,
            host,
            mode="embedded",
            ceiling=ceiling,
            arguments=arguments,
            collect=True,
            flags=flags,
            stream=stream,
        )
        report["output"] = instance.context.collected
        if flags.values.get("--gates") != "deny" and os.environ.get("PLATFORM_CONTROL_ADDR"):
            from language.cli.control_listener import queue_gates

            queue_gates(instance.context, host)
        if explained is not None:
            explain_to(explained, instance, source)
        instance.run()
    except LanguageError as error:
        _failed(report, source, str(error), error)
        report["errors"] += [str(failure) for failure in error.others]
        if explained is not None and not explained:
            from language.runtime.explain import diagnose

            explained.append(diagnose(error, _text(source), None, None))
    except LimitExceeded as limit:
        _failed(report, source, f"Runtime error: {limit}", limit)
    except ExitProgram as ended:
        report["exit"] = ended.code
    if explained is not None:
        report["diagnostics"] = explained
    if instance is not None:
        report["audit"] = instance.context.capabilities.records
    report["ok"] = report["exit"] == 0 and not report["errors"]
    say_json(report)
    exit_code: int = report["exit"]
    return exit_code


def _failed(report: dict[str, Any], source: Source, line: str, error: LanguageError | LimitExceeded) -> None:
    """Adds the error that ended the run to the report: as one line, and as fields with place, code and help."""
    from language.cli.error_display import SourceLines
    from language.diagnostics.fields import fields_of

    if isinstance(error, RuntimeFault):
        from language.cli.second_look import look_again

        look_again(error, source)
    problem = {"severity": "error", **fields_of(error, SourceLines(source).line)}
    report.update(errors=[line], exit=1, problems=[problem])


def explain_to(found: list[dict[str, Any]], instance: Instance, source: Source) -> None:
    """Appends a description of the error that ends the run, if any, to ``found``."""

    def explain(error: LanguageError, traceback: TracebackType | None) -> None:
        from language.runtime.explain import diagnose

        context = instance.context
        records = context.services.records
        checkpoint = None if records is None else records.last_checkpoint
        found.append(diagnose(error, _text(source), traceback, context.intent, checkpoint))

    instance.explain = explain


def _text(source: Source) -> str:
    return source.data.decode("utf-8", "replace").removeprefix("\ufeff")
