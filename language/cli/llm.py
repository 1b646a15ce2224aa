"""``lang llm status``: which model programs use, the source of each setting, and whether the model answers."""

from __future__ import annotations

import json

from language.cli.arguments import LLM, UsageError, clean, parse
from language.cli.envfile import chosen
from language.cli.streams import CommandHost, err, out
from language.console_text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from language.models.settings import ModelSettings

_QUESTION = "Answer with the word ok."
_MOST = 512
_SECONDS = 60.0


def command(words: Sequence[str]) -> int:
    """Exit code 0 if a model is configured and, with ``--try``, answers; otherwise 1."""
    arguments = parse("llm", words, LLM)
    said = [*arguments.paths, *arguments.rest]
    if said != ["status"]:
        extra = said[1:] if said[:1] == ["status"] else said
        raise UsageError("llm", f"unexpected '{clean(extra[0])}'" if extra else "no subcommand given: lang llm status")
    host = CommandHost(chosen(arguments))
    report, problem = _report(host)
    code = 0 if problem is None else 1
    if problem is None and arguments.given("--try"):
        report["try"] = _tried(host)
        code = 0 if report["try"]["ok"] else 1
    if arguments.given("--json"):
        out(json.dumps(report, ensure_ascii=False))
    else:
        _show(report)
    return code


def _report(host: CommandHost) -> tuple[dict[str, Any], str | None]:
    """The configuration, and the problem if there is no model."""
    from language.native.models import configured_settings

    named = host.setting("PLATFORM_LLM_PROVIDER")
    report: dict[str, Any] = {"available": True, "problem": None}
    if named is not None and named[0] == "mock":
        script = host.setting("PLATFORM_LLM_MOCK")
        report["provider"] = {"value": "mock", "source": named[1]}
        report["mock"] = {"value": "" if script is None else script[0], "source": "default" if script is None else script[1]}
        _add_budget(report, host)
        return report, None
    settings = configured_settings(host)
    if isinstance(settings, str):
        return {"available": False, "problem": settings}, settings
    report.update(_of(settings))
    _add_budget(report, host)
    return report, None


def _of(settings: ModelSettings) -> dict[str, Any]:
    sources = settings.sources
    values: dict[str, Any] = {
        "provider": settings.provider.name,
        "wire": settings.wire,
        "model": settings.model,
        "base": settings.base,
        "max_tokens": settings.max_tokens,
        "timeout": settings.silence,
        "stream": settings.stream,
        "context": settings.context,
    }
    report = {name: {"value": value, "source": sources.get(name, "default")} for name, value in values.items()}
    key = settings.provider.key
    report["key"] = {"name": key, "present": settings.key is not None, "source": sources["key"]}
    report["models"] = dict(settings.aliases)
    return report


def _add_budget(report: dict[str, Any], host: CommandHost) -> None:
    given = host.setting("PLATFORM_LLM_BUDGET")
    report["budget"] = {"value": host.llm_usage.budget, "source": "default" if given is None else given[1]}


def _tried(host: CommandHost) -> dict[str, Any]:
    """Asks the model one short question."""
    from language.errors import RuntimeFault
    from language.host.llm import converse
    from language.models.conversation import ChatMessage, ModelRequest
    from language.runtime.context import Context

    began = host.monotonic()
    request = ModelRequest((ChatMessage("user", _QUESTION),), max_tokens=_MOST, timeout=_SECONDS, retries=0)
    try:
        reply = converse(Context(host), request)
    except RuntimeFault as fault:
        return {"ok": False, "error": fault.message, "help": fault.help}
    taken = round((host.monotonic() - began) * 1000)
    return {"ok": True, "model": reply.model, "ms": taken, "tokens": {"input": reply.usage.input, "output": reply.usage.output}}


def _show(report: dict[str, Any]) -> None:
    if report["problem"] is not None:
        err(f"lang llm: {one_line(report['problem'])}")
        return
    for name, entry in report.items():
        if name == "key":
            shown = "none needed" if entry["name"] is None else f"{entry['name']} is {'set' if entry['present'] else 'not set'}"
            _line(name, shown, entry["source"] if entry["present"] else "")
        elif name == "models":
            for alias, model in entry.items():
                _line(f"model {alias}", model, "")
        elif name == "try":
            _show_try(entry)
        elif isinstance(entry, dict):
            value = entry["value"]
            shown = "none" if value in (None, "") else f"{value:g} s" if name == "timeout" else str(value)
            _line(name.replace("_", " "), shown, entry["source"])


def _line(name: str, value: object, source: str) -> None:
    out(one_line(f"{name:<12}{value}" + f"  ({source})" * bool(source)))


def _show_try(tried: dict[str, Any]) -> None:
    if tried["ok"]:
        tokens = tried["tokens"]
        out(one_line(f"{'answers':<12}yes: {tried['model']}, {tokens['input']} + {tokens['output']} tokens, {tried['ms']} ms"))
    else:
        err(one_line(f"lang llm: the model does not answer: {tried['error']} {tried['help']}".rstrip()))
