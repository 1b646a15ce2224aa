"""Rehearsals: a version is tried without any rights, beside what runs."""

from __future__ import annotations

from litestar import Router, get, post
from litestar.params import FromPath, JSONBody

from platform_api.api.paging import Cursor, Limit, Page
from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.projects import sent_files
from platform_api.api.schemas.rehearsals import (
    AskRehearsal,
    RehearsalList,
    RehearsalShown,
    listed_rehearsal,
    rehearsal_answer,
)
from platform_api.deploys.sources import new_package, pulled_package
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal
from platform_api.rehearsals.operations import rehearsal_of, rehearsals_of, request_rehearsal


@post("/projects/{project_id:str}/rehearsals", status_code=200)
async def ask(request: ApiRequest, project_id: FromPath[str], data: JSONBody[AskRehearsal]) -> RehearsalShown:
    """Starts a version once that may print and read the clock and nothing else, to see what it tries.

    It has no variables, no secrets and an empty volume, every gate is denied, and nobody sends it a request: of a service only
    its top level is seen. A refusal that the program does not handle ends it, so what stands behind one is not seen either.
    """
    principal, platform = request.principal, request.platform
    principal.needs("deploy")
    main = platform.store.main
    project = await main.read(project_of, principal, project_id)
    sent = [name for name in ("files", "source") if getattr(data, name) is not None]
    if data.pull and sent:
        raise Refusal("validation", f"Only one of {sent[0]} and pull can be asked for at a time.", field="pull")
    taken = None
    if data.pull:
        taken = await pulled_package(platform, project)
    elif data.files is not None or data.source is not None:
        taken = await new_package(platform, project, sent_files(data.files), data.source, data.entry)
    row = await main.write(request_rehearsal, platform.plans, principal, project_id, taken)
    return RehearsalShown(rehearsal=rehearsal_answer(row))


@get("/projects/{project_id:str}/rehearsals")
async def rehearsals(
    request: ApiRequest, project_id: FromPath[str], limit: Limit = None, cursor: Cursor = None
) -> RehearsalList:
    """The rehearsals of a project, newest first. The last 20 are kept."""
    request.principal.needs("read")
    main = request.platform.store.main
    page = Page(limit, cursor)
    await main.read(project_of, request.principal, project_id)
    shown, following = page.cut(await main.read(rehearsals_of, project_id, page.wanted, page.after))
    return RehearsalList(items=[listed_rehearsal(row) for row in shown], next_cursor=following)


@get("/projects/{project_id:str}/rehearsals/{rehearsal_id:str}")
async def one(request: ApiRequest, project_id: FromPath[str], rehearsal_id: FromPath[str]) -> RehearsalShown:
    """A rehearsal, with what the program tried beside what it would be allowed to."""
    request.principal.needs("read")
    main = request.platform.store.main
    await main.read(project_of, request.principal, project_id)
    return RehearsalShown(rehearsal=rehearsal_answer(await main.read(rehearsal_of, project_id, rehearsal_id)))


router = Router(path="/", route_handlers=[ask, rehearsals, one], tags=["rehearsals"])
