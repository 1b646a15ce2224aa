"""The mirror of the catalog: read at most once an hour, kept in the store, the last good copy of each recipe stays."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite

from platform_api.packages.files import LARGEST_FILE, guess_encoding
from platform_api.packages.intake import take_package
from platform_api.packages.package import Package, PackageFile
from platform_api.packages.storage import load_package, prune_packages, store_package
from platform_api.recipes.catalog import CATALOG, Recipe, files_of, is_slug, recipe_of, recipe_paths, slug_of
from platform_api.refusals import Refusal
from platform_api.store.tables import recipes

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.platform import Platform

logger = logging.getLogger("platform.recipes")
#: Seconds after which the catalog is read anew.
EVERY = 3600
#: Where the bundled catalog lies: in the sources, and where the package is installed from a wheel.
_BUNDLED = (
    Path(__file__).resolve().parents[2] / "examples" / "recipes",
    Path(sys.prefix) / "share" / "ceiling-lang" / "recipes",
)
#: The account that fetches and analyses of recipes are counted under.
_NOBODY = "recipes"


@dataclass(frozen=True, slots=True)
class _Fresh:
    """A recipe as it was just read, with its package."""

    recipe: Recipe
    package: Package


class Mirror:
    """The catalog of a service.

    Args:
        platform: its settings say where the catalog lies.
    """

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._reading: asyncio.Task[None] | None = None
        self._tried: float | None = None

    async def listed(self) -> list[Recipe]:
        """The recipes in the order of the catalog.

        What is stored is given at once, and the catalog read again behind that when an hour has passed. Where nothing is stored
        yet it waits for the catalog.
        """
        await self._prepare()
        return await self._platform.store.main.read(list_recipes)

    async def find(self, slug: str) -> tuple[Recipe, Package]:
        """A recipe and its package.

        Errors: ``validation`` for one that is not in the catalog.
        """
        await self._prepare()
        return await self._platform.store.main.scan(find_recipe, slug)

    async def refresh(self) -> None:
        """Reads the catalog, and stores what is good of it. Whoever asks while it is being read waits for that."""
        await asyncio.shield(self._begin())

    async def close(self) -> None:
        """Ends a reading that is under way."""
        if self._reading is not None and not self._reading.done():
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _prepare(self) -> None:
        if self._tried is not None and time.monotonic() - self._tried < EVERY:
            return
        if await self._platform.store.main.read(list_recipes):
            self._begin()
        else:
            await self.refresh()

    def _begin(self) -> asyncio.Task[None]:
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
        return self._reading

    async def _read(self) -> None:
        try:
            catalog = await self._files()
            paths = await asyncio.to_thread(recipe_paths, catalog[CATALOG].content) if CATALOG in catalog else []
            fresh, slugs = [], []
            for path in paths:
                try:
                    slug = slug_of(path)
                    if slug in slugs:
                        raise ValueError(f"there are two recipes {slug!r}")
                    slugs.append(slug)
                    taken = await take_package(self._platform, _NOBODY, files=files_of(catalog, path))
                except (ValueError, Refusal) as error:
                    logger.warning("the recipe %s is left as it was: %s", path, error)
                    continue
                files, entry, kind, inspection = taken
                fresh.append(_Fresh(recipe_of(slug, inspection), Package(entry, kind, files, inspection)))
            await self._platform.store.main.write(store_recipes, fresh, slugs)
        except (OSError, ValueError, Refusal) as error:
            logger.warning("the catalog of recipes could not be read, the last copy stays: %s", error)
        finally:
            self._tried = time.monotonic()

    async def _files(self) -> Mapping[str, PackageFile]:
        place = self._platform.settings.recipes
        if place is not None and place.startswith(("https://", "http://")):
            files = await self._platform.repositories.fetch(_NOBODY, place)
            return {file.path: file for file in files}
        return await asyncio.to_thread(_folder, _bundled() if place is None else Path(place))


def list_recipes(connection: Connection) -> list[Recipe]:
    """The stored recipes in the order of the catalog."""
    rows = connection.execute(select(recipes.c.record).order_by(recipes.c.position, recipes.c.slug)).scalars()
    return [_recipe(record) for record in rows]


def find_recipe(connection: Connection, slug: str) -> tuple[Recipe, Package]:
    """A stored recipe and its package.

    Errors: ``validation`` for one that is not there.
    """
    row = connection.execute(select(recipes).where(recipes.c.slug == slug)).one_or_none() if is_slug(slug) else None
    if row is None:
        raise Refusal("validation", f"There is no recipe {slug[:100]!r} in the catalog.", field="recipe")
    return _recipe(row.record), load_package(connection, row.package_hash)


def store_recipes(connection: Connection, fresh: Sequence[_Fresh], slugs: Sequence[str]) -> None:
    """Stores the recipes that were read, and removes those that the catalog does not list.

    Args:
        slugs: all that it lists, in its order: one that could not be read stays as it is stored.
    """
    connection.execute(delete(recipes).where(recipes.c.slug.not_in(slugs)))
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    for item in sorted(fresh, key=lambda item: item.recipe.slug):
        package = item.package
        stored = store_package(connection, package.files, package.entry, package.kind, package.inspection)
        values: dict[str, Any] = {
            "position": slugs.index(item.recipe.slug),
            "record": json.dumps(item.recipe.to_json()),
            "package_hash": stored,
        }
        statement = dialect.insert(recipes).values(slug=item.recipe.slug, **values)
        connection.execute(statement.on_conflict_do_update(index_elements=["slug"], set_=values))
    prune_packages(connection)


def _recipe(record: str) -> Recipe:
    return msgspec.json.decode(record, type=Recipe)


def _bundled() -> Path:
    return next((place for place in _BUNDLED if place.is_dir()), _BUNDLED[0])


def _folder(place: Path) -> dict[str, PackageFile]:
    """The files of a catalog in a folder, without hidden ones; empty where there is no folder."""
    found: dict[str, PackageFile] = {}
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        for name in sorted(names):
            file = Path(folder, name)
            if name.startswith(".") or file.is_symlink() or not file.is_file() or file.stat().st_size > LARGEST_FILE:
                continue
            content = file.read_bytes()
            path = file.relative_to(place).as_posix()
            found[path] = PackageFile(path, content, guess_encoding(content))
    return found
