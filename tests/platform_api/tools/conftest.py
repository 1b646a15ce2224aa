"""What the tests of the tools stand on: a service with one recipe, its runner, the account that the tokens are of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from deploying import runner_of
from fake_runner import FakeRunner
from platform_service import Service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, module_database: str | None) -> Iterator[Service]:
    """One service for all tests of a module."""
    folder = tmp_path_factory.mktemp("tools")
    recipe = folder / "catalog" / "hello"
    recipe.mkdir(parents=True)
    (recipe / "main.lang").write_text('print("hello")\n', encoding="utf-8")
    (recipe.parent / "catalog.toml").write_text('[[recipe]]\npath = "hello"\n', encoding="utf-8")
    with Service(folder / "data", database=module_database, recipes=str(recipe.parent)) as running:
        yield running


@pytest.fixture(scope="module")
def runner(service: Service) -> Iterator[FakeRunner]:
    """Its runner, which does nothing until it is told to."""
    with runner_of(service) as one:
        yield one


@pytest.fixture(scope="module")
def owner(service: Service) -> str:
    """The id of the account."""
    return service.account()
