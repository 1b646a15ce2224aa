"""Projects from repositories: what is fetched, from where, and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from dulwich.objects import Blob, Tree
from git_server import GitServer, annotate, commit, tree_of
from hypothesis import given
from hypothesis import strategies as st
from platform_service import Service

from language import is_public_address
from platform_api.packages.files import LARGEST_FILE
from platform_api.repositories.address import (
    AddressRefused,
    Repository,
    checked_addresses,
    parse_repository,
    ref_problem,
)

HOSTS = ("github.com", "127.0.0.1:8418")
WEB = b'serve on 8080\n    route "GET /"\n        give "hi"\n'


@pytest.fixture(scope="module")
def git() -> Iterator[GitServer]:
    """A server of repositories."""
    with GitServer() as server:
        yield server


@pytest.fixture(scope="module")
def service(git: GitServer, tmp_path_factory: pytest.TempPathFactory, module_database: str | None) -> Iterator[Service]:
    """A service that may fetch from it, and from a name that lies in the private network."""
    with Service(
        tmp_path_factory.mktemp("repositories"),
        database=module_database,
        repo_hosts=(git.address, "localhost", "no-such-host.invalid"),
    ) as running:
        yield running


@pytest.fixture(scope="module")
def client(service: Service) -> httpx.Client:
    """A client of an account."""
    return service.signed_in()


def create(client: httpx.Client, repo: str, **body: Any) -> httpx.Response:
    return client.post("/api/v1/projects", json={"name": "Test", "repo": repo, **body}, timeout=120)


def test_a_project_has_the_files_of_the_default_branch(client: httpx.Client, git: GitServer) -> None:
    repo = git.repository("acme/shop", {"main.lang": WEB, "pages/a.html": "é".encode(), "logo.png": b"\x89PNG\xff"})
    commit(repo, tree_of(repo.object_store, {"main.lang": b'print("other")\n'}), b"refs/heads/next/one")
    annotate(repo, "v1", repo.refs[b"refs/heads/main"])
    made = create(client, git.url("acme/shop"))
    assert made.status_code == 200, made.text
    project = made.json()["project"]
    assert (project["kind"], project["repo"], project["ref"]) == ("web", git.url("acme/shop"), "")
    files = client.get(f"/api/v1/projects/{project['id']}/package").json()["files"]
    assert [(file["path"], file["encoding"]) for file in files] == [
        ("logo.png", "base64"),
        ("main.lang", "utf8"),
        ("pages/a.html", "utf8"),
    ]
    other = create(client, git.url("acme/shop"), ref="next/one").json()["project"]
    assert (other["kind"], other["ref"]) == ("worker", "next/one")
    assert create(client, git.url("acme/shop"), ref="v1").json()["project"]["kind"] == "web"


def test_links_and_submodules_are_passed_over(client: httpx.Client, git: GitServer) -> None:
    repo = git.repository("acme/links")
    program, link, tree = Blob.from_string(b'print("hi")\n'), Blob.from_string(b"/etc/passwd"), Tree()
    repo.object_store.add_object(program)
    repo.object_store.add_object(link)
    tree.add(b"main.lang", 0o100755, program.id)
    tree.add(b"secrets", 0o120000, link.id)
    tree.add(b"library", 0o160000, b"1" * 40)
    repo.object_store.add_object(tree)
    commit(repo, tree.id)
    made = create(client, git.url("acme/links"))
    assert [file["path"] for file in made.json()["package"]["files"]] == ["main.lang"]


def refused(client: httpx.Client, repo: str, status: int, text: str, **body: Any) -> None:
    answer = create(client, repo, **body)
    found = answer.json()
    code = {400: "validation", 422: "upstream_failed"}[status]
    assert (answer.status_code, found["code"]) == (status, code), found
    assert text in found["error"], found


def test_what_cannot_be_fetched(client: httpx.Client, git: GitServer) -> None:
    git.repository("acme/there", {"main.lang": b""})
    git.repository("acme/empty")
    refused(client, git.url("acme/nowhere"), 422, "there is no public repository")
    refused(client, git.url("acme/empty"), 422, "it is empty")
    refused(client, git.url("acme/there"), 422, "there is no branch or tag 'v9'", ref="v9")
    refused(client, git.url("acme/there"), 400, "no name of a branch", ref="--upload-pack=x")
    refused(client, "https://example.com/acme/there", 400, "not from example.com")
    refused(client, "https://no-such-host.invalid/acme/there", 422, "is not known")


def test_a_name_in_the_private_network_is_not_connected_to(client: httpx.Client, git: GitServer) -> None:
    refused(client, "https://localhost/acme/shop", 422, "which is not of the public network")


def test_a_redirect_leads_to_no_other_host(client: httpx.Client, git: GitServer) -> None:
    with GitServer() as inside:
        inside.repository("acme/inside", {"main.lang": b""})
        target = inside.url("acme/inside") + "/info/refs?service=git-upload-pack"
        git.instead = lambda path: (
            ("302 Found", [("Location", target), ("Content-Length", "0")], []) if path.startswith("/acme/away") else None
        )
        try:
            refused(client, git.url("acme/away"), 422, f"it redirects to {inside.address}")
        finally:
            git.instead = lambda _path: None
        assert inside.asked == []


def test_what_is_no_repository_is_told_so(client: httpx.Client, git: GitServer) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"0" * 65_536

    smart = [("Content-Type", "application/x-git-upload-pack-advertisement")]
    answers: dict[str, Any] = {
        "/acme/page": ("200 OK", [("Content-Type", "text/html")], [b"<h1>hello</h1>"]),
        "/acme/broken": ("500 Oh", [("Content-Type", "text/plain")], [b"x"]),
        "/acme/endless": ("200 OK", smart, [b"001e# service=git-upload-pack\n0000" + b"zzzz" * 100]),
        "/acme/flood": ("200 OK", smart, endless()),
    }
    git.instead = lambda path: next((answer for name, answer in answers.items() if path.startswith(name)), None)
    try:
        for name in answers:
            refused(client, git.url(name[1:]), 422, "could not be fetched")
    finally:
        git.instead = lambda _path: None


def test_a_commit_that_unpacks_to_far_more_than_it_has(client: httpx.Client, git: GitServer) -> None:
    """Ten folders in each of ten folders, eight deep: a hundred million entries in a few objects."""
    repo = git.repository("acme/bomb")
    inner = tree_of(repo.object_store, {"a": b"x"})
    for _ in range(8):
        tree = Tree()
        for number in range(10):
            tree.add(b"%d" % number, 0o040000, inner)
        repo.object_store.add_object(tree)
        inner = tree.id
    commit(repo, inner)
    refused(client, git.url("acme/bomb"), 422, "")
    empty = git.repository("acme/folders")
    inner = tree_of(empty.object_store, {})
    for _ in range(8):
        tree = Tree()
        for number in range(10):
            tree.add(b"%d" % number, 0o040000, inner)
        empty.object_store.add_object(tree)
        inner = tree.id
    commit(empty, inner)
    refused(client, git.url("acme/folders"), 422, "more than 20,000 entries")
    git.repository("acme/large", {"main.lang": b"", "zeros": bytes(LARGEST_FILE + 1)})
    refused(client, git.url("acme/large"), 422, "larger than a package may be")


def test_an_object_that_inflates_beyond_the_memory_of_the_process(client: httpx.Client, git: GitServer) -> None:
    zeros = 600 * 1024 * 1024
    repo = git.repository("acme/zeros")
    blob, tree = Blob.from_string(bytes(zeros)), Tree()
    repo.object_store.add_object(blob)
    tree.add(b"zeros", 0o100644, blob.id)
    repo.object_store.add_object(tree)
    commit(repo, tree.id)
    refused(client, git.url("acme/zeros"), 422, "could not be fetched")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "github.com/a/b",
        "http://github.com/a/b",
        "git://github.com/a/b",
        "ssh://git@github.com/a/b",
        "https://github.com/a",
        "https://github.com/a/b/c",
        "https://github.com/a/../b",
        "https://github.com/../b",
        "https://github.com//b",
        "https://github.com/a/b?x=1",
        "https://github.com/a/b#x",
        "https://github.com:8443/a/b",
        "https://u:p@github.com/a/b",
        "https://@github.com/a/b",
        "https://github.com@evil.example/a/b",
        "https://evil.example\\@github.com/a/b",
        "https://github.com.evil.example/a/b",
        "https://evil.example/github.com/b",
        "https://127.0.0.1/a/b",
        "https://[::1]/a/b",
        "https://127.0.0.1:8419/a/b",
        "https://2130706433/a/b",
        "https://github.com/a/b\n",
        "https://github.com/a/é",
        "https://ｇithub.com/a/b",
        "https://github.com:x/a/b",
        "https://[/a/b",
        "file:///etc/passwd",
    ],
)
def test_a_url_that_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        parse_repository(url, HOSTS)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://github.com/a/b", "https://github.com/a/b"),
        ("https://GitHub.com/A/b.git/", "https://github.com/A/b.git"),
        ("https://github.com:443/a/b", "https://github.com/a/b"),
        ("http://127.0.0.1:8418/a/b", "http://127.0.0.1:8418/a/b"),
    ],
)
def test_a_url_that_is_taken(url: str, shown: str) -> None:
    assert parse_repository(url, HOSTS).url == shown


@given(st.text(max_size=40))
def test_whatever_is_taken_lies_on_an_allowed_host(text: str) -> None:
    for url in (text, f"https://{text}/a/b", f"https://github.com{text}", f"https://github.com/{text}"):
        try:
            found = parse_repository(url, HOSTS)
        except AddressRefused:
            continue
        assert (found.host, found.port) in (("github.com", 443), ("127.0.0.1", 8418))


REPOSITORY = Repository("https", "github.com", 443, "a/b", literal=False)


@given(st.lists(st.ip_addresses().map(str), min_size=1, max_size=4))
def test_a_name_with_one_private_address_is_refused(addresses: list[str]) -> None:
    public = all(is_public_address(address) for address in addresses)
    try:
        found = checked_addresses(REPOSITORY, "github.com", 443, lambda _host, _port: addresses)
    except AddressRefused:
        assert not public
    else:
        assert public and found == addresses


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "255.255.255.255",
        "224.0.0.1", "192.0.0.192", "168.63.129.16", "198.18.0.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254",
        "ff02::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::",
        "2001::1", "fec0::1", "3fff::1", "5f00::1", "4000::1", "192.88.99.1", "x",
    ],
)  # fmt: skip
def test_an_address_that_is_not_public(address: str) -> None:
    assert not is_public_address(address)


@pytest.mark.parametrize(
    "ref", ["", "-x", ".x", "a..b", "a//b", "a/.b", "x.lock", "a b", "a\nb", "é", "x" * 201, "a~1", "/a", "a/"]
)
def test_a_ref_that_is_refused(ref: str) -> None:
    assert ref_problem(ref)


@pytest.mark.parametrize("ref", ["main", "release/1.0", "v1.2.3-rc.1+build", "0"])
def test_a_ref_that_is_taken(ref: str) -> None:
    assert ref_problem(ref) == ""
