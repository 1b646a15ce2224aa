"""A programming language for agent programs: the public names for Python programs that embed it.

    import language

    language.run('print("hello")')["output"]      # ["hello"]

``Program(source, ...)`` holds one source with its options; ``run``, ``test``, ``check`` and ``handle`` are its methods as
functions. ``call_json`` is the same as text to text.

For a service that takes programs from others, ``inspect`` reads the manifest of a program, ``compare`` says what a new version
holds more, ``declared_versus_done`` what was used. ``Schedule``, ``AuditChain``, ``verify_audit``, ``webhook_signature`` and
``verify_signature`` are for what lies around a run; ``ToolOffer``, ``ToolExchange`` and ``ToolCall`` for a service that offers
tools over MCP. Everything else is private to its folder.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from language.analysis.comparison import Comparison, compare
    from language.analysis.declared_use import DeclaredUse, DeclaredVersusDone, RefusedCapability, declared_versus_done
    from language.analysis.inspection import inspect
    from language.analysis.manifest import (
        DeclaredGate,
        DeclaredJob,
        DeclaredRoute,
        DeclaredTool,
        Manifest,
        Problem,
        Reading,
        Requirement,
    )
    from language.audit.chain import AuditChain, AuditLink, AuditVerification, verify_audit
    from language.calendar.schedule import Schedule
    from language.capabilities import Capability, Ceiling
    from language.capabilities.public_addresses import is_public_address
    from language.capabilities.reserved_addresses import reserved_address
    from language.errors import (
        ERROR_KINDS,
        LanguageError,
        LexerError,
        ParseError,
        RuntimeFault,
    )
    from language.gates import MOST_GATE_OPTIONS
    from language.gates.signature import verify_signature, webhook_signature
    from language.host import EmbeddedHost, Host
    from language.json_call import call_json
    from language.mcp.exchange import ToolCall, ToolExchange, ToolOffer
    from language.native.host import NativeHost
    from language.program import Program, version

__all__ = [
    "ERROR_KINDS",
    "MOST_GATE_OPTIONS",
    "AuditChain",
    "AuditLink",
    "AuditVerification",
    "Capability",
    "Ceiling",
    "Comparison",
    "DeclaredGate",
    "DeclaredJob",
    "DeclaredRoute",
    "DeclaredTool",
    "DeclaredUse",
    "DeclaredVersusDone",
    "EmbeddedHost",
    "Host",
    "LanguageError",
    "LexerError",
    "Manifest",
    "NativeHost",
    "ParseError",
    "Problem",
    "Program",
    "Reading",
    "RefusedCapability",
    "Requirement",
    "RuntimeFault",
    "Schedule",
    "ToolCall",
    "ToolExchange",
    "ToolOffer",
    "call_json",
    "check",
    "compare",
    "declared_versus_done",
    "handle",
    "inspect",
    "is_public_address",
    "reserved_address",
    "run",
    "test",
    "verify_audit",
    "verify_signature",
    "version",
    "webhook_signature",
]

_HOME = {
    "AuditChain": "audit.chain",
    "AuditLink": "audit.chain",
    "AuditVerification": "audit.chain",
    "Capability": "capabilities",
    "Ceiling": "capabilities",
    "Comparison": "analysis.comparison",
    "DeclaredGate": "analysis.manifest",
    "DeclaredJob": "analysis.manifest",
    "DeclaredRoute": "analysis.manifest",
    "DeclaredTool": "analysis.manifest",
    "DeclaredUse": "analysis.declared_use",
    "DeclaredVersusDone": "analysis.declared_use",
    "ERROR_KINDS": "errors",
    "EmbeddedHost": "host",
    "Host": "host",
    "LanguageError": "errors",
    "LexerError": "errors",
    "MOST_GATE_OPTIONS": "gates",
    "Manifest": "analysis.manifest",
    "NativeHost": "native.host",
    "ParseError": "errors",
    "Problem": "analysis.manifest",
    "Program": "program",
    "Reading": "analysis.manifest",
    "RefusedCapability": "analysis.declared_use",
    "Requirement": "analysis.manifest",
    "RuntimeFault": "errors",
    "Schedule": "calendar.schedule",
    "ToolCall": "mcp.exchange",
    "ToolExchange": "mcp.exchange",
    "ToolOffer": "mcp.exchange",
    "call_json": "json_call",
    "compare": "analysis.comparison",
    "declared_versus_done": "analysis.declared_use",
    "inspect": "analysis.inspection",
    "is_public_address": "capabilities.public_addresses",
    "reserved_address": "capabilities.reserved_addresses",
    "verify_audit": "audit.chain",
    "verify_signature": "gates.signature",
    "version": "program",
    "webhook_signature": "gates.signature",
}


def __getattr__(name: str) -> Any:
    # Imported when it is first used: a warm start of the command must not import what it does not need.
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'language' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"language.{home}"), name)
    globals()[name] = value
    return value


def library() -> Any:
    """The package ``stdlib`` with the builtins. The core imports it only through this function. Not a public name."""
    import stdlib

    return stdlib


def run(source: str, **options: Any) -> dict[str, Any]:
    """Runs a program; options and answer as :meth:`Program.run`."""
    from language.program import Program

    return Program(source, **options).run()


def handle(source: str, request: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """Answers one HTTP request with a program; see :meth:`Program.handle`, which keeps the program for the next one."""
    from language.program import Program

    return Program(source, **options).handle(request)


def test(source: str, **options: Any) -> dict[str, Any]:
    """Runs a program's test blocks; options and answer as :meth:`Program.test`."""
    from language.program import Program

    return Program(source, **options).test()


def check(source: str, *, problems: bool = False, **options: Any) -> dict[str, Any]:
    """Checks a program without running it; options and answer as :meth:`Program.check`."""
    from language.program import Program

    return Program(source, **options).check(problems=problems)
