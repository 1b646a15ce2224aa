"""Several replicas look for due schedules in one store: each due job is run once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select
from stored_projects import stored_deploy, stored_project

from platform_api.accounts.records import make_account
from platform_api.moments import now
from platform_api.platform import Platform
from platform_api.runs.schedule import due_projects, start_due
from platform_api.settings import Settings
from platform_api.store.tables import projects, runs

JOBS, POLLERS = 500, 4


@pytest.fixture
def replicas(database: str | None, tmp_path: Path) -> Iterator[list[Platform]]:
    """Services on one store, without HTTP."""
    made = [Platform(Settings(data=tmp_path, database=database)) for _ in range(POLLERS)]
    yield made
    for platform in made:
        platform.close()


def test_five_hundred_due_jobs_and_four_pollers(replicas: list[Platform]) -> None:
    store = replicas[0].store
    with store.main.writing() as connection:
        account = make_account(connection, "owner@example.com", plan="team")
    first = stored_project(store, account, kind="job", schedule="*/5 * * * *", desired="up", phase="ready")
    stored_deploy(store, first)
    due = now() - 1000
    with store.main.writing() as connection:
        row = dict(connection.execute(select(projects).where(projects.c.id == first)).one()._mapping)
        rows = [row | {"id": f"prj_{number:03}", "slug": f"job-{number:03}", "next_at": due} for number in range(JOBS)]
        connection.execute(insert(projects), rows)
    failures: list[BaseException] = []

    def look(platform: Platform) -> None:
        try:
            main = platform.store.main
            while True:
                with main.reading() as connection:
                    found = due_projects(connection, now())
                if not found:
                    return
                for project_id, moment in found:
                    with main.writing() as connection:
                        start_due(connection, platform.plans, project_id, moment, now())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=look, args=(platform,)) for platform in replicas]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with store.main.reading() as connection:
        counts = connection.execute(select(runs.c.project_id, func.count()).group_by(runs.c.project_id)).all()
        waiting = connection.execute(select(func.count()).select_from(projects).where(projects.c.next_at <= now())).scalar_one()
    assert waiting == 0
    assert sorted((project, number) for project, number in counts) == [(f"prj_{number:03}", 1) for number in range(JOBS)]
