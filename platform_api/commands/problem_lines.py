"""What the check found in a program, as lines of the commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from platform_api.commands.output import plain


def problem_lines(problems: Any) -> Iterator[str]:
    """A line for each problem of an answer, and one for what to do where the answer says so.

    Args:
        problems: what stands in the answer: a list of maps with ``path``, ``line``, ``column``, ``message``, perhaps
            ``severity`` and ``help``. Anything else gives no line.
    """
    for found in problems if isinstance(problems, list) else ():
        if isinstance(found, dict):
            place = ":".join(plain(found.get(name, "?")) for name in ("path", "line", "column"))
            severity = "warning: " if found.get("severity") == "warning" else ""
            yield f"  {place}: {severity}{plain(found.get('message', ''))}"
            if cure := found.get("help"):
                yield f"    help: {plain(cure)}"
