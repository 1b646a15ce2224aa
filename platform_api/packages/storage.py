"""Packages in the store: one compressed blob each, however many projects and deploys use it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import delete, exists, select, update
from sqlalchemy.dialects import postgresql, sqlite

from platform_api.moments import now
from platform_api.packages.package import Inspection, ListedFile, Listing, Package, PackageFile, package_hash
from platform_api.refusals import not_found
from platform_api.store.tables import ACTIVE_REHEARSALS, deploys, packages, projects, recipes, rehearsals

if TYPE_CHECKING:
    from sqlalchemy import Connection

_LEVEL = 3
#: Deploys that were live whose packages are kept for going back.
KEPT = 10
#: Deploys of a project that are kept, with those above.
MOST_DEPLOYS = 1_000
#: The statuses of a deploy that comes back only where somebody goes back to it.
_OVER = ("failed", "superseded", "cancelled")


class _Stored(msgspec.Struct, array_like=True):
    """What the blob holds, as MessagePack inside of zlib."""

    entry: str
    kind: str
    files: list[tuple[str, str, bytes]]


def store_package(connection: Connection, files: Iterable[PackageFile], entry: str, kind: str, inspection: Inspection) -> str:
    """Stores a package, unless an equal one is there, and gives its hash.

    The package cannot be removed before this transaction ends: what refers to it is written in the same one.
    """
    ordered = sorted(files, key=lambda file: file.path)
    found = package_hash(ordered, entry, kind)
    held = select(packages.c.hash).where(packages.c.hash == found).with_for_update(read=True, key_share=True)
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    while connection.execute(held).one_or_none() is None:
        content = _Stored(entry, kind, [(file.path, file.encoding, file.content) for file in ordered])
        blob = zlib.compress(msgspec.msgpack.encode(content), _LEVEL)
        statement = dialect.insert(packages).values(
            hash=found,
            size=sum(len(file.content) for file in ordered),
            stored=len(blob),
            blob=blob,
            inspection=json.dumps(inspection.to_json()),
            listing=json.dumps([asdict(ListedFile(file.path, file.encoding, len(file.content))) for file in ordered]),
            created_at=now(),
        )
        connection.execute(statement.on_conflict_do_nothing(index_elements=["hash"]))
    return found


def load_package(connection: Connection, package_hash: str) -> Package:
    """The package of a hash.

    Errors: ``not_found``.
    """
    row = connection.execute(select(packages).where(packages.c.hash == package_hash)).one_or_none()
    if row is None:
        raise not_found("package")
    stored = msgspec.msgpack.decode(zlib.decompress(row.blob), type=_Stored)
    files = tuple(PackageFile(path, content, encoding) for path, encoding, content in stored.files)
    return Package(stored.entry, stored.kind, files, Inspection.from_json(json.loads(row.inspection)))


def load_listing(connection: Connection, package_hash: str) -> Listing:
    """A stored package without its files' contents, which may be large.

    Errors: ``not_found``.
    """
    query = select(packages.c.inspection, packages.c.listing).where(packages.c.hash == package_hash)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise not_found("package")
    inspection = Inspection.from_json(json.loads(row.inspection))
    files = tuple(ListedFile(**file) for file in json.loads(row.listing))
    return Listing(inspection.entry, inspection.kind, package_hash, files, inspection)


def load_inspection(connection: Connection, package_hash: str) -> Inspection:
    """What the analysis of a stored package found.

    Errors: ``not_found``.
    """
    found = connection.execute(select(packages.c.inspection).where(packages.c.hash == package_hash)).scalar_one_or_none()
    if found is None:
        raise not_found("package")
    return Inspection.from_json(json.loads(found))


def timeout_minutes_of(connection: Connection, package_hash: str) -> int | None:
    """How long a run of a package may take as its manifest says; ``None`` where that says nothing or the package is gone."""
    found = connection.execute(select(packages.c.inspection).where(packages.c.hash == package_hash)).scalar_one_or_none()
    return None if found is None else Inspection.from_json(json.loads(found)).timeout_minutes


def prune_packages(connection: Connection, candidates: Iterable[str] | None = None) -> int:
    """Removes packages that no project, deploy or recipe refers to, and says how many.

    Args:
        candidates: the hashes to look at; ``None`` for all.
    """
    unused = [
        ~exists(select(projects.c.id).where(projects.c.package_hash == packages.c.hash)),
        ~exists(select(deploys.c.id).where(deploys.c.package_hash == packages.c.hash, deploys.c.package_gone.is_(False))),
        ~exists(select(recipes.c.slug).where(recipes.c.package_hash == packages.c.hash)),
        ~exists(select(rehearsals.c.id).where(rehearsals.c.package_hash == packages.c.hash, ACTIVE_REHEARSALS)),
    ]
    if candidates is not None:
        unused.append(packages.c.hash.in_(list(candidates)))
    # The rows are locked first and looked at again behind that: one that is being referred to right now stays.
    locked = connection.execute(select(packages.c.hash).where(*unused).with_for_update(skip_locked=True)).scalars().all()
    return connection.execute(delete(packages).where(*unused, packages.c.hash.in_(locked))).rowcount if locked else 0


def forget_old_packages(connection: Connection, project_id: str) -> int:
    """Removes the packages of older deploys of a project, and says how many. Their hashes stay, in the deploys and the history.

    Kept are the current package, those of deploys that are live, on their way or in review, and those of the newest ``KEPT``
    deploys that were live, which can be gone back to. Of the deploys themselves the newest ``MOST_DEPLOYS`` are kept. The
    project's row has to be locked.
    """
    own = deploys.c.project_id == project_id
    current = select(projects.c.package_hash).where(projects.c.id == project_id).scalar_subquery()
    was_live = select(deploys.c.id).where(own, deploys.c.status.in_(("live", "superseded")))
    newest = was_live.order_by(deploys.c.number.desc()).limit(KEPT)
    old = (
        own,
        deploys.c.package_gone.is_(False),
        deploys.c.package_hash != current,
        deploys.c.status.in_(_OVER),
        deploys.c.id.not_in(newest),
    )
    # A package that a kept deploy shares stays: it is removed with the last one that refers to it.
    gone = update(deploys).where(*old).values(package_gone=True).returning(deploys.c.package_hash)
    hashes = set(connection.execute(gone).scalars())
    made = select(projects.c.deploys_made).where(projects.c.id == project_id).scalar_subquery()
    over = (own, deploys.c.number <= made - MOST_DEPLOYS, deploys.c.status.in_(_OVER), deploys.c.id.not_in(newest))
    hashes |= set(connection.execute(delete(deploys).where(*over).returning(deploys.c.package_hash)).scalars())
    return prune_packages(connection, hashes) if hashes else 0
