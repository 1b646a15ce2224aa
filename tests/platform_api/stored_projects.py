"""Projects that lie in the store, for tests of what is kept about them."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import insert

from language import inspect
from platform_api.identifiers import new_id
from platform_api.moments import now
from platform_api.packages.package import Inspection, PackageFile, RequireLine
from platform_api.packages.storage import store_package
from platform_api.store.store import Store
from platform_api.store.tables import deploys, projects

SOURCE = 'require random\nrequire net("api.example.com")\nrequire file.read("data/*")\nprint(random())\n'


def stored_project(store: Store, account_id: str, name: str = "Shop", *, source: str = SOURCE, **columns: Any) -> str:
    """Makes a project with one file and gives its id.

    Args:
        columns: more columns of its row.
    """
    project_id, made = new_id("prj"), now()
    values = {
        "id": project_id,
        "account_id": account_id,
        "name": name,
        "slug": project_id.replace("_", "-"),
        "kind": "worker",
        "entry": "main.lang",
        "created_at": made,
        "updated_at": made,
    }
    with store.main.writing() as connection:
        package = _package(connection, source)
        connection.execute(insert(projects).values(**{**values, "package_hash": package, **columns}))
    return project_id


def stored_deploy(store: Store, project_id: str, number: int = 1, *, source: str = SOURCE, **columns: Any) -> str:
    """Makes a live deploy of a project and gives its id."""
    deploy_id, made = new_id("dep"), now()
    values = {
        "id": deploy_id,
        "project_id": project_id,
        "number": number,
        "status": "live",
        "entry": "main.lang",
        "kind": "worker",
        "ceiling": json.dumps({"text": "random,net=api.example.com,file.read=data/*,stdout,time", "items": []}),
        "created_via": "token",
        "created_by": "usr_x",
        "created_at": made,
    }
    with store.main.writing() as connection:
        package = _package(connection, source)
        connection.execute(insert(deploys).values(**{**values, "package_hash": package, **columns}))
    return deploy_id


def _package(connection: Any, source: str) -> str:
    file = PackageFile("main.lang", source.encode(), "utf8")
    return store_package(connection, [file], "main.lang", "worker", _inspection(source))


def _inspection(source: str) -> Inspection:
    found = inspect(source)
    lines = (RequireLine(line.capability.name, line.capability.scope, line.line, line.file) for line in found.requires)
    return Inspection("main.lang", "worker", str(found.ceiling), tuple(lines))
