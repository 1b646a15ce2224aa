"""Projects: made, listed, shown, changed, deleted; their packages."""

from __future__ import annotations

from functools import partial

from litestar import Router, delete, get, patch, post
from litestar.params import FromPath, JSONBody

from platform_api.api.large_answers import LargeAnswer, in_a_thread
from platform_api.api.paging import Cursor, Limit, Page
from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.deploys import ceiling_answer, deploy_answer
from platform_api.api.schemas.projects import (
    Changed,
    ChangeProject,
    CreatedNow,
    CreateProject,
    Deleted,
    Detail,
    Package,
    Projects,
    listing_answer,
    package_json,
    problems_answer,
    project_answer,
    sent_files,
)
from platform_api.kept_answers import FROM_THE_STORE
from platform_api.packages.storage import load_package
from platform_api.projects.change import change_project
from platform_api.projects.create import create_project
from platform_api.projects.delete import delete_project
from platform_api.projects.find import project_of
from platform_api.projects.listing import detail_of, list_projects, shown_project
from platform_api.projects.slugs import slug_note
from platform_api.projects.sources import Wanted, new_project
from platform_api.store.database import Database


@post("/projects", status_code=200)
async def create(request: ApiRequest, data: JSONBody[CreateProject]) -> CreatedNow:
    """Makes a project of files, of a recipe, of a public repository or of one source text. Nothing is deployed."""
    principal, platform = request.principal, request.platform
    principal.needs("deploy")
    wanted = Wanted(
        name=data.name,
        files=sent_files(data.files),
        recipe=data.recipe,
        repo=data.repo,
        ref=data.ref,
        source=data.source,
        entry=data.entry,
        kind=data.kind,
    )
    new = await new_project(platform, principal.account_id, wanted)
    main, first_port = platform.store.main, platform.settings.first_apps_port
    project_id = await main.write(create_project, platform.plans, first_port, principal.account_id, new)
    made = await main.read(detail_of, platform.plans, principal, project_id)
    return CreatedNow(
        project=project_answer(platform.settings, made.project),
        ceiling=ceiling_answer(made.ceiling),
        package=listing_answer(made.package),
        missing_secrets=made.missing_secrets,
        problems=problems_answer(made.package.inspection),
        slug_note=slug_note(made.project.name, made.project.slug),
    )


@get("/projects", opt=FROM_THE_STORE)
async def projects(request: ApiRequest, limit: Limit = None, cursor: Cursor = None) -> Projects:
    """The projects of the account, newest first."""
    request.principal.needs("read")
    page, platform = Page(limit, cursor), request.platform
    rows = await platform.store.main.read(list_projects, request.principal, page.wanted, page.after)
    shown, following = page.cut(rows)
    return Projects(items=[project_answer(platform.settings, row) for row in shown], next_cursor=following)


@get("/projects/{project_id:str}", opt=FROM_THE_STORE)
async def detail(request: ApiRequest, project_id: FromPath[str]) -> Detail:
    """A project, what a deploy of its package would be given, what is missing for that, its newest deploys."""
    request.principal.needs("read")
    platform = request.platform
    found = await platform.store.main.read(detail_of, platform.plans, request.principal, project_id)
    return Detail(
        project=project_answer(platform.settings, found.project),
        ceiling=ceiling_answer(found.ceiling),
        package=listing_answer(found.package),
        missing_secrets=found.missing_secrets,
        problems=problems_answer(found.package.inspection),
        blocked=found.blocked,
        deploys=[deploy_answer(row) for row in found.deploys],
    )


@patch("/projects/{project_id:str}")
async def change(request: ApiRequest, project_id: FromPath[str], data: JSONBody[ChangeProject]) -> Changed:
    """Changes a project. The memory holds from the next deploy on.

    With ``review_widening`` a deploy that may do more than the live one waits for a person. Turning it off needs the scope
    ``approve``.
    """
    request.principal.needs("deploy")
    platform = request.platform
    main = platform.store.main
    wanted = (data.name, data.memory_mb, data.review_widening)
    await main.write(change_project, platform.plans, request.principal, project_id, *wanted)
    return Changed(project=project_answer(platform.settings, await main.read(shown_project, project_id)))


@delete("/projects/{project_id:str}", status_code=200)
async def remove(request: ApiRequest, project_id: FromPath[str]) -> Deleted:
    """Deletes a project. One that ever reached a runner is ``deleting`` until its container and volume are erased."""
    request.principal.needs("deploy")
    return Deleted(status=await request.platform.store.main.write(delete_project, request.principal, project_id))


@get("/projects/{project_id:str}/package")
async def package(request: ApiRequest, project_id: FromPath[str]) -> LargeAnswer[Package]:
    """The current package of a project, with the contents of its files in the encoding that they were sent in."""
    request.principal.needs("read")
    platform = request.platform
    main = platform.store.main
    row = await main.read(project_of, request.principal, project_id)
    # It may have twenty megabytes: they are unpacked and encoded in a thread.
    content = partial(in_a_thread, _package, main, row.package_hash)
    return LargeAnswer(platform.downloads.one(request.principal.account_id), content)


def _package(main: Database, package_hash: str) -> bytes:
    with main.reading() as connection:
        found = load_package(connection, package_hash)
    return package_json(found, package_hash)


router = Router(path="/", route_handlers=[create, projects, detail, change, remove, package], tags=["projects"])
