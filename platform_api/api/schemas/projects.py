"""Projects and their packages."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from platform_api.api.schemas.deploys import Ceiling, Deploy
from platform_api.api.schemas.shared import Answer, Name
from platform_api.deploys.status import status_of, status_reason_of
from platform_api.moments import rfc3339, rfc3339_or_none
from platform_api.packages.files import SentFile

if TYPE_CHECKING:
    from sqlalchemy import Row

    from platform_api.packages.package import Inspection, Listing
    from platform_api.packages.package import Package as StoredPackage
    from platform_api.settings import Settings


class FileSent(Struct):
    """A file of a package. ``encoding`` is ``utf8`` or ``base64``."""

    path: str
    content: str
    encoding: str = "utf8"


class CreateProject(Struct):
    """The body of ``POST /projects``. Exactly one of ``files``, ``recipe``, ``repo`` and ``source`` is given."""

    name: Name
    files: list[FileSent] | None = None
    recipe: str | None = None
    repo: str | None = None
    ref: str | None = None
    source: str | None = None
    entry: str | None = None
    kind: str | None = None


class ChangeProject(Struct):
    """The body of ``PATCH /projects/{id}``. What is left out stays."""

    name: Name | None = None
    memory_mb: int | None = None
    review_widening: bool | None = None


class FromRecipe(Answer):
    """The recipe that a project was made from."""

    slug: str
    version: str


class Project(Answer):
    """A project."""

    id: str
    name: str
    slug: str
    kind: str
    entry: str
    status: str
    status_reason: str | None
    url: str | None
    recipe: FromRecipe | None
    repo: str
    ref: str
    schedule: str
    sleep_after: int
    memory_mb: int
    current_deploy: str | None
    engine: str | None
    created_at: str
    updated_at: str
    last_request_at: str | None


class ListedFile(Answer):
    """A file of a package without its content. ``size`` is in bytes."""

    path: str
    encoding: str
    size: int


class PackageListing(Answer):
    """The package of a project without the contents of its files. ``package`` is its hash."""

    entry: str
    kind: str
    package: str
    files: list[ListedFile]


class File(Answer):
    """A file of a package."""

    path: str
    content: str
    encoding: str


class Package(Answer):
    """The package of a project. ``package`` is its hash; the files are sorted by path."""

    entry: str
    kind: str
    package: str
    files: list[File]


class Problem(Answer):
    """What ``lang check`` says of a program: a fault or a warning, with its place.

    ``severity`` is ``error`` for what surely fails where it is reached, or ``warning``. ``line`` and ``column`` count from 1,
    ``end_line`` and ``end_column`` are where the faulty text ends, the column exclusive; what is not known is 0. ``code`` names
    the class of mistake, as in ``E0201``; ``help`` says how to put it right, or is empty.
    """

    severity: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    message: str
    help: str


class Created(Answer):
    """A new project. ``problems`` are the faults and warnings of its program, at most 100."""

    project: Project
    ceiling: Ceiling
    package: PackageListing
    missing_secrets: list[str]
    problems: list[Problem]


class CreatedNow(Created):
    """A project that was just made. ``slug_note`` says why its slug is not that of its name; empty where it is."""

    slug_note: str


class Detail(Created):
    """A project. ``blocked`` is why it cannot be deployed on this plan, or empty."""

    blocked: str
    deploys: list[Deploy]


class Projects(Answer):
    """Projects, newest first."""

    items: list[Project]
    next_cursor: str | UnsetType | None = UNSET


class Changed(Answer):
    """A changed project."""

    project: Project


class Deleted(Answer):
    """What became of a project: ``deleted``, or ``deleting`` while its runner erases it."""

    status: str
    ok: bool = True


def package_json(found: StoredPackage, package_hash: str) -> bytes:
    """A package as the JSON of ``Package``, with the contents of its files, each in the encoding that it was sent in.

    One file after the other: while something is encoded, no other thread goes on.

    Args:
        package_hash: that of the package, which is long to calculate.
    """
    around = msgspec.json.encode(Package(entry=found.entry, kind=found.kind, package=package_hash, files=[]))
    parts = [around.removesuffix(b"]}")]
    for number, file in enumerate(found.files):
        content = file.content.decode() if file.encoding == "utf8" else base64.b64encode(file.content).decode()
        shown = File(path=file.path, content=content, encoding=file.encoding)
        parts += [b"," if number else b"", msgspec.json.encode(shown)]
    return b"".join([*parts, b"]}"])


def sent_files(files: list[FileSent] | None) -> list[SentFile] | None:
    """The files of a body as packages take them."""
    return None if files is None else [SentFile(file.path, file.content, file.encoding) for file in files]


def project_answer(settings: Settings, row: Row[Any]) -> Project:
    """A row of ``platform_api.projects.listing`` as answers show it."""
    status = status_of(row.desired, row.newest_deploy, row.phase)
    return Project(
        id=row.id,
        name=row.name,
        slug=row.slug,
        kind=row.kind,
        entry=row.entry,
        status=status,
        status_reason=status_reason_of(status, row.phase, row.phase_detail, placed=row.home_runner is not None),
        url=settings.project_url(row.slug, row.port) if row.kind == "web" and row.port is not None else None,
        recipe=None if row.recipe_slug is None else FromRecipe(slug=row.recipe_slug, version=row.recipe_version or ""),
        repo=row.repo,
        ref=row.ref,
        schedule=row.schedule,
        sleep_after=row.sleep_after,
        memory_mb=row.memory_mb,
        current_deploy=row.current_deploy,
        engine=row.engine,
        created_at=rfc3339(row.created_at),
        updated_at=rfc3339(row.updated_at),
        last_request_at=rfc3339_or_none(row.last_request_at),
    )


def problems_answer(inspection: Inspection) -> list[Problem]:
    """What was found in a program, as answers show it."""
    return [
        Problem(
            severity=found.severity,
            path=found.path,
            line=found.line,
            column=found.column,
            end_line=found.end_line,
            end_column=found.end_column,
            code=found.code,
            message=found.message,
            help=found.help,
        )
        for found in inspection.problems
    ]


def listing_answer(package: Listing) -> PackageListing:
    """A stored package as the answers to its project show it."""
    files = [ListedFile(path=file.path, encoding=file.encoding, size=file.size) for file in package.files]
    return PackageListing(entry=package.entry, kind=package.kind, package=package.hash, files=files)
