"""The deploys of a project: what each may do, and what that changes; going back; a new version."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from litestar import Response, get, post
from litestar.params import FromPath, QueryParameter

from platform_api.api.streams import LAST_NUMBER
from platform_api.browser import PageRequest
from platform_api.dashboard.declared import found_of
from platform_api.dashboard.forms import field, source_or_files
from platform_api.dashboard.project import project_page
from platform_api.dashboard.rendering import go
from platform_api.deploys import operations
from platform_api.deploys.difference import WAS_LIVE, Difference, difference
from platform_api.deploys.request import Asked, deploy_package
from platform_api.deploys.sources import new_package
from platform_api.plans.ceilings import EffectiveCeiling
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal
from platform_api.rehearsals.operations import rehearsals_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

_SHOWN, _REHEARSALS = 30, 3


@dataclass(frozen=True, slots=True)
class ShownDeploy:
    """A deploy beside the one before it.

    Attributes:
        added: what it may do and the one before may not.
        removed: the other way round.
    """

    row: Row[Any]
    ceiling: EffectiveCeiling
    added: tuple[str, ...]
    removed: tuple[str, ...]


def beside_each_other(rows: Sequence[Row[Any]]) -> list[ShownDeploy]:
    """The deploys of a list, newest first, each beside the newest one under it that was live."""
    shown = []
    for index, row in enumerate(rows):
        ceiling = EffectiveCeiling.from_json(json.loads(row.ceiling))
        before = next((other for other in rows[index + 1 :] if other.status in WAS_LIVE), None)
        changed = Difference() if before is None else difference(json.loads(before.ceiling)["text"], ceiling.text)
        shown.append(ShownDeploy(row, ceiling, changed.added, changed.removed))
    return shown


async def deploys_page(
    request: PageRequest, project_id: str, refusal: Refusal | None = None, *, before: int | None = None, source: str = ""
) -> Response[Any]:
    """The page of the deploys.

    Args:
        before: shows only those with a lower number.
        source: the program that was pasted.
    """
    main = request.platform.store.main
    await main.read(project_of, request.principal, project_id)
    rows = await main.read(operations.deploys_of, project_id, _SHOWN + 1, before)
    return await project_page(
        request,
        project_id,
        "deploys",
        refusal,
        deploys=beside_each_other(rows)[:_SHOWN],
        older=rows[_SHOWN - 1].number if len(rows) > _SHOWN else None,
        declared=await found_of(request, project_id),
        rehearsals=await main.read(rehearsals_of, project_id, _REHEARSALS),
        source=source,
    )


@get("/projects/{project_id:str}/deploys")
async def show_deploys(
    request: PageRequest, project_id: FromPath[str], before: Annotated[int | None, QueryParameter(ge=1, le=LAST_NUMBER)] = None
) -> Response[Any]:
    """The deploys, newest first."""
    return await deploys_page(request, project_id, before=before)


@post("/projects/{project_id:str}/deploys", status_code=200)
async def do_new_version(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Deploys another text of the entry file, or other files."""
    principal, platform = request.principal, request.platform
    project = await platform.store.main.read(project_of, principal, project_id)
    source, files = await source_or_files(request)
    try:
        if source is None and files is None:
            raise Refusal("validation", "Paste a program or choose files.", field="source")
        taken = await new_package(platform, project, files, source, None)
        write, asked = platform.store.main.write, Asked.by(principal)
        await write(deploy_package, platform.keys, platform.plans, principal, project_id, asked, taken)
    except Refusal as refusal:
        return await deploys_page(request, project_id, refusal, source=source or "")
    return go(f"/projects/{project_id}")


@post("/projects/{project_id:str}/deploys/{deploy_id:str}/confirm", status_code=200)
async def do_confirm(request: PageRequest, project_id: FromPath[str], deploy_id: FromPath[str]) -> Response[Any]:
    """Agrees to a deploy that may do more than the one before, or ends it."""
    request.principal.needs("approve")
    platform, agreed = request.platform, await field(request, "decision") == "yes"
    write = platform.store.main.write
    try:
        await write(operations.confirm, platform.plans, request.principal, project_id, deploy_id, agreed=agreed)
    except Refusal as refusal:
        return await deploys_page(request, project_id, refusal)
    return go(f"/projects/{project_id}/deploys")


@post("/projects/{project_id:str}/deploys/{deploy_id:str}/rollback", status_code=200)
async def do_rollback(request: PageRequest, project_id: FromPath[str], deploy_id: FromPath[str]) -> Response[Any]:
    """Deploys an earlier package again."""
    platform = request.platform
    write = platform.store.main.write
    try:
        await write(operations.roll_back, platform.keys, platform.plans, request.principal, project_id, deploy_id)
    except Refusal as refusal:
        return await deploys_page(request, project_id, refusal)
    return go(f"/projects/{project_id}/deploys")
