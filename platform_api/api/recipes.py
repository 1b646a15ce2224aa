"""The catalog of recipes."""

from __future__ import annotations

from litestar import Router, get

from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.recipes import Recipe, Recipes


@get("/recipes")
async def recipes(request: ApiRequest) -> Recipes:
    """The programs that a project can begin with, in the order of the catalog. Needs no token."""
    found = await request.platform.recipes.listed()
    return Recipes(
        items=[
            Recipe(
                slug=recipe.slug,
                name=recipe.name,
                version=recipe.version,
                kind=recipe.kind,
                entry=recipe.entry,
                repo=recipe.repo,
                ref=recipe.ref,
                secrets=list(recipe.secrets),
                tagline=recipe.tagline,
                tagline_es=recipe.tagline_es,
                tagline_pt=recipe.tagline_pt,
            )
            for recipe in found
        ]
    )


router = Router(path="/", route_handlers=[recipes], tags=["recipes"])
