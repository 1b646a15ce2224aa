"""Where the files of a new project come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from platform_api.packages.files import SentFile
from platform_api.packages.intake import take_package
from platform_api.packages.package import PackageFile
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
    if wanted.recipe is not None:
        return await _from_recipe(platform, account_id, wanted, wanted.recipe)
    ref = wanted.ref or ""
    files: Sequence[SentFile] | Sequence[PackageFile] | None = wanted.files
    if wanted.repo is not None:
        files = await platform.repositories.fetch(account_id, wanted.repo, ref)
    taken = await take_package(platform, account_id, files=files, source=wanted.source, entry=wanted.entry, kind=wanted.kind)
    return NewProject(wanted.name, *taken, repo=wanted.repo or "", ref=ref if wanted.repo else "")


async def _from_recipe(platform: Platform, account_id: str, wanted: Wanted, slug: str) -> NewProject:
    recipe, package = await platform.recipes.find(slug)
    came_from = (recipe.slug, recipe.version)
    if wanted.entry is None and wanted.kind is None:
        return NewProject(wanted.name, package.files, package.entry, package.kind, package.inspection, came_from)
    taken = await take_package(platform, account_id, files=package.files, entry=wanted.entry, kind=wanted.kind)
    return NewProject(wanted.name, *taken, came_from)
