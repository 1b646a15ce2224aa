"""``lang conform --swarm``: runs a program with its agents, and prints as JSON their output, the blackboard and the final state
of each agent.
"""

from __future__ import annotations

import json

from language.cli.arguments import CONFORM, UsageError, clean, parse
from language.cli.compiled_program import compile_program, make_instance
from language.cli.run import env_file, open_stream
from language.cli.source import read_source
from language.cli.streams import CommandHost, say_json
from language.errors import ExitProgram, LanguageError, LimitExceeded, RuntimeFault
from language.values.display import display
from language.values.json_encoding import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from language.cli.arguments import Arguments
    from language.cli.audit_stream import AuditStream

#: How the JSON encoder writes numbers that JSON does not have → how the language shows them.
_CONSTANTS = {"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan"}


class _Host(CommandHost):
    """A host that collects the lines of the error stream."""

    def __init__(self, variables: dict[str, str] | None, stdin_taken: bool) -> None:
        super().__init__(variables, stdin_taken=stdin_taken)
        self.lines: list[str] = []

    def write_error_line(self, line: str) -> None:
        self.lines.append(line)


def command(words: Sequence[str]) -> int:
    """Runs the command. The exit codes are those of ``lang run``."""
    arguments = parse("conform", words, CONFORM)
    if not arguments.given("--swarm"):
        raise UsageError("conform", "--swarm is missing")
    if not arguments.paths:
        raise UsageError("conform", "no program given")
    if extra := [*arguments.paths[1:], *arguments.rest]:
        raise UsageError("conform", f"unexpected '{clean(extra[0])}'")
    stream = open_stream(arguments)
    return _run(arguments, None) if stream is None else stream.around(lambda: _run(arguments, stream))


def _run(arguments: Arguments, stream: AuditStream | None) -> int:
    ceiling = arguments.ceiling()
    source = read_source(arguments.paths[0], "conform")
    host = _Host(env_file(arguments), source.from_stdin)
    report: dict[str, Any] = {"ok": True, "out": [], "err": host.lines, "blackboard": {}, "agents": {}}
    instance = None
    code = 0
    try:
        compiled = compile_program(source, "conform")
        instance = make_instance(
            compiled, source, host, mode="run", ceiling=ceiling, collect=True, flags=arguments, stream=stream
        )
        report["out"] = instance.context.collected
        instance.run()
    except LanguageError as error:
        code = 1
        host.lines += [str(failure) for failure in (error, *error.others)]
    except LimitExceeded as limit:
        code = 1
        host.lines.append(f"Runtime error: {limit}")
    except ExitProgram as ended:
        code = ended.code
    agents = None if instance is None else instance.context.services.agents
    if agents is not None:
        report["blackboard"] = {key: _plain(value) for key, value in agents.blackboard.all().items()}
        report["agents"] = {agent.identifier: agent.state for agent in agents.all()}
    report["ok"] = code == 0
    say_json(report)
    return code


def _plain(value: Any) -> Any:
    """A value as JSON data. A value without a JSON form becomes the text that the language shows for it."""
    try:
        return json.loads(encode(value, "conform"), parse_constant=_CONSTANTS.__getitem__)
    except RuntimeFault:
        return display(value)
