"""Variables and secrets of a project."""

from __future__ import annotations

from litestar import Router, delete, get, put
from litestar.params import FromPath, JSONBody

from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.environment import (
    EnvironmentItem,
    EnvironmentItems,
    PutSecret,
    PutValue,
    SecretItem,
    Secrets,
    Stored,
    StoredAs,
)
from platform_api.environment.values import delete_value, list_items, put_value
from platform_api.moments import rfc3339


@get("/projects/{project_id:str}/secrets")
async def secrets(request: ApiRequest, project_id: FromPath[str]) -> Secrets:
    """The names and fingerprints of the stored secrets. No route gives a value."""
    request.principal.needs("read")
    platform = request.platform
    found = await platform.store.main.read(list_items, platform.keys, request.principal, project_id, "secret")
    items = [
        SecretItem(name=item.name, fingerprint=item.fingerprint, created_at=rfc3339(item.created_at)) for item in found.items
    ]
    return Secrets(items=items, missing=found.missing)


@put("/projects/{project_id:str}/secrets/{name:str}")
async def put_secret(request: ApiRequest, project_id: FromPath[str], name: FromPath[str], data: JSONBody[PutSecret]) -> Stored:
    """Stores a secret. The next deploy takes it."""
    request.principal.needs("secrets")
    platform = request.platform
    await platform.store.main.write(put_value, platform.keys, request.principal, project_id, name, data.value, "secret")
    return Stored(name=name)


@get("/projects/{project_id:str}/env")
async def environment(request: ApiRequest, project_id: FromPath[str]) -> EnvironmentItems:
    """The names of the environment, with the values of variables and the fingerprints of secrets."""
    request.principal.needs("read")
    platform = request.platform
    found = await platform.store.main.read(list_items, platform.keys, request.principal, project_id)
    items = [
        EnvironmentItem(
            name=item.name,
            kind=item.kind,
            value=item.value,
            fingerprint=item.fingerprint,
            created_at=rfc3339(item.created_at),
        )
        for item in found.items
    ]
    return EnvironmentItems(items=items, missing=found.missing, needs_redeploy=found.needs_redeploy)


@put("/projects/{project_id:str}/env/{name:str}")
async def put_variable(
    request: ApiRequest, project_id: FromPath[str], name: FromPath[str], data: JSONBody[PutValue]
) -> StoredAs:
    """Stores a value. Without ``kind``, a name that the program declares as a secret is one, every other is a variable."""
    request.principal.needs("secrets")
    platform = request.platform
    kind = await platform.store.main.write(put_value, platform.keys, request.principal, project_id, name, data.value, data.kind)
    return StoredAs(name=name, kind=kind)


@delete("/projects/{project_id:str}/env/{name:str}", status_code=200)
async def delete_variable(request: ApiRequest, project_id: FromPath[str], name: FromPath[str]) -> Stored:
    """Removes a variable or a secret. The next deploy goes without it."""
    request.principal.needs("secrets")
    platform = request.platform
    await platform.store.main.write(delete_value, platform.keys, request.principal, project_id, name)
    return Stored(name=name)


router = Router(
    path="/", route_handlers=[secrets, put_secret, environment, put_variable, delete_variable], tags=["environment"]
)
