"""Makes a project of a package that was taken in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, or_, select, union
from sqlalchemy.dialects import postgresql, sqlite

from platform_api.identifiers import new_id
from platform_api.moments import now
from platform_api.packages.package import Inspection, PackageFile
from platform_api.packages.storage import store_package
from platform_api.plans.budgets import lock_account, refuse_above_stored
from platform_api.projects.reserved_addresses import longest_reserved_port, reserved_for_others
from platform_api.projects.slugs import free_slugs, slug_of
from platform_api.refusals import Refusal
from platform_api.store.tables import projects, reserved_addresses

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
        port = free_port(connection, first_port, account_id) if new.kind == "web" else None
        slug = _free_slug(connection, new.name, account_id)
        statement = dialect.insert(projects).values(**values, slug=slug, port=port)
        if connection.execute(statement.on_conflict_do_nothing()).rowcount:
            refuse_above_stored(connection, account_id, plans[account.plan])
            return project_id
    raise Refusal("unavailable", "Too many projects are being made at this moment.", retry_after=1)


def free_port(connection: Connection, first_port: int, account_id: str) -> int:
    """The lowest port from ``first_port`` on that no project has and that is not reserved for another account.

    Where there is none it is the port that has been reserved for the longest time.

    Errors: ``unavailable`` when projects have every port.
    """
    used = select(projects.c.port).where(projects.c.port >= first_port)
    reserved = select(reserved_addresses.c.port).where(reserved_addresses.c.port >= first_port, reserved_for_others(account_id))
    # In one statement: the address of a project that is deleted at this moment is in one of the two.
    taken = set(connection.execute(union(used, reserved)).scalars())
    port = next((port for port in range(first_port, _LAST_PORT + 1) if port not in taken), None)
    if port is None:
        port = longest_reserved_port(connection, first_port, _LAST_PORT)
    if port is None:
        raise Refusal("unavailable", "Every port for web projects is taken: the operator has to give a domain or other ports.")
    return port


def _free_slug(connection: Connection, name: str, account_id: str) -> str:
    slug = slug_of(name)

    def alike(column: ColumnElement[str]) -> ColumnElement[bool]:
        return or_(column == slug, column.like(f"{slug}-%"))

    used = select(projects.c.slug).where(alike(projects.c.slug))
    reserved = select(reserved_addresses.c.slug).where(alike(reserved_addresses.c.slug), reserved_for_others(account_id))
    return next(free_slugs(name, set(connection.execute(union(used, reserved)).scalars())))
