"""What variables and secrets may be called."""

from __future__ import annotations

import re

_SECRET = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_RESERVED = "PLATFORM_"
#: Prefixes of reserved names that projects may set nevertheless.
_OPEN = ("PLATFORM_HUMAN_", "PLATFORM_LLM_")
#: It would send what a program holds, the data of its users with it, to the provider of its model.
_NOT_DEPLOYED = "PLATFORM_LLM_CONTEXT"


def name_problem(name: str, kind: str) -> str:
    """Why a name is not valid for that kind, as a sentence; empty for a valid one.

    Args:
        kind: ``secret`` or ``variable``.
    """
    if kind == "secret" and not _SECRET.fullmatch(name):
        return "The name of a secret is written in capitals, digits and _, begins with a letter and has at most 64 characters."
    if kind == "variable" and not _VARIABLE.fullmatch(name):
        return "The name of a variable has letters, digits and _, begins with no digit and has at most 64 characters."
    if name.upper().startswith(_RESERVED) and not name.startswith(_OPEN):
        return f"Names that begin with {_RESERVED} belong to the service, but for {' and '.join(f'{each}*' for each in _OPEN)}."
    if name.upper() == _NOT_DEPLOYED:
        return f"A deployed program does not have {_NOT_DEPLOYED}: its variables would go to the provider of its model."
    return ""
