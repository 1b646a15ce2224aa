"""The files of the playground, and the server that hands them out."""

from __future__ import annotations

import json
import re
import subprocess
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.wasm.playground.playground_page import EXAMPLES
from tests.wasm.web_build import ROOT, node, web_build
from wasm_abi.playground import generate
from wasm_abi.playground.layout import HERE, files, write


def test_the_word_tables_are_those_of_today() -> None:
    assert generate.TARGET.read_text(encoding="utf-8") == generate.text_of_tables(), "run `make docs`"


def test_the_service_worker_knows_every_file() -> None:
    listed = json.loads(
        re.search(r"FILES = (\[.*?\]);", (HERE / "sw.js").read_text(encoding="utf-8"), re.DOTALL)[1].replace(",\n]", "]")
    )  # type: ignore[index]
    assert sorted(listed) == sorted({"./", *files()} - {"sw.js"})


def test_the_menu_has_every_example() -> None:
    assert sorted(file for file, _ in EXAMPLES) == sorted(path.name for path in (HERE / "examples").iterdir())


def test_the_page_names_nothing_outside() -> None:
    for name, path in files().items():
        if path.suffix in (".html", ".js", ".css", ".svg"):
            text = (
                path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "").replace("http://program.invalid", "")
            )
            assert not re.findall(r"https?://[\w.]+", text), name


def test_the_site_as_a_folder(tmp_path: Path) -> None:
    web_build()
    write(tmp_path)
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == set(files())


def test_the_server(site: str) -> None:
    def ask(path: str, method: str = "GET", **headers: str) -> tuple[Any, bytes]:
        connection = HTTPConnection("127.0.0.1", int(site.split(":")[2].rstrip("/")), timeout=20)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return reply, reply.read()

    reply, body = ask("/lang-web.wasm")
    assert (reply.status, reply.headers["Content-Type"], body[:4]) == (200, "application/wasm", b"\0asm")
    assert reply.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert ask("/lang-web.wasm", If_None_Match=reply.headers["ETag"])[0].status == 304
    assert ask("/", "HEAD")[1] == b""
    for path in ("/generate.py", "/../pyproject.toml", "/%2e%2e/%2e%2e/pyproject.toml", "/js/lang.d.ts", "/nope"):
        assert ask(path)[0].status == 404


def test_the_highlighter_loses_nothing() -> None:
    """Every program of the repository, line by line, and hostile lines."""
    script = """
        import { readFileSync } from "node:fs";
        import { tokensOf } from "./highlight.js";
        const texts = readFileSync(0, "utf8").split("\\0").filter(Boolean).map((path) => readFileSync(path, "utf8"));
        texts.push("`{`{`{", "}}}}`", "\\\\", '"\\\\', "`\\\\", "\\u{10ffff}\\ud800", "a\\u2028b \\t--", "0x 1_ 1e 1.d .5");
        for (const text of texts) {
            let state = "";
            for (const line of text.split("\\n")) {
                const [tokens, after] = tokensOf(line, state);
                if (tokens.map(([, piece]) => piece).join("") !== line) throw new Error(line);
                state = after;
            }
        }
        console.log(texts.length);
    """
    programs = subprocess.run(["git", "ls-files", "-z", "*.lang"], cwd=ROOT, capture_output=True, check=True).stdout
    paths = b"\0".join(str(ROOT / name).encode() for name in programs.decode().split("\0") if name and (ROOT / name).is_file())
    done = subprocess.run(
        [node(), "--input-type=module", "--eval", script], cwd=HERE, input=paths, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stdout) > 100
