"""A wheel of this repository: what it holds with the web build and without, and the playground that is served from it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
from test_platform_up import SECONDS, answers, free_port

from tests.wasm.web_build import web_build
from wasm_abi.playground.layout import files

ROOT = Path(__file__).resolve().parents[3]
#: What a wheel is made of.
SOURCES = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "hatch_build.py",
    "language",
    "stdlib",
    "platform_api",
    "runner",
    "wasm_abi",
    "docs/errors",
    "docs/llms-full.txt",
    "docs/reference.md",
    "examples",
)
IN_PACKAGE = "platform_api/playground_site/"


def wheel(checkout: Path, target: str = "wheel") -> Path:
    """Makes a wheel, or another target, of a checkout."""
    folder = checkout / "made" / target
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    made = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=SECONDS)
    assert made.returncode == 0, made.stdout + made.stderr
    [found] = folder.iterdir()
    return found


def test_a_wheel_that_is_made_with_the_web_build_serves_the_playground(tmp_path: Path) -> None:
    built = web_build()
    checkout = tmp_path / "checkout"
    skipped = shutil.ignore_patterns("__pycache__")
    for name in SOURCES:
        source, target = ROOT / name, checkout / name
        target.parent.mkdir(exist_ok=True)
        shutil.copytree(source, target, ignore=skipped) if source.is_dir() else shutil.copyfile(source, target)
    without = zipfile.ZipFile(wheel(checkout)).namelist()
    assert "platform_api/platform.py" in without and not [name for name in without if name.startswith(IN_PACKAGE)]
    assert [name for name in without if name.endswith("share/ceiling-lang/recipes/catalog.toml")]
    shutil.rmtree(checkout / "made")

    (checkout / "dist").mkdir()
    shutil.copyfile(built, checkout / "dist" / built.name)
    site = files()
    made = zipfile.ZipFile(wheel(checkout))
    assert {name.removeprefix(IN_PACKAGE) for name in set(made.namelist()) - set(without)} == set(site)
    made.extractall(tmp_path / "installed")
    shutil.rmtree(checkout)

    data, port = tmp_path / "data", free_port()
    surroundings = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path / "installed")}
    common = [sys.executable, "-m", "language", "platform"]
    subprocess.run(
        [*common, "user", "add", "a@example.com", "--data", str(data)], env=surroundings, check=True, timeout=SECONDS
    )
    command = [*common, "sign-in-link", "a@example.com", "--data", str(data), "--base-url", f"http://127.0.0.1:{port}"]
    said = subprocess.run(command, env=surroundings, check=True, capture_output=True, text=True, timeout=SECONDS).stdout
    link = re.search(r"http\S+/sign-in/link/\S+", said)
    assert link is not None, said
    # Not in the checkout: what is served comes out of the wheel.
    command = [*common, "serve", "--data", str(data), "--port", str(port)]
    with subprocess.Popen(command, env=surroundings, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        try:
            assert answers(port)
            with httpx.Client(headers={"Accept": "text/html"}, timeout=SECONDS) as client:
                password = {"password": "correct horse battery", "again": "correct horse battery"}
                begun = client.post(link[0], data=password, headers={"Origin": f"http://127.0.0.1:{port}"})
                assert begun.status_code == 303, begun.text
                place = f"http://127.0.0.1:{port}/playground"
                assert 'href="/playground/site/index.html"' in client.get(place).text
                for name, path in site.items():
                    assert client.get(f"{place}/site/{name}").content == path.read_bytes(), name
        finally:
            process.terminate()
            process.wait(SECONDS)
