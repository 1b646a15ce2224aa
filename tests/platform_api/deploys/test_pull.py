"""Deploys that fetch the package anew from the project's repository."""

from __future__ import annotations

from pathlib import Path

from deploying import API, WEB, detail, made, ok, refused, runner_of, status, until
from git_server import GitServer, commit, tree_of
from platform_service import Service


def test_pull_and_hook_deploy_what_the_repository_holds_now(tmp_path: Path, database: str | None) -> None:
    with GitServer() as git, Service(tmp_path, database=database, repo_hosts=(git.address,)) as service:
        client = service.signed_in()
        client.timeout = 120
        repo = git.repository("acme/shop", {"main.lang": WEB.encode()})
        body = {"name": "Shop", "repo": git.url("acme/shop")}
        project = ok(client.post(f"{API}/projects", json=body))["project"]["id"]
        ok(client.post(f"{API}/projects/{project}/deploys"))

        newer = WEB.replace("hello", "pulled")
        commit(repo, tree_of(repo.object_store, {"main.lang": newer.encode()}), b"refs/heads/main")
        pulled = ok(client.post(f"{API}/projects/{project}/deploys", json={"pull": True}))["deploy"]
        assert pulled["created_via"] == "pull"
        [file] = ok(client.get(f"{API}/projects/{project}/package"))["files"]
        assert file["content"] == newer

        # A hook may bring more: where a person has to look at that, it waits.
        with runner_of(service) as runner:
            until(lambda: (runner.converge(), status(client, project) == "running")[1])
            ok(client.patch(f"{API}/projects/{project}", json={"review_widening": True}))
            wider = "require random\n" + newer
            commit(repo, tree_of(repo.object_store, {"main.lang": wider.encode()}), b"refs/heads/main")
            address = ok(client.post(f"{API}/projects/{project}/hook"))["url"]
            answer = ok(service.client().post(address, timeout=120))
            assert answer["status"] == "needs_review"
            assert [deploy["created_via"] for deploy in detail(client, project)["deploys"]] == ["hook", "pull", "token"]

        commit(repo, tree_of(repo.object_store, {"main.lang": b"let x be"}), b"refs/heads/main")
        broken = client.post(f"{API}/projects/{project}/deploys", json={"pull": True})
        assert refused(broken) == (400, "validation") and len(detail(client, project)["deploys"]) == 3
        both = client.post(f"{API}/projects/{project}/deploys", json={"pull": True, "apply": True})
        assert refused(both) == (400, "validation")
        other = made(client)
        assert refused(client.post(f"{API}/projects/{other}/deploys", json={"pull": True})) == (409, "conflict")
