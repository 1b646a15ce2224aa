"""Where the files of a new project come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from platform_api.packages.files import SentFile
from platform_api.packages.intake import take_package
from platform_api.projects.create import NewProject
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from platform_api.platform import Platform


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks for: exactly one of ``files``, ``recipe``, ``repo`` and ``source`` is given.

    Attributes:
        ref: the branch or tag of ``repo``; ``None`` is its default branch.
        entry: the path of the entry file, and ``kind`` what it is to be; ``None`` leaves both to the program.
    """

    name: str
    files: Sequence[SentFile] | None = None
    recipe: str | None = None
    repo: str | None = None
    ref: str | None = None
    source: str | None = None
    entry: str | None = None
    kind: str | None = None


async def new_project(platform: Platform, account_id: str, wanted: Wanted) -> NewProject:
    """The project that a request asks for, fetched and analysed, not stored.

    Errors: ``validation``; ``upstream_failed`` for a repository that cannot be fetched.
    """
    given = [name for name in ("files", "recipe", "repo", "source") if getattr(wanted, name) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "none of them"
        raise Refusal("validation", f"Exactly one of files, recipe, repo and source is to be given, not {found}.")
    files, entry, kind, inspection = await take_package(
        platform, account_id, files=wanted.files, source=wanted.source, entry=wanted.entry, kind=wanted.kind
    )
    return NewProject(wanted.name, files, entry, kind, inspection)
