"""The text of the notice for an event. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: The kinds of notices.
KINDS = ("gate", "deploy", "run")
_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice. ``kind`` is one of ``KINDS``."""

    kind: str
    title: str
    body: str


def notice_of(event: Mapping[str, Any], project_name: str, project_id: str, base_url: str) -> Notice | None:
    """The notice of an event, ``None`` for one that nobody is told of."""
    name = event.get("event")
    page = f"{base_url}/projects/{project_id}"
    project = _shown(project_name)
    if name == "gate_opened":
        question = _shown(event.get("message"))
        return Notice("gate", f"{project} asks for an answer", f"{question}\n\n{base_url}/approvals")
    if name == "deploy_needs_review":
        return Notice(
            "deploy", f"{project}: a deploy waits for a confirmation", f"It may do more than the one before.\n\n{page}"
        )
    if name == "deploy_failed":
        number = f"Deploy {event['number']}" if "number" in event else "A deploy"
        return Notice(
            "deploy", f"{project}: a deploy failed", f"{number}: {_shown(event.get('error')) or 'no reason'}\n\n{page}"
        )
    if name in ("run_failed", "run_timed_out"):
        how = "took too long" if name == "run_timed_out" else "failed"
        code = event.get("exit_code")
        said = f"It {how}." if code is None else f"It {how} with exit code {code}."
        return Notice("run", f"{project}: a run {how}", f"{said}\n\n{page}")
    return None


def _shown(text: object) -> str:
    """A text of a program on one line, without control characters."""
    line = " ".join(str(text or "").split())
    return "".join(character if character.isprintable() else "\ufffd" for character in line)[:_LONGEST]
