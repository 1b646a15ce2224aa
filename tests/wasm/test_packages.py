"""What is handed out: the npm package, and the programs of the manual's chapter about embedding."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import language
from tests.manual import DOCS, Block, blocks
from tests.servers import missing
from tests.wasm.web_build import ROOT, node, web_build
from wasm_abi import js_package


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package is installed from its archive."""
    folder = tmp_path_factory.mktemp("package")
    js_package.write(folder / "made", web_build())
    if shutil.which("npm") is None:
        missing("npm", "npm")
    quiet = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--offline"]
    packed = subprocess.run(["npm", "pack", *quiet], cwd=folder / "made", capture_output=True, text=True, timeout=120)
    assert packed.returncode == 0, packed.stderr
    (folder / "package.json").write_text("{}", encoding="utf-8")
    archive = folder / "made" / packed.stdout.strip().splitlines()[-1]
    installed = subprocess.run(
        ["npm", "install", *quiet, str(archive)], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert installed.returncode == 0, installed.stderr
    return folder


def in_node(folder: Path, script: str) -> str:
    (folder / "script.mjs").write_text(script, encoding="utf-8")
    done = subprocess.run([node(), "script.mjs"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_names_the_digest_of_its_module(package: Path) -> None:
    installed = package / "node_modules" / "lang-wasm"
    described = json.loads((installed / "package.json").read_text(encoding="utf-8"))
    assert described["wasm"]["sha256"] == hashlib.sha256((installed / "lang-web.wasm").read_bytes()).hexdigest()
    assert f"v{described['version']}" == language.version()
    assert {path.name for path in installed.iterdir()} >= {"lang.js", "lang.d.ts", "worker.js", "LICENSE", "README.md"}
    assert not list(installed.glob("*.py")) and not described.get("dependencies")
    script = """
        import { readFile } from "node:fs/promises";
        import { Lang } from "lang-wasm";
        const { wasm } = JSON.parse(await readFile("node_modules/lang-wasm/package.json", "utf8"));
        const module = import.meta.resolve("lang-wasm/lang-web.wasm");
        const lang = await (await Lang.load(module, { integrity: wasm.sha256 })).ready();
        console.log(lang.version().version);
    """
    assert in_node(package, script) == f"{language.version()}\n"


def test_the_types_name_every_export() -> None:
    declared = (ROOT / "wasm_abi" / "js" / "lang.d.ts").read_text(encoding="utf-8")
    values = set(re.findall(r"^export (?:class|function) (\w+)", declared, re.MULTILINE))
    script = f"import * as all from {json.dumps((ROOT / 'wasm_abi/js/lang.js').as_uri())}; console.log(Object.keys(all).join())"
    done = subprocess.run([node(), "--input-type=module", "--eval", script], capture_output=True, text=True, timeout=60)
    assert set(done.stdout.strip().split(",")) == values
    members = set(re.findall(r"^    (?:static )?(\w+)\(", declared[declared.index("export class Lang") :], re.MULTILINE))
    source = (ROOT / "wasm_abi" / "js" / "lang.js").read_text(encoding="utf-8")
    assert members - {"constructor"} == set(re.findall(r"^    (?:static )?(?:async )?([a-z]\w+)\(", source, re.MULTILINE)) - {
        "constructor"
    }


def shown(language_: str) -> list[tuple[Block, str]]:
    """The blocks of a language in the chapter, each with the text that stands under it."""
    found = blocks(DOCS / "embedding.md")
    return [(block, after.text) for block, after in pairwise(found) if block.language == language_]


@pytest.mark.parametrize(("block", "output"), shown("js"), ids=lambda value: getattr(value, "place", ""))
def test_the_manual_in_javascript(package: Path, block: Block, output: str) -> None:
    assert in_node(package, block.text) == output


@pytest.mark.parametrize(("block", "output"), shown("py"), ids=lambda value: getattr(value, "place", ""))
def test_the_manual_in_python(block: Block, output: str) -> None:
    web_build()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", block.text], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.stderr) == (output, "")


def test_the_host_in_go_is_laid_out() -> None:
    gofmt = shutil.which("gofmt")
    if gofmt is None:
        pytest.skip("Go is not installed")
    done = subprocess.run([gofmt, "-l", "-e", str(ROOT / "examples/embed/go")], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_manual_shows_both() -> None:
    assert len(shown("js")) == len(shown("py")) == 2
