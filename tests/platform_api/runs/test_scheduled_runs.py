"""Several replicas look for due schedules in one store: each due job is run once.

``SOAK_SCHEDULED`` says how many jobs are due; `make soak` has ten thousand and eight pollers.
"""

from __future__ import annotations

import os
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

JOBS = int(os.environ.get("SOAK_SCHEDULED", "500"))
REPLICAS = 2
#: Of each replica.
POLLERS = 4 if JOBS > 500 else 2


@pytest.fixture
def replicas(database: str | None, tmp_path: Path) -> Iterator[list[Platform]]:
    """Services on one store, without HTTP."""
    made = [Platform(Settings(data=tmp_path, database=database)) for _ in range(REPLICAS)]
    yield made
    for platform in made:
        platform.close()


def test_many_due_jobs_and_pollers_of_two_replicas(replicas: list[Platform]) -> None:
    store = replicas[0].store
    with store.main.writing() as connection:
        account = make_account(connection, "owner@example.com", plan="team")
    first = stored_project(store, account, kind="job", schedule="*/5 * * * *", desired="up", phase="ready")
    stored_deploy(store, first)
    due = now() - 1000
    with store.main.writing() as connection:
        row = dict(connection.execute(select(projects).where(projects.c.id == first)).one()._mapping)
        rows = [row | {"id": f"prj_{number:05}", "slug": f"job-{number:05}", "next_at": due} for number in range(JOBS)]
        connection.execute(insert(projects), rows)
    failures: list[BaseException] = []
    started = [0] * (REPLICAS * POLLERS)

    def look(poller: int) -> None:
        try:
            platform = replicas[poller % REPLICAS]
            main = platform.store.main
            while True:
                with main.reading() as connection:
                    found = due_projects(connection, due + 1000)
                if not found:
                    return
                for project_id, moment in found:
                    with main.writing() as connection:
                        start_due(connection, platform.plans, project_id, moment, due + 1000)
                    started[poller] += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=look, args=(poller,)) for poller in range(len(started))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with store.main.reading() as connection:
        counts = connection.execute(select(runs.c.project_id, func.count()).group_by(runs.c.project_id)).all()
        waiting = connection.execute(
            select(func.count()).select_from(projects).where(projects.c.next_at <= due + 1000)
        ).scalar_one()
    print(f"{JOBS} due jobs, {len(started)} pollers of {REPLICAS} replicas, looked at {sum(started)} times: {started}")
    assert waiting == 0
    assert sorted((project, number) for project, number in counts) == [(f"prj_{number:05}", 1) for number in range(JOBS)]
