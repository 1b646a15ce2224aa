"""Deploys: asked for, looked at, confirmed, gone back to; stopping; the deploy hook."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from litestar import Router, delete, get, post
from litestar.params import FromPath, JSONBody

from platform_api.accounts.tokens import digest
from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.deploys import deploy_answer
from platform_api.api.schemas.deploys_asked import AskDeploy, Confirm, DeployAsked, DeployShown, Hook, HookDone, Stopped
from platform_api.api.schemas.projects import problems_answer, sent_files
from platform_api.api.schemas.shared import Done
from platform_api.deploys import operations
from platform_api.deploys.request import Asked, deploy_package
from platform_api.deploys.sources import new_package, pulled_package
from platform_api.environment.values import missing_secrets
from platform_api.kept_answers import FROM_THE_STORE
from platform_api.packages.storage import load_inspection
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from sqlalchemy import Row

    from platform_api.platform import Platform


@post("/projects/{project_id:str}/deploys", status_code=200)
async def ask(request: ApiRequest, project_id: FromPath[str], data: JSONBody[AskDeploy]) -> DeployAsked:
    """Queues a deploy of the current package, of a new one, or of one with another entry file."""
    principal, platform = request.principal, request.platform
    principal.needs("deploy")
    main = platform.store.main
    project = await main.read(project_of, principal, project_id)
    new = [name for name in ("files", "source") if getattr(data, name) is not None]
    ways = [*new[:1], *(name for name in ("pull", "apply") if getattr(data, name))]
    if len(ways) > 1:
        raise Refusal("validation", f"Only one of {' and '.join(ways)} can be asked for at a time.", field=ways[-1])
    if data.apply:
        row = await main.write(
            operations.apply_environment, platform.keys, platform.plans, principal, project_id, ceiling=data.ceiling
        )
        return await _asked(platform, project, row)
    taken = None
    if data.pull:
        taken = await pulled_package(platform, project)
    elif new:
        taken = await new_package(platform, project, sent_files(data.files), data.source, data.entry)
    asked = Asked.by(principal, "pull" if data.pull else None)
    row = await main.write(
        deploy_package, platform.keys, platform.plans, principal, project_id, asked, taken, ceiling=data.ceiling
    )
    return await _asked(platform, project, row)


@get("/projects/{project_id:str}/deploys/{deploy_id:str}", opt=FROM_THE_STORE)
async def shown(request: ApiRequest, project_id: FromPath[str], deploy_id: FromPath[str]) -> DeployShown:
    """A deploy and the ceiling it was given."""
    request.principal.needs("read")
    main = request.platform.store.main
    await main.read(project_of, request.principal, project_id)
    answer = deploy_answer(await main.read(operations.deploy_of, project_id, deploy_id))
    return DeployShown(deploy=answer, ceiling=answer.ceiling)


@post("/projects/{project_id:str}/deploys/{deploy_id:str}/confirm", status_code=200)
async def confirm(
    request: ApiRequest, project_id: FromPath[str], deploy_id: FromPath[str], data: JSONBody[Confirm]
) -> DeployShown:
    """Queues a deploy that waits for review because it can come to hold more than the one before; or ends it."""
    principal, platform = request.principal, request.platform
    principal.needs("approve")
    row = await platform.store.main.write(
        operations.confirm, platform.plans, principal, project_id, deploy_id, agreed=data.decision
    )
    answer = deploy_answer(row)
    return DeployShown(deploy=answer, ceiling=answer.ceiling)


@post("/projects/{project_id:str}/deploys/{deploy_id:str}/rollback", status_code=200)
async def rollback(request: ApiRequest, project_id: FromPath[str], deploy_id: FromPath[str]) -> DeployAsked:
    """Deploys the package of an earlier deploy again, with the environment of today."""
    principal, platform = request.principal, request.platform
    principal.needs("deploy")
    project = await platform.store.main.read(project_of, principal, project_id)
    row = await platform.store.main.write(operations.roll_back, platform.keys, platform.plans, principal, project_id, deploy_id)
    return await _asked(platform, project, row)


@post("/projects/{project_id:str}/stop", status_code=200)
async def stop(request: ApiRequest, project_id: FromPath[str]) -> Stopped:
    """Takes a project down. Its files, secrets and data stay."""
    request.principal.needs("deploy")
    return Stopped(status=await request.platform.store.main.write(operations.stop, request.principal, project_id))


@post("/projects/{project_id:str}/hook", status_code=200)
async def make_hook(request: ApiRequest, project_id: FromPath[str]) -> Hook:
    """Makes the address that deploys this project when somebody posts to it. The one before holds no longer."""
    request.principal.needs("deploy")
    secret = secrets.token_urlsafe(32)
    await request.platform.store.main.write(operations.set_hook, request.principal, project_id, digest(secret))
    return Hook(url=f"{request.platform.settings.base_url}/hooks/deploy/{secret}")


@delete("/projects/{project_id:str}/hook", status_code=200)
async def remove_hook(request: ApiRequest, project_id: FromPath[str]) -> Done:
    """Takes the deploy hook away."""
    request.principal.needs("deploy")
    await request.platform.store.main.write(operations.set_hook, request.principal, project_id, None)
    return Done()


@post("/deploy/{secret:str}", status_code=200)
async def hook(request: ApiRequest, secret: FromPath[str]) -> HookDone:
    """Deploys a project: from its repository where it has one, else its current package with the environment of today.

    The address alone is what the caller has to know. What is sent is not looked at. A hook deploys at most ten times a minute.
    """
    platform = request.platform
    main = platform.store.main
    project = await main.read(operations.hooked_project, digest(secret))
    if platform.limits is not None:
        await platform.limits.deploys.count(project.id)
    taken = await pulled_package(platform, project) if project.repo else None
    row = await main.write(operations.deploy_by_hook, platform.keys, platform.plans, digest(secret), taken)
    return HookDone(deploy=row.id, status=row.status)


async def _asked(platform: Platform, project: Row[Any], row: Row[Any]) -> DeployAsked:
    main, settings = platform.store.main, platform.settings
    inspection = await main.read(load_inspection, row.package_hash)
    answer = deploy_answer(row)
    return DeployAsked(
        deploy=answer,
        ceiling=answer.ceiling,
        missing_secrets=await main.read(missing_secrets, project.id, inspection),
        problems=problems_answer(inspection),
        url=settings.project_url(project.slug, project.port) if project.kind == "web" and project.port is not None else None,
        logs=f"{settings.base_url}/api/v1/projects/{project.id}/logs",
    )


router = Router(path="/", route_handlers=[ask, shown, confirm, rollback, stop, make_hook, remove_hook], tags=["deploys"])
hooks = Router(path="/hooks", route_handlers=[hook], request_class=ApiRequest, tags=["deploys"])
