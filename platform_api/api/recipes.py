"""The catalog of recipes."""

from __future__ import annotations

from litestar import Router, get
from litestar.params import FromPath

from platform_api.api.large_answers import LargeAnswer, in_a_thread
from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.projects import Package, package_json
from platform_api.api.schemas.recipes import Recipe, Recipes
from platform_api.refusals import Refusal, not_found


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


@get("/recipes/{slug:str}/package")
async def package(request: ApiRequest, slug: FromPath[str]) -> LargeAnswer[Package]:
    """The files of a recipe: what `lang new --recipe` writes into a folder."""
    platform = request.platform

    async def content() -> bytes:
        try:
            _, found = await platform.recipes.find(slug)
        except Refusal:
            raise not_found("recipe") from None
        return await in_a_thread(package_json, found, found.hash)

    return LargeAnswer(platform.downloads.one(request.principal.account_id), content)


router = Router(path="/", route_handlers=[recipes, package], tags=["recipes"])
