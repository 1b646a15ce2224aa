"""Variables and secrets: how they are classed, encrypted and told, what a deploy takes, and a change of the master key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from platform_service import Service
from sqlalchemy import LargeBinary, insert, select, update

from language import inspect
from platform_api.accounts import second_factor
from platform_api.administration.main import command
from platform_api.environment.keys import KeyMissing, Keys, load_keys
from platform_api.environment.names import name_problem
from platform_api.environment.snapshots import open_snapshot, snapshot
from platform_api.notices.settings import seal_url, url_of
from platform_api.settings import Settings
from platform_api.store import tables
from platform_api.store.store import Store
from platform_api.store.tables import accounts, environment, main, notices, projects, records

SOURCE = """\
require secret("STRIPE_KEY")
require secret("APP_*")
require env("REGION")
print(secret("STRIPE_KEY"), secret("OPTIONAL", "none"))
"""
OLD, NEW = "a" * 32, "b" * 32


def keys_of(*masters: str) -> Keys:
    return Keys(lambda: masters)


@pytest.fixture
def here(service: Service) -> str:
    """The path of a project of ``owner@example.com``."""
    assert inspect(SOURCE).errors == ()
    client = service.signed_in()
    made = client.post("/api/v1/projects", json={"name": "Shop", "source": SOURCE})
    return f"/api/v1/projects/{made.json()['project']['id']}"


@pytest.fixture
def client(service: Service, here: str) -> httpx.Client:
    """A client of the account that the project belongs to."""
    with service.platform.store.main.reading() as connection:
        account = connection.execute(select(projects.c.account_id)).scalar_one()
    return service.client(service.token(account))


def put(client: httpx.Client, here: str, name: str, value: str = "x", **more: Any) -> httpx.Response:
    return client.put(f"{here}/env/{name}", json={"value": value, **more})


def test_the_program_says_what_is_a_secret(client: httpx.Client, here: str) -> None:
    kinds = {
        name: put(client, here, name).json()["kind"] for name in ("STRIPE_KEY", "APP_TOKEN", "OPTIONAL", "REGION", "lower")
    }
    assert kinds == {
        "STRIPE_KEY": "secret",
        "APP_TOKEN": "secret",
        "OPTIONAL": "secret",
        "REGION": "variable",
        "lower": "variable",
    }
    assert put(client, here, "REGION", kind="secret").json()["kind"] == "secret"
    assert put(client, here, "REGION", "again").json()["kind"] == "secret", "a stored secret is not shown by a second write"
    items = {item["name"]: item for item in client.get(f"{here}/env").json()["items"]}
    assert list(items) == sorted(items)
    assert (items["lower"]["value"], items["lower"]["fingerprint"]) == ("x", None)
    assert (items["STRIPE_KEY"]["value"], len(items["STRIPE_KEY"]["fingerprint"])) == (None, 12)
    assert items["STRIPE_KEY"]["fingerprint"] == items["APP_TOKEN"]["fingerprint"] != items["REGION"]["fingerprint"]
    names = [item["name"] for item in client.get(f"{here}/secrets").json()["items"]]
    assert names == ["APP_TOKEN", "OPTIONAL", "REGION", "STRIPE_KEY"]


def test_what_is_missing(client: httpx.Client, here: str) -> None:
    assert client.get(f"{here}/env").json()["missing"] == client.get(f"{here}/secrets").json()["missing"] == ["STRIPE_KEY"]
    assert client.put(f"{here}/secrets/STRIPE_KEY", json={"value": ""}).json() == {"ok": True, "name": "STRIPE_KEY"}
    assert client.get(f"{here}/env").json()["missing"] == []
    assert client.delete(f"{here}/env/STRIPE_KEY").json() == {"ok": True, "name": "STRIPE_KEY"}
    assert client.get(here).json()["missing_secrets"] == ["STRIPE_KEY"]
    again = client.delete(f"{here}/env/STRIPE_KEY")
    assert (again.status_code, again.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("secrets", "lower"),
        ("secrets", "1A"),
        ("secrets", "A" * 65),
        ("secrets", "A-B"),
        ("env", "1a"),
        ("env", "a" * 65),
        ("env", "a.b"),
        ("env", "é"),
        ("env", "PLATFORM_URL"),
        ("env", "platform_token"),
        ("secrets", "PLATFORM_MASTER_KEY"),
        ("env", "PLATFORM_HUMANS"),
        ("env", "PLATFORM_LLM_CONTEXT"),
        ("secrets", "PLATFORM_LLM_CONTEXT"),
    ],
)
def test_a_name_that_cannot_be(client: httpx.Client, here: str, path: str, name: str) -> None:
    answer = client.put(f"{here}/{path}/{name}", json={"value": "x"})
    assert (answer.status_code, answer.json()["field"]) == (400, "name"), answer.text


def test_names_and_values_that_can_be(client: httpx.Client, here: str) -> None:
    for name in ("PLATFORM_HUMAN_TIMEOUT", "PLATFORM_LLM_MODEL", "a", "_", "A" * 64):
        assert put(client, here, name).status_code == 200, name
    assert put(client, here, "a", "é" * 32 * 1024).status_code == 200
    for bad in ("x" * (64 * 1024 + 1), "a\0b"):
        assert put(client, here, "a", bad).json()["field"] == "value"
    for body in ({}, {"value": 1}, {"value": None}, {"value": "x", "kind": "other"}):
        assert client.put(f"{here}/env/a", json=body).status_code == 400, body
    assert client.get(f"{here}/env").json()["items"][-1]["value"] == "é" * 32 * 1024


def test_the_values_of_a_project_are_bounded(client: httpx.Client, here: str) -> None:
    answers = [put(client, here, f"V{number}", "x" * 64 * 1024).status_code for number in range(17)]
    assert answers == [200] * 15 + [400] * 2


def test_no_value_lies_readable_in_the_store(service: Service, client: httpx.Client, here: str) -> None:
    value = "a value that is looked for in every file"
    client.put(f"{here}/secrets/STRIPE_KEY", json={"value": value})
    put(client, here, "REGION", value)
    for file in (service.platform.settings.data).iterdir():
        assert value.encode() not in file.read_bytes(), file
    store = service.platform.store
    for database, metadata in ((store.main, main), (store.records, records)):
        with database.reading() as connection:
            rows = [row for table in metadata.sorted_tables for row in connection.execute(select(table))]
        assert rows or metadata is records
        assert not [row for row in rows if value in str(tuple(row))]
    answers = [client.get(path).text for path in (f"{here}/secrets", here, "/api/v1/projects", f"{here}/package")]
    assert not any(value in answer for answer in answers)


def test_what_is_stored_opens_in_its_own_place_only(service: Service, client: httpx.Client, here: str) -> None:
    """Whoever writes to the database cannot have the service show a secret as a variable or as the value of another name."""
    client.put(f"{here}/secrets/STRIPE_KEY", json={"value": "secret value"})
    with service.platform.store.main.writing() as connection:
        connection.execute(update(environment).values(kind="variable"))
    answer = client.get(f"{here}/env")
    assert answer.status_code == 500 and "secret value" not in answer.text
    with service.platform.store.main.writing() as connection:
        connection.execute(update(environment).values(kind="secret", name="OTHER"))
        project = connection.execute(select(environment.c.project_id)).scalar_one()
        with pytest.raises(KeyMissing):
            snapshot(connection, service.platform.keys, project)


def test_needs_redeploy_compares_contents(service: Service, client: httpx.Client, here: str) -> None:
    def needs() -> bool:
        return bool(client.get(f"{here}/env").json()["needs_redeploy"])

    assert not needs()
    put(client, here, "A", "1")
    assert needs()
    client.delete(f"{here}/env/A")
    assert not needs(), "nothing was deployed, and nothing is stored"
    put(client, here, "A", "1")
    project_id = here.rpartition("/")[2]
    with service.platform.store.main.writing() as connection:
        blob, number = snapshot(connection, service.platform.keys, project_id)
        connection.execute(update(projects).values(environment_deployed=number))
    assert not needs()
    put(client, here, "A", "2")
    client.put(f"{here}/secrets/B", json={"value": "3"})
    assert needs()
    found = open_snapshot(service.platform.keys, project_id, blob)
    assert (found.variables, found.secrets) == ({"A": "1"}, {})
    put(client, here, "A", "1")
    client.delete(f"{here}/env/B")
    assert not needs(), "the same content again"


@given(st.binary(max_size=200), st.lists(st.text(max_size=5), max_size=3), st.lists(st.text(max_size=5), max_size=3))
def test_what_is_sealed_opens_with_the_same_context_alone(plain: bytes, one: list[str], other: list[str]) -> None:
    keys = keys_of(OLD)
    blob = keys.seal(plain, *one)
    assert keys.open(blob, *one) == plain
    if one != other:
        with pytest.raises(KeyMissing):
            keys.open(blob, *other)


@given(st.binary(max_size=60), st.data())
def test_what_was_changed_does_not_open(plain: bytes, data: st.DataObject) -> None:
    keys = keys_of(OLD)
    blob = bytearray(keys.seal(plain, "x"))
    place = data.draw(st.integers(0, len(blob) - 1))
    blob[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(KeyMissing):
        keys.open(bytes(blob), "x")


def test_fingerprints_are_of_the_installation() -> None:
    assert keys_of(OLD).fingerprint("x") == keys_of(OLD, NEW).fingerprint("x")
    assert keys_of(OLD).fingerprint("x") != keys_of(NEW).fingerprint("x")
    assert len({keys_of(OLD).fingerprint(value) for value in ("", "x", "y")}) == 3


@given(st.text(max_size=70))
def test_a_secret_is_always_a_possible_variable(name: str) -> None:
    if name_problem(name, "secret") == "":
        assert name_problem(name, "variable") == ""


def test_the_key_that_is_made_is_read_by_nobody_else(tmp_path: Path) -> None:
    first = load_keys(Settings(data=tmp_path))
    path = tmp_path / "master.key"
    assert path.stat().st_mode & 0o777 == 0o600 and len(path.read_text().strip()) >= 43
    assert load_keys(Settings(data=tmp_path)).current == first.current
    path.chmod(0o640)
    with pytest.raises(PermissionError, match="chmod 600"):
        load_keys(Settings(data=tmp_path))


@pytest.mark.parametrize("given_key", ["", "short", "a" * 31, f"{OLD},short"])
def test_a_master_key_that_is_too_short(tmp_path: Path, given_key: str) -> None:
    with pytest.raises(ValueError, match="at least 32 characters"):
        load_keys(Settings(data=tmp_path, master_key=given_key))


def test_a_new_master_key_takes_over(
    service: Service, client: httpx.Client, here: str, database: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rotation while the service runs: nothing is lost, and afterwards the old key is of no use."""
    monkeypatch.setenv("PLATFORM_DATABASE", database or "")
    client.put(f"{here}/secrets/STRIPE_KEY", json={"value": "one"})
    put(client, here, "REGION", "eu")
    project_id, data = here.rpartition("/")[2], service.platform.settings.data
    with service.platform.store.main.writing() as connection:
        _, number = snapshot(connection, service.platform.keys, project_id)
        connection.execute(update(projects).values(environment_deployed=number))
    old = (data / "master.key").read_text().split()
    before = client.get(f"{here}/env").json()
    assert command(["rotate-key", "--data", str(data)]) == 0
    new = (data / "master.key").read_text().split()
    assert new[1:] == old and (data / "master.key").stat().st_mode & 0o777 == 0o600
    after = client.get(f"{here}/env").json()
    assert [item["value"] for item in after["items"]] == ["eu", None]
    assert not after["needs_redeploy"]
    assert after["items"][1]["fingerprint"] != before["items"][1]["fingerprint"]
    client.put(f"{here}/secrets/B", json={"value": "two"})
    assert command(["rotate-key", "--keep-key", "--data", str(data)]) == 0
    assert (data / "master.key").read_text().split() == new
    (data / "master.key").write_text(new[0])
    keys = load_keys(Settings(data=data))
    with service.platform.store.main.reading() as connection:
        found = open_snapshot(keys, project_id, snapshot(connection, keys, project_id)[0])
    assert (found.variables, found.secrets) == ({"REGION": "eu"}, {"STRIPE_KEY": "one", "B": "two"})


def sealed_columns(store: Store, key_id: str) -> set[str]:
    """The columns that hold something encrypted with that key."""
    found = set()
    with store.main.reading() as connection:
        for table in tables.main.sorted_tables:
            for column in table.columns:
                if isinstance(column.type, LargeBinary):
                    values = connection.execute(select(column).where(column.is_not(None))).scalars()
                    if any(value.startswith(key_id.encode()) for value in values):
                        found.add(f"{table.name}.{column.name}")
    return found


def test_a_new_master_key_takes_over_everywhere(
    service: Service, client: httpx.Client, here: str, database: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that is encrypted: values, the snapshot of a deploy, second factors, kept answers, addresses of notices."""
    monkeypatch.setenv("PLATFORM_DATABASE", database or "")
    platform, project_id = service.platform, here.rpartition("/")[2]
    old = platform.keys.current
    put(client, here, "REGION", "eu")
    deploy = client.post(f"{here}/deploys", headers={"Idempotency-Key": "a-key-of-a-test"})
    assert deploy.status_code == 200, deploy.text
    with platform.store.main.writing() as connection:
        account = connection.execute(select(projects.c.account_id)).scalar_one()
        secret = platform.keys.seal(b"ABCDEFGH", second_factor.PURPOSE, account)
        connection.execute(update(accounts).values(totp_secret=secret))
        values = {"id": "ntc_1", "account_id": account, "name": "x", "service": "json", "kinds": "gates", "created_at": 0}
        url = seal_url(platform.keys, "ntc_1", "json://example.com")
        connection.execute(insert(notices).values(**values, ciphertext=url))
    everything = {
        "accounts.totp_secret",
        "deploys.environment",
        "environment.ciphertext",
        "idempotency.response",
        "notices.ciphertext",
    }
    assert sealed_columns(platform.store, old) == everything
    assert command(["rotate-key", "--data", str(platform.settings.data)]) == 0
    assert sealed_columns(platform.store, old) == set()
    platform.keys.reload()
    assert sealed_columns(platform.store, platform.keys.current) == everything
    again = client.post(f"{here}/deploys", headers={"Idempotency-Key": "a-key-of-a-test"})
    assert again.json() == deploy.json()
    with platform.store.main.reading() as connection:
        row = connection.execute(select(tables.deploys)).one()
        assert open_snapshot(platform.keys, project_id, row.environment).variables == {"REGION": "eu"}
        assert url_of(platform.keys, connection.execute(select(notices)).one()) == "json://example.com"
        sealed = connection.execute(select(accounts.c.totp_secret)).scalar_one()
    assert platform.keys.open(sealed, second_factor.PURPOSE, account) == b"ABCDEFGH"


def test_a_key_that_is_gone_is_named() -> None:
    blob = keys_of(OLD).seal(b"x", "prj", "secret", "A")
    with pytest.raises(KeyMissing, match=f"master key {keys_of(OLD).current}, which is not given any more"):
        keys_of(NEW).open(blob, "prj", "secret", "A")
    assert keys_of(NEW, OLD).open(blob, "prj", "secret", "A") == b"x"
