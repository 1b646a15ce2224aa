"""Makes a project of a package that was taken in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import or_, select
from sqlalchemy.dialects import postgresql, sqlite

from platform_api.identifiers import new_id
from platform_api.moments import now
from platform_api.packages.package import Inspection, PackageFile
from platform_api.packages.storage import store_package
from platform_api.plans.budgets import lock_account, refuse_above_stored
from platform_api.projects.slugs import free_slugs, slug_of
from platform_api.refusals import Refusal
from platform_api.store.tables import projects

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.plans.plans import Plans

DEFAULT_MEMORY = 256
_LAST_PORT = 65_535
_ATTEMPTS = 50


@dataclass(frozen=True, slots=True)
class NewProject:
    """What a project is made of.

    Attributes:
        recipe: slug and version of the recipe that its files come from.
        repo: the repository that they come from, and ``ref`` there.
    """

    name: str
    files: tuple[PackageFile, ...]
    entry: str
    kind: str
    inspection: Inspection
    recipe: tuple[str, str] | None = None
    repo: str = ""
    ref: str = ""


def create_project(connection: Connection, plans: Plans, first_port: int, account_id: str, new: NewProject) -> str:
    """Stores a project and gives its id.

    Args:
        first_port: the lowest port of web projects.

    Errors: ``plan_limit`` when the account has as many projects or packages as its plan allows.
    """
    account = lock_account(connection, account_id)
    stored = store_package(connection, new.files, new.entry, new.kind, new.inspection)
    made, project_id = now(), new_id("prj")
    values = {
        "id": project_id,
        "account_id": account_id,
        "name": new.name,
        "kind": new.kind,
        "entry": new.entry,
        "package_hash": stored,
        "recipe_slug": new.recipe[0] if new.recipe else None,
        "recipe_version": new.recipe[1] if new.recipe else None,
        "repo": new.repo,
        "ref": new.ref,
        "memory_mb": new.inspection.memory_mb or DEFAULT_MEMORY,
        "created_at": made,
        "updated_at": made,
    }
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    for _ in range(_ATTEMPTS):
        # Another transaction may take the same slug or port at this moment: then nothing is inserted, and others are tried.
        port = free_port(connection, first_port) if new.kind == "web" else None
        statement = dialect.insert(projects).values(**values, slug=_free_slug(connection, new.name), port=port)
        if connection.execute(statement.on_conflict_do_nothing()).rowcount:
            refuse_above_stored(connection, account_id, plans[account.plan])
            return project_id
    raise Refusal("unavailable", "Too many projects are being made at this moment.", retry_after=1)


def free_port(connection: Connection, first_port: int) -> int:
    """The lowest port from ``first_port`` on that no project has.

    Errors: ``unavailable`` when there is none.
    """
    taken = set(connection.execute(select(projects.c.port).where(projects.c.port >= first_port)).scalars())
    port = first_port
    while port in taken:
        port += 1
    if port > _LAST_PORT:
        raise Refusal("unavailable", "Every port for web projects is taken: the operator has to give a domain or other ports.")
    return port


def _free_slug(connection: Connection, name: str) -> str:
    slug = slug_of(name)
    query = select(projects.c.slug).where(or_(projects.c.slug == slug, projects.c.slug.like(f"{slug}-%")))
    return next(free_slugs(name, set(connection.execute(query).scalars())))
