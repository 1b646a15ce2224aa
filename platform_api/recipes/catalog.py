"""The catalog as files: ``catalog.toml`` with ``[[recipe]] path``, and a folder for each recipe. Pure functions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from platform_api.packages.files import path_problem, shown
from platform_api.packages.package import Inspection, PackageFile

CATALOG = "catalog.toml"
#: Bounds of ``catalog.toml``. A key of many parts, which stands in one line, is read in a time that grows with their square.
LARGEST_CATALOG, LONGEST_LINE, MOST_RECIPES = 64 * 1024, 500, 500
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One recipe as the catalog lists it; texts are empty where there is nothing."""

    slug: str
    name: str
    version: str
    kind: str
    entry: str
    repo: str
    ref: str
    secrets: tuple[str, ...]
    tagline: str
    tagline_es: str
    tagline_pt: str

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)


def recipe_paths(catalog: bytes) -> list[str]:
    """The folders that a ``catalog.toml`` lists, in its order.

    Errors: ``ValueError``.
    """
    if len(catalog) > LARGEST_CATALOG or any(len(line) > LONGEST_LINE for line in catalog.split(b"\n")):
        raise ValueError(f"a catalog has at most {LARGEST_CATALOG:,} bytes, and a line of it {LONGEST_LINE}")
    try:
        document = tomllib.loads(catalog.decode("utf-8"))
    except RecursionError:
        raise ValueError("the values of the catalog are nested too deep") from None
    listed = document.get("recipe", [])
    if not isinstance(listed, list) or not all(isinstance(item, dict) and isinstance(item.get("path"), str) for item in listed):
        raise ValueError("a catalog lists its recipes as [[recipe]] with a path")
    if len(listed) > MOST_RECIPES:
        raise ValueError(f"a catalog lists at most {MOST_RECIPES} recipes")
    return [item["path"].strip("/") for item in listed]


def slug_of(path: str) -> str:
    """The slug of a recipe: the name of its folder.

    Errors: ``ValueError`` for a name that cannot be one.
    """
    slug = path.rpartition("/")[2]
    if why := path_problem(path):
        raise ValueError(f"the path {shown(path)} {why}")
    if not _SLUG.fullmatch(slug):
        raise ValueError(f"the folder of a recipe is named in small letters, digits and hyphens, not {slug!r}")
    return slug


def is_slug(text: str) -> bool:
    """Whether a text can be the slug of a recipe."""
    return _SLUG.fullmatch(text) is not None


def files_of(catalog: Mapping[str, PackageFile], path: str) -> list[PackageFile]:
    """The files of one recipe, with paths in its folder."""
    inside = f"{path}/"
    return [
        PackageFile(name.removeprefix(inside), file.content, file.encoding)
        for name, file in catalog.items()
        if name.startswith(inside)
    ]


def recipe_of(slug: str, inspection: Inspection) -> Recipe:
    """The recipe that the analysis of its files describes."""
    return Recipe(
        slug=slug,
        name=inspection.name or slug,
        version=inspection.version,
        kind=inspection.kind,
        entry=inspection.entry,
        repo=inspection.repo,
        ref=inspection.ref,
        secrets=inspection.secrets,
        tagline=inspection.tagline,
        tagline_es=inspection.tagline_es or inspection.tagline,
        tagline_pt=inspection.tagline_pt or inspection.tagline,
    )
