"""What a deploy is compared with, and what it adds."""

from __future__ import annotations

from platform_service import Service
from stored_projects import stored_deploy, stored_project

from platform_api.accounts.records import make_account
from platform_api.deploys.difference import Difference, difference, live_before
from platform_api.plans.comparing import both, changes, holds_more, parsed
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


def test_large_ceilings_are_compared_as_they_are_written() -> None:
    """A client chooses how large they are: to look at each pair of these would take minutes."""
    hosts = [f"net=*.a{number}.*.example.com" for number in range(1_000)]
    one, other = parsed(",".join([*hosts, "random"])), parsed(",".join([*hosts[1:], "net=x.a0.y.example.com", "llm"]))
    added, removed = changes(one, other)
    assert [str(item) for item in added] == ['net("x.a0.y.example.com")', "llm"], "in doubt it is more"
    assert [str(item) for item in removed] == ['net("*.a0.*.example.com")', "random"]
    assert holds_more(one, other) and not holds_more(one, one)
    left = both(one, other)
    assert set(left.items) == set(one.items) & set(other.items), "in doubt it is less"
    small = parsed("net=*.a0.*.example.com,random")
    assert not holds_more(small, parsed("net=x.a0.y.example.com")) and str(both(small, parsed("random"))) == "random"


def test_a_ceiling_that_an_owner_gives_has_an_end(service: Service) -> None:
    client = service.signed_in()
    project = client.post("/api/v1/projects", json={"name": "x", "source": "print(1)", "kind": "job"}).json()["project"]["id"]
    text = ",".join(f"net=a{number}.example.com" for number in range(5_000))
    answer = client.post(f"/api/v1/projects/{project}/deploys", json={"ceiling": text})
    assert (answer.status_code, answer.json()["field"]) == (400, "ceiling")
