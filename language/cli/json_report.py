"""``lang run --format json``: the whole run as one line of JSON."""

from __future__ import annotations

import json

from language.cli.program import compile_program, make_instance
from language.cli.streams import out
from language.errors import ExitProgram, LanguageError, LimitExceeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.capability import Ceiling
    from language.cli.arguments import Arguments
    from language.cli.audit_stream import AuditStream
    from language.cli.source import Source
    from language.host import Host


def run_reported(
    source: Source,
    host: Host,
    ceiling: Ceiling | None,
    arguments: tuple[str, ...],
    flags: Arguments,
    stream: AuditStream | None,
) -> int:
    """Runs a program, its output collected, and writes the report. Answers the exit code of the report."""
    report: dict[str, Any] = {"ok": True, "output": [], "errors": [], "audit": [], "exit": 0, "llm_tokens": 0}
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
        instance.run()
    except LanguageError as error:
        report.update(errors=[str(error)], exit=1)
    except LimitExceeded as limit:
        report.update(errors=[f"Runtime error: {limit}"], exit=1)
    except ExitProgram as ended:
        report["exit"] = ended.code
    if instance is not None:
        report["audit"] = instance.context.capabilities.records
    report["ok"] = report["exit"] == 0 and not report["errors"]
    out(json.dumps(report, ensure_ascii=False))
    exit_code: int = report["exit"]
    return exit_code
