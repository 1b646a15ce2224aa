"""Which scope a route needs, and which routes a token of one project may use: decided here for all, before a body is read.

A new route is covered without an entry here: reading needs ``read``, writing ``deploy`` or what its path says, and a
token of one project reaches nothing outside of that project.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from platform_api.accounts.principal import Principal
from platform_api.gateway import API, OPEN
from platform_api.refusals import Refusal, not_found

if TYPE_CHECKING:
    from litestar import Request

#: What any token may ask for: who it is, what there is to ask, and its own end.
_ANY_TOKEN = frozenset({f"{API}/me", f"{API}/openapi.json", f"{API}/tokens/current"})
#: Beside the routes of its project and the above, what a token of one project may use: these routes leave the others out.
_OF_ANY_PROJECT = frozenset(
    {("GET", f"{API}/events"), ("GET", f"{API}/projects"), ("GET", f"{API}/approvals"), ("POST", f"{API}/approvals/{{}}")}
)
_PARAMETER = re.compile(r"\{[^}]*\}")
_OF_A_PROJECT = f"{API}/projects/{{}}"


@lru_cache(1_000)
def plain(template: str) -> str:
    """A path template with nameless parameters: ``/api/v1/tokens/{}``."""
    return _PARAMETER.sub("{}", template)


def scope_of(method: str, path: str) -> str | None:
    """The scope that a route needs; ``None`` where any token will do, or none is needed.

    Args:
        path: the path template below ``/api/v1``, with or without names of parameters.
    """
    path = plain(path)
    if (method, path) in OPEN or path in _ANY_TOKEN:
        return None
    parts = path.removeprefix(API).split("/")
    if parts[1] == "tokens":
        return "account"
    if method in ("GET", "HEAD"):
        return "read"
    if parts[1] == "approvals" or parts[-1] in ("confirm", "reviewed"):
        return "approve"
    if parts[1] == "notices":
        return "secrets"
    return "secrets" if {"env", "notices", "secrets"} & set(parts[3:4]) else "deploy"


async def scoped(request: Request[Any, Any, Any]) -> None:
    """Stands before every route below ``/api/v1``."""
    scope: Any = request.scope
    method, path = scope["method"], plain(scope["path_template"])
    if method == "OPTIONS" or (method, path) in OPEN:
        return
    principal = scope["state"].get("principal")
    if not isinstance(principal, Principal) or principal.via == "session":
        raise Refusal("unauthorized", "This takes an API token.")
    refuse_without_right(principal, method, path)
    if not _is_of_a_project(path) or principal.project_id is None:
        return
    if next(iter(request.path_params.values())) != principal.project_id:
        raise not_found("project")


def refuse_without_right(principal: Principal, method: str, path: str) -> None:
    """Refuses what a token may do with no project at all.

    Args:
        path: the path template, with or without names of parameters.

    Errors: ``forbidden``.
    """
    path = plain(path)
    if (method, path) in OPEN:
        return
    if needed := scope_of(method, path):
        principal.needs(needed)
    if principal.project_id is None or path in _ANY_TOKEN or (method, path) in _OF_ANY_PROJECT or _is_of_a_project(path):
        return
    raise Refusal("forbidden", "This token holds for one project only: this concerns the whole account.")


def _is_of_a_project(path: str) -> bool:
    return path == _OF_A_PROJECT or path.startswith(f"{_OF_A_PROJECT}/")
