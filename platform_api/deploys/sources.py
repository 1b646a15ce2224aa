"""Where the package of a new deploy comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from platform_api.packages.intake import Taken, take_package
from platform_api.packages.storage import load_package
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

    from platform_api.packages.files import SentFile
    from platform_api.platform import Platform


async def new_package(
    platform: Platform, project: Row[Any], files: Sequence[SentFile] | None, source: str | None, entry: str | None
) -> Taken:
    """A package of files that are sent, of a new entry file beside the stored ones, or of both.

    Args:
        entry: the entry file of ``files``; without them it stays what it is.

    Errors: ``validation``.
    """
    if files is not None:
        return await take_package(platform, project.account_id, files=files, source=source, entry=entry, kind=project.kind)
    stored = await platform.store.main.scan(load_package, project.package_hash)
    return await take_package(
        platform, project.account_id, files=stored.files, source=source, entry=stored.entry, kind=project.kind
    )


async def pulled_package(platform: Platform, project: Row[Any]) -> Taken:
    """The package that the project's repository holds now.

    Errors: ``conflict`` for a project that was not made from one, ``upstream_failed``, ``validation``.
    """
    if not project.repo:
        raise Refusal("conflict", f"{project.name!r} was not made from a repository: there is nothing to pull.", field="pull")
    files = await platform.repositories.fetch(project.account_id, project.repo, project.ref)
    return await take_package(platform, project.account_id, files=files, kind=project.kind)
