"""The builtins, one module a family. A program loads only the families it uses.

``FAMILIES`` lists the modules in the order of the manual. ``load_family(name)`` imports one; ``all_builtins()`` imports them
all and answers name → :class:`~language.registry.Builtin`.
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
    "encoding",
    "hashing",
    "json_format",
    "csv_format",
    "toml_format",
    "time_format",
    "clock",
    "randomness",
    "environment",
    "files",
    "file_watches",
    "processes",
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
    "templates",
    "content",
    "charts",
    "markdown",
    "llm",
    "memory",
    "state",
    "concurrency",
    "sql",
    "redis",
    "scheduler",
    "responses",
    "cookies",
    "websockets",
    "pages",
    "tools",
    "mcp_server",
    "mcp_client",
)


def load_family(name: str) -> Family:
    """The family of that module name. Raises ``ModuleNotFoundError`` for a name that is no family."""
    module: Any = __import__("stdlib." + name, None, None, ("family",))
    family: Family = module.family
    return family


def all_builtins() -> dict[str, Builtin]:
    """Every builtin by name; the same map each time, for reading: every compilation asks for it."""
    if not _builtins:
        _builtins.update({name: builtin for family in FAMILIES for name, builtin in load_family(family).builtins.items()})
    return _builtins


def all_constants() -> dict[str, tuple[str, Any]]:
    """Every constant by name, with the family that declares it; the same map each time, for reading."""
    if not _constants:
        _constants.update(
            {name: (family, value) for family in FAMILIES for name, value in load_family(family).constants.items()}
        )
    return _constants


_builtins: dict[str, Builtin] = {}
_constants: dict[str, tuple[str, Any]] = {}
