"""Requests for deploys, and what they are answered."""

from __future__ import annotations

from msgspec import Struct

from platform_api.api.schemas.deploys import Ceiling, Deploy
from platform_api.api.schemas.projects import FileSent, Problem
from platform_api.api.schemas.shared import Answer


class AskDeploy(Struct):
    """The body of ``POST /projects/{id}/deploys``. Without any of these the current package is deployed.

    Attributes:
        files: a new package; ``entry`` is its entry file.
        source: the text of the entry file, in place of the one of the package.
        pull: the package is fetched anew from the project's repository.
        apply: the package that is live, with the environment of today.
        ceiling: what is left of what the program declares, as ``--cap-set`` takes it; left out it stays as it was, ``""``
            leaves everything.
    """

    files: list[FileSent] | None = None
    entry: str | None = None
    source: str | None = None
    pull: bool = False
    apply: bool = False
    ceiling: str | None = None


class DeployAsked(Answer):
    """A deploy that was asked for.

    ``url`` is where the project will be reached, null unless it is a web project. ``problems`` are the faults and warnings of
    its program, at most 100.
    """

    deploy: Deploy
    ceiling: Ceiling
    missing_secrets: list[str]
    problems: list[Problem]
    url: str | None
    logs: str


class DeployShown(Answer):
    """A deploy and the ceiling it was given."""

    deploy: Deploy
    ceiling: Ceiling


class Stopped(Answer):
    """A project that was asked to go down, and its status."""

    status: str
    ok: bool = True


class Confirm(Struct):
    """The body of ``POST /projects/{id}/deploys/{did}/confirm``. ``decision`` false ends the deploy instead."""

    decision: bool = True


class Hook(Answer):
    """The address of a deploy hook, which is shown once."""

    url: str


class HookDone(Answer):
    """What a deploy hook has done: the deploy that it asked for."""

    deploy: str
    status: str
    ok: bool = True
