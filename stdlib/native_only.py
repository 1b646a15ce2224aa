"""The refusal of builtins that a host cannot offer."""

from __future__ import annotations

from language.errors import RuntimeFault


def native_only(name: str, why: str) -> RuntimeFault:
    """The error of a builtin that this build lacks; it comes before any check of capabilities."""
    return RuntimeFault(
        f"{name}: not available in the wasm profile — {why} (run the program with the native `lang` binary)", kind="unsupported"
    )
