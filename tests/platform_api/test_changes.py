"""Who waits for a change is woken by its commit, from whatever thread or process it comes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from platform_api.changes import Changes
from platform_api.records.logs import append_logs, last_lines
from platform_api.settings import Settings
from platform_api.store.database import announce
from platform_api.store.pace import Pace
from platform_api.store.store import Store, open_store

GENEROUS = 60.0


@pytest.fixture
def no_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits is woken once at first, and then by what is told alone."""
    monkeypatch.setattr("platform_api.changes.POLL", 3600.0)


@pytest.mark.usefixtures("no_poll")
def test_a_commit_wakes_those_who_wait_for_its_topic_alone(store: Store) -> None:
    async def check() -> None:
        changes = Changes(store)
        with changes.subscribe("prj_a") as one, changes.subscribe("prj_a") as two, changes.subscribe("prj_b") as other:
            for subscription in (one, two, other):  # the first look at the version of the files wakes everybody
                await subscription.next(GENEROUS)
            await store.records.write(append_logs, "prj_a", [(1, "out", "hello", None)])
            assert await one.next(GENEROUS) and await two.next(GENEROUS)
            assert not await other.next(0)
            await store.main.write(announce, "prj_b")
            assert await other.next(GENEROUS)
        await changes.close()

    asyncio.run(check())


@pytest.mark.usefixtures("no_poll")
def test_what_is_rolled_back_wakes_nobody(store: Store) -> None:
    async def check() -> None:
        changes = Changes(store)
        with changes.subscribe("prj_a") as subscription, changes.subscribe("prj_b") as other:
            for one in (subscription, other):
                await one.next(GENEROUS)
            with pytest.raises(ZeroDivisionError), store.main.writing() as connection:
                announce(connection, "prj_a")
                raise ZeroDivisionError
            await store.main.write(announce, "prj_b")
            assert await other.next(GENEROUS)
            assert not await subscription.next(0)
        await changes.close()

    asyncio.run(check())


def test_a_change_of_another_process_is_noticed_on_the_same_file(tmp_path: Path) -> None:
    store = open_store(Settings(data=tmp_path))
    elsewhere = (
        "import sys, pathlib\n"
        "from platform_api.settings import Settings\n"
        "from platform_api.store.store import Store, open_store\n"
        "from platform_api.records.logs import append_logs\n"
        "store = open_store(Settings(data=pathlib.Path(sys.argv[1])))\n"
        "with store.records.writing() as connection:\n"
        "    append_logs(connection, 'prj_a', [(1, 'out', 'from elsewhere', None)])\n"
        "store.close()\n"
    )

    async def check() -> None:
        changes = Changes(store)
        with changes.subscribe("prj_a") as subscription:
            await subscription.next(GENEROUS)
            process = await asyncio.to_thread(
                subprocess.run, [sys.executable, "-c", elsewhere, str(tmp_path)], check=True, timeout=GENEROUS
            )
            assert process.returncode == 0
            while not (lines := await store.records.read(last_lines, "prj_a", 10)):
                assert await subscription.next(GENEROUS)
            assert [line.line for line in lines] == ["from elsewhere"]
        await changes.close()

    asyncio.run(check())
    store.close()


def test_closing_wakes_those_who_wait(store: Store) -> None:
    async def check() -> None:
        changes = Changes(store)
        with changes.subscribe("prj_a") as subscription:
            await subscription.next(GENEROUS)
            waiting = asyncio.ensure_future(subscription.next(GENEROUS))
            await asyncio.sleep(0)
            await changes.close()
            assert await waiting and changes.closed

    asyncio.run(check())


def test_a_topic_that_is_told_too_often_is_held_back_and_told_once_more() -> None:
    pace = Pace()
    assert pace.due({"a", "b"}) == {"a", "b"}
    assert pace.due({"a", "c"}) == {"c"}
    told: set[str] = set()
    while not told:
        told = pace.held_back()
    assert told == {"a"} and not pace.held_back()
