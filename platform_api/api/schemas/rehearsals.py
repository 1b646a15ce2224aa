"""Rehearsals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct, UnsetType

from platform_api.api.schemas.projects import FileSent
from platform_api.api.schemas.shared import Answer
from platform_api.moments import rfc3339, rfc3339_or_none
from platform_api.rehearsals.findings import from_json
from platform_api.runs.operations import LIST_TAIL, TAIL, tail

if TYPE_CHECKING:
    from sqlalchemy import Row


class AskRehearsal(Struct):
    """The body of ``POST /projects/{id}/rehearsals``. Without any of these the current package is rehearsed.

    Attributes:
        files: a new package; ``entry`` is its entry file.
        source: the text of the entry file, in place of the one of the package.
        pull: the package is fetched anew from the project's repository.
    """

    files: list[FileSent] | None = None
    entry: str | None = None
    source: str | None = None
    pull: bool = False


class Attempt(Answer):
    """Something that the program tried and was refused.

    ``capability`` is one of the language's, or ``approve``, ``confirm`` or ``ask`` for a gate, with its question as the scope.
    ``allowed`` says whether a deploy of this version would be allowed to, ``live`` the same of the live version, null without
    one. ``file`` and ``line`` are where it was tried first, ``line`` null where that is not known.
    """

    capability: str
    scope: str | None
    file: str
    line: int | None
    source: str
    count: int
    allowed: bool
    live: bool | None


class Rehearsal(Answer):
    """A rehearsal: ``queued``, ``running``, ``ended``, ``timed_out`` or ``failed``.

    ``ceiling`` is what a deploy of this version would be given, ``live_ceiling`` that of the live version. ``more`` counts the
    attempts that ``tried`` has no room for.
    """

    id: str
    status: str
    detail: str
    package_hash: str
    entry: str
    ceiling: str
    live_ceiling: str | None
    exit_code: int | None
    output: str
    tried: list[Attempt]
    more: int
    created_at: str
    started_at: str | None
    finished_at: str | None


class RehearsalShown(Answer):
    """One rehearsal."""

    rehearsal: Rehearsal


class RehearsalList(Answer):
    """The rehearsals of a project, newest first."""

    items: list[Rehearsal]
    next_cursor: str | UnsetType | None = UNSET


def rehearsal_answer(row: Row[Any], size: int = TAIL) -> Rehearsal:
    """A row of ``rehearsals`` as answers show it.

    Args:
        size: bytes of output that are shown.
    """
    return Rehearsal(
        id=row.id,
        status=row.status,
        detail=row.detail,
        package_hash=row.package_hash,
        entry=row.entry,
        ceiling=row.ceiling,
        live_ceiling=row.live_ceiling,
        exit_code=row.exit_code,
        output=tail(row.output, size),
        tried=[
            Attempt(
                capability=one.capability,
                scope=one.scope,
                file=one.file,
                line=one.line,
                source=one.source,
                count=one.count,
                allowed=one.allowed,
                live=one.live,
            )
            for one in from_json(row.tried)
        ],
        more=row.more,
        created_at=rfc3339(row.created_at),
        started_at=rfc3339_or_none(row.started_at),
        finished_at=rfc3339_or_none(row.finished_at),
    )


def listed_rehearsal(row: Row[Any]) -> Rehearsal:
    """A rehearsal in a list."""
    return rehearsal_answer(row, LIST_TAIL)
