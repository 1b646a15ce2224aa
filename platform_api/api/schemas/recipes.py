"""Recipes."""

from __future__ import annotations

from platform_api.api.schemas.shared import Answer


class Recipe(Answer):
    """A program that a project can begin with. ``secrets`` are the names that it needs values for."""

    slug: str
    name: str
    version: str
    kind: str
    entry: str
    repo: str
    ref: str
    secrets: list[str]
    tagline: str
    tagline_es: str
    tagline_pt: str


class Recipes(Answer):
    """The catalog, in its own order."""

    items: list[Recipe]
