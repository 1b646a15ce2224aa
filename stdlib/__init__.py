"""The builtins, one module for each family. A program imports only the families that it uses.

``FAMILIES`` lists the modules in the order of the manual. ``load_family(name)`` imports one of them. ``all_builtins()``
imports all and returns a map from names to :class:`~language.registry.Builtin`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.registry import Builtin, Family

FAMILIES = (
    "core",
    "text",
    "regex",
    "lists",
    "tables",
    "mathematics",
    "statistics",
    "arrays",
    "linear_algebra",
    "encoding",
    "urls",
    "hashing",
    "json_format",
    "csv_format",
    "toml_format",
    "xml_format",
    "time_format",
    "dates",
    "clock",
    "randomness",
    "seeded_random",
    "environment",
    "files",
    "archives",
    "file_watches",
    "terminal",
    "processes",
    "child_processes",
    "http_client",
    "evm_reads",
    "solana_reads",
    "algorand_reads",
    "bitcoin_reads",
    "sealing",
    "passwords",
    "tokens",
    "jwt",
    "totp",
    "encryption",
    "templates",
    "content",
    "charts",
    "markdown",
    "llm",
    "llm_steps",
    "tool_loop",
    "memory",
    "rules",
    "progress",
    "state",
    "concurrency",
    "control",
    "agents",
    "bus",
    "selection",
    "sql",
    "redis",
    "scheduler",
    "responses",
    "cookies",
    "websockets",
    "pages",
    "validation",
    "tools",
    "mcp_server",
    "mcp_client",
)


def load_family(name: str) -> Family:
    """Imports the family of that module name and returns it. Raises ``ModuleNotFoundError`` for any other name."""
    module: Any = __import__("stdlib." + name, None, None, ("family",))
    family: Family = module.family
    return family


def all_builtins() -> dict[str, Builtin]:
    """Every builtin by name. Returns the same map each time, because every compilation needs it; do not change it."""
    if not _builtins:
        _builtins.update({name: builtin for family in FAMILIES for name, builtin in load_family(family).builtins.items()})
    return _builtins


def all_constants() -> dict[str, tuple[str, Any]]:
    """Every constant by name, with the family that declares it. Returns the same map each time; do not change it."""
    if not _constants:
        _constants.update(
            {name: (family, value) for family in FAMILIES for name, value in load_family(family).constants.items()}
        )
    return _constants


_builtins: dict[str, Builtin] = {}
_constants: dict[str, tuple[str, Any]] = {}
