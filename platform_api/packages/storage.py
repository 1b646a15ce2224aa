"""Packages in the store: one compressed blob each, however many projects and deploys use it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import delete, exists, select
from sqlalchemy.dialects import postgresql, sqlite

from platform_api.moments import now
from platform_api.packages.package import Inspection, ListedFile, Listing, Package, PackageFile, package_hash
from platform_api.refusals import not_found
from platform_api.store.tables import deploys, packages, projects, recipes

if TYPE_CHECKING:
    from sqlalchemy import Connection

_LEVEL = 3


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


def prune_packages(connection: Connection, candidates: Iterable[str] | None = None) -> int:
    """Removes packages that no project, deploy or recipe refers to, and says how many.

    Args:
        candidates: the hashes to look at; ``None`` for all.
    """
    unused = [
        ~exists(select(projects.c.id).where(projects.c.package_hash == packages.c.hash)),
        ~exists(select(deploys.c.id).where(deploys.c.package_hash == packages.c.hash)),
        ~exists(select(recipes.c.slug).where(recipes.c.package_hash == packages.c.hash)),
    ]
    if candidates is not None:
        unused.append(packages.c.hash.in_(list(candidates)))
    # The rows are locked first and looked at again behind that: one that is being referred to right now stays.
    locked = connection.execute(select(packages.c.hash).where(*unused).with_for_update(skip_locked=True)).scalars().all()
    return connection.execute(delete(packages).where(*unused, packages.c.hash.in_(locked))).rowcount if locked else 0
