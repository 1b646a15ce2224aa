"""The error of builtins that a host cannot provide."""

from __future__ import annotations

from language.errors import RuntimeFault


def native_only(name: str, why: str) -> RuntimeFault:
    """The error of a builtin that this build does not have; raised before any capability is checked."""
    return RuntimeFault(
        f"{name}: not available in the wasm profile — {why} (run the program with the native `lang` binary)", kind="unsupported"
    )
