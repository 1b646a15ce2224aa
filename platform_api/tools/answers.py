"""What the tools give: the answers of the routes, cut to what an assistant can read."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from platform_api.api.schemas.deploys import Ceiling, DeniedItem, Deploy
from platform_api.api.schemas.projects import ListedFile, Problem, Project
from platform_api.api.schemas.shared import Answer

#: Characters of one text, where a tool says no other number.
LONGEST_TEXT = 4_000
#: Bytes of a whole answer.
LARGEST = 512 * 1024
#: Files of a package that are listed.
MOST_FILES = 200


class ShownAccount(Answer):
    """An account."""

    id: str
    email: str
    name: str
    plan: str
    admin: bool


class ShownProject(Answer):
    """A project. ``files`` are the first of its package, ``file_count`` is how many there are; ``problems`` are what the check
    finds in its program."""

    project: Project
    ceiling: Ceiling
    package: str
    files: list[ListedFile]
    file_count: int
    missing_secrets: list[str]
    problems: list[Problem]
    blocked: str | UnsetType = UNSET


class ReadPart(Answer):
    """A part of a text file. ``next`` is where the next part starts, null at the end; ``size`` is in characters."""

    path: str
    content: str
    size: int
    next: int | None


class DeployInList(Answer):
    """A deploy. ``ceiling`` is all that its program may do, as one text."""

    id: str
    number: int
    status: str
    error: str | None
    ceiling: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    created_via: str


class DeployList(Answer):
    """The newest deploys of a project, newest first."""

    items: list[DeployInList]


class AskedDeploy(Answer):
    """A deploy that was asked for. ``url`` is where a web project will be reached, ``problems`` what the check finds in its
    program."""

    deploy: DeployInList
    denied_by_plan: list[DeniedItem]
    missing_secrets: list[str]
    problems: list[Problem]
    url: str | None
    waits_for_person: bool


class ComparedDeploy(Answer):
    """A deploy beside the one before it that was live.

    Attributes:
        compared_with: the id of that one, null where there is none.
        added: require lines of what this one may do and that one might not.
        removed: the other way round.
    """

    deploy: Deploy
    compared_with: str | None
    added: list[str]
    removed: list[str]
    waits_for_person: bool


class PendingApproval(Answer):
    """A question of a program to a person. ``options`` are what it suggests as answers."""

    id: str
    project_id: str
    project: str
    type: str
    message: str
    received_at: str
    expires_at: str
    options: list[str] | UnsetType = UNSET


class PendingApprovals(Answer):
    """Questions that wait for a person, newest first."""

    items: list[PendingApproval]
    next_cursor: str | UnsetType | None = UNSET


class ScheduleShown(Answer):
    """When a job runs by itself; an empty text: only when asked."""

    schedule: str


def shown_account(found: dict[str, Any]) -> dict[str, Any]:
    """The answer of the account."""
    return {name: found[name] for name in ShownAccount.__struct_fields__}


def shown_project(found: dict[str, Any]) -> dict[str, Any]:
    """The answer of a new project, or of one alone."""
    package = found["package"]
    shown: dict[str, Any] = {
        name: found[name] for name in ("project", "ceiling", "missing_secrets", "problems", "blocked") if name in found
    }
    return {
        **shown,
        "package": package["package"],
        "files": package["files"][:MOST_FILES],
        "file_count": len(package["files"]),
    }


def deploy_in_list(deploy: dict[str, Any]) -> dict[str, Any]:
    """A deploy with its ceiling as a text."""
    fields = DeployInList.__struct_fields__
    return {name: deploy["ceiling"]["text"] if name == "ceiling" else deploy[name] for name in fields}


def waits_for_person(deploy: dict[str, Any]) -> bool:
    """Whether a person has to confirm a deploy because it may do more than the one before."""
    return bool(deploy["status"] == "needs_review")


def asked_deploy(found: dict[str, Any]) -> dict[str, Any]:
    """A deploy that was asked for."""
    return {
        "deploy": deploy_in_list(found["deploy"]),
        "denied_by_plan": found["ceiling"]["denied_by_plan"],
        "missing_secrets": found["missing_secrets"],
        "problems": found["problems"],
        "url": found["url"],
        "waits_for_person": waits_for_person(found["deploy"]),
    }


def pending(item: dict[str, Any]) -> dict[str, Any]:
    """A gate without what only its program and the one who decides it need."""
    return {name: item[name] for name in PendingApproval.__struct_fields__ if name in item}


def cut(value: Any, longest: int = LONGEST_TEXT, *, keep_end: bool = False) -> Any:
    """A JSON value whose texts have at most so many characters; a cut one says how many are missing.

    Args:
        keep_end: whether the end of a text is kept in place of its beginning.
    """
    if isinstance(value, str):
        if len(value) <= longest:
            return value
        missing = f"[{len(value) - longest} characters left out]"
        return f"{missing} {value[-longest:]}" if keep_end else f"{value[:longest]} {missing}"
    if isinstance(value, list):
        return [cut(item, longest, keep_end=keep_end) for item in value]
    if isinstance(value, dict):
        return {name: cut(item, longest, keep_end=keep_end) for name, item in value.items()}
    return value
