"""The bundled recipes as a platform runs them: each under the ceiling that it declares, its gates decided by their links."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import httpx

import language
from platform_api.packages.lang_toml import PackageManifest, parse_manifest
from tests.examples.running_services import COMMAND, EXAMPLES, REPOSITORY, Service, served
from tests.servers import free_port

T = TypeVar("T")
RECIPES = EXAMPLES / "recipes"
KEY = "the key that the operator has in this test"


def manifest_of(name: str) -> PackageManifest:
    return parse_manifest((RECIPES / name / "lang.toml").read_bytes())


def files_of(name: str) -> dict[str, bytes]:
    folder = RECIPES / name
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def inspected(name: str) -> language.Manifest:
    return language.inspect(files_of(name), entry=manifest_of(name).entry)


@contextmanager
def deployed(name: str, volume: Path, **environment: str) -> Iterator[tuple[Service, httpx.Client]]:
    """A recipe as a platform runs it: its folder apart, an empty folder to work in, what it declares as its ceiling.

    The port is the host's to choose: that item of the ceiling has no scope.
    """
    manifest = manifest_of(name)
    ceiling = str(inspected(name).ceiling).replace("serve=8080", "serve")
    given = {**manifest.env, **dict.fromkeys(manifest.secrets, KEY), **environment}
    with served(volume, "--secure", "--cap-set", ceiling, str(RECIPES / name / manifest.entry), **given) as service:
        with httpx.Client(base_url=service.url, timeout=20) as client:
            yield service, client
        assert "Capability not granted" not in service.log
        assert "] 500 " not in service.log


def signed_in(client: httpx.Client) -> httpx.Client:
    """The client with the cookie of the operator; what is not the key is refused first."""
    assert client.get("/desk", headers={"Accept": "text/html"}).headers["Location"] == "/operator/sign-in"
    assert "Key of the operator" in client.get("/operator/sign-in").text
    assert client.post("/operator/sign-in", data={"key": "a guess"}).status_code == 403
    assert client.post("/operator/sign-in", data={"key": KEY}).headers["Location"] == "/desk"
    assert client.get("/desk").status_code == 200
    return client


def while_a_gate_waits(service: Service, ask: Callable[[], T], words: str, decision: str) -> T:
    """What is given for which a person decides, by the link that the console shows for the question."""

    def questions() -> list[str]:
        return [line for line in service.log.splitlines() if words in line]

    before = len(questions())
    with ThreadPoolExecutor(1) as executor:
        asked = executor.submit(ask)
        wait_until(lambda: len(questions()) > before)
        link = questions()[-1].rpartition(" or open ")[2]
        assert httpx.get(link, params={"d": decision}, timeout=20).status_code == 200
        return asked.result(20)


@contextmanager
def job(name: str, folder: Path, **environment: str) -> Iterator[tuple[Service, subprocess.Popen[bytes]]]:
    """A recipe that is a job, as a platform runs it: in this folder, its gates decided by their links."""
    manifest, port, log = manifest_of(name), free_port(), folder / "console.log"
    given = {**manifest.env, **dict.fromkeys(manifest.secrets, KEY), **environment}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*COMMAND, "run", "--cap-set", str(inspected(name).ceiling), str(RECIPES / name / manifest.entry)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PLATFORM_CONTROL_ADDR": f"127.0.0.1:{port}", **given},
        )
    try:
        yield Service(f"http://127.0.0.1:{port}", folder, log, process), process
        assert "Capability not granted" not in log.read_text(encoding="utf-8")
    finally:
        process.kill()
        process.wait(60)


def decide(service: Service, words: str, decision: str) -> None:
    """Decides the one question with those words, by the link that the console shows for it, once it is asked."""
    link = service.waits_for(words, 60).rpartition(" or open ")[2]
    assert httpx.get(link, params={"d": decision}, timeout=20).status_code == 200


def wait_until(holds: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.3)
