"""What a deploy is compared with, and what it adds."""

from __future__ import annotations

from stored_projects import stored_deploy, stored_project

from platform_api.accounts.records import make_account
from platform_api.deploys.difference import Difference, difference, live_before
from platform_api.store.store import Store


def test_a_deploy_is_compared_with_what_it_replaces(store: Store) -> None:
    with store.main.writing() as connection:
        account = make_account(connection, "owner@example.com")
    project, other = stored_project(store, account), stored_project(store, account)
    statuses = ["superseded", "live", "failed", "superseded", "needs_review"]
    ids = [stored_deploy(store, project, number, status=status) for number, status in enumerate(statuses, 1)]
    stored_deploy(store, other, 4)
    with store.main.reading() as connection:
        found = {number: live_before(connection, project, number) for number in range(1, 6)}
    assert found.pop(1) is None
    compared = {number: row.id for number, row in found.items() if row is not None}
    assert compared == {2: ids[0], 3: ids[1], 4: ids[1], 5: ids[1]}, "the live one, where it came before"


def test_a_difference_names_require_lines() -> None:
    assert difference("stdout,time", "stdout,time") == Difference()
    wider = difference("stdout,net=api.example.com", "stdout,net=*.example.com,random")
    assert wider.added == ('require net("*.example.com")', "require random")
    assert difference("", "random") == Difference(added=("require random",))
    assert difference("random,stdout", "") == Difference(removed=("require random", "require stdout"))
