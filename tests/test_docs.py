"""The manual is true: its programs print what stands under them, its generated parts are those of today."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from docs.generate import CAPABILITIES, DIFFERENCES, TARGET, differences, reference, with_table
from language.cli.main import COMMANDS, REMOTE
from language.cli.usage import TEXTS
from stdlib import all_builtins
from tests.examples.running_services import Service, served
from tests.manual import DOCS, README, ROOT, Program, Step, pages, steps
from tests.servers import missing

STEPS = [step for page in pages() for step in steps(page)]
COINS = next(step for step in steps(README) if step.program is not None and "enum Coin" in step.program.block.text)


def laid_out(program: Program, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in program.files:
        assert file.file is not None
        target = folder / file.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.text, encoding="utf-8")
    (folder / name).write_text(program.block.text, encoding="utf-8")


def lang(folder: Path, *words: str, environment: Mapping[str, str] | None = None) -> str:
    return ran([sys.executable, "-m", "language", *words], folder, environment)


def ran(words: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """What a command prints, on both streams."""
    return subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        encoding="utf-8",
        timeout=60,
    ).stdout


@contextmanager
def beside(step: Step, folder: Path) -> Iterator[tuple[str, str] | None]:
    """The program that a step speaks with, running: the address that stands in the page, and the one to use."""
    if step.server is None:
        yield None
        return
    laid_out(step.server, folder / "server", "server.lang")
    service: Service
    with served(folder / "server", "server.lang", **step.server.block.environment) as service:
        yield f":{step.server.port}", service.url.removeprefix("http://127.0.0.1")


def printed(step: Step, folder: Path) -> str:
    """What the program of a step prints."""
    assert step.program is not None
    block = step.program.block
    with beside(step, folder) as address:
        text = block.text if address is None else block.text.replace(*address)
        name = step.place.partition(".")[0].lower() + (".lang" if block.language == "lang" else ".py")
        laid_out(step.program._replace(block=block._replace(text=text)), folder / "here", name)
        if block.language == "python":
            return ran([sys.executable, name], folder / "here", block.environment)
        command = "test" if "test" in block.words else "run"
        text = lang(folder / "here", command, *block.flags, name, environment=block.environment)
        return re.sub(r"after \d+\.\d{3} s", "after 0.000 s", text) if command == "test" else text


@pytest.mark.parametrize("step", [step for step in STEPS if step.output is not None], ids=lambda step: step.place)
def test_programs_print_what_stands_under_them(step: Step, tmp_path: Path) -> None:
    if step.program is not None and "array(" in step.program.block.text:
        pytest.importorskip("numpy", reason="NumPy has no release for this Python", exc_type=ImportError)
    assert printed(step, tmp_path) == step.output


@pytest.mark.parametrize("step", [step for step in STEPS if step.commands], ids=lambda step: step.place)
def test_commands_answer_what_stands_under_them(step: Step, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        missing("curl", "curl")
    with beside(step, tmp_path) as address:
        assert address is not None
        for words, output in step.commands:
            used = [word.replace(f"localhost{address[0]}", f"127.0.0.1{address[1]}") for word in words]
            assert used != words, f"{step.place}: {words} does not speak with the program above"
            answered = ran([*used, "--silent", "--show-error"], tmp_path)
            assert answered.removesuffix("\n") + "\n" == output, words


@pytest.mark.parametrize(
    "step", [step for step in STEPS if step.output is None and not step.commands], ids=lambda step: step.place
)
def test_programs_without_an_output_are_in_order(step: Step, tmp_path: Path) -> None:
    assert step.program is not None
    laid_out(step.program, tmp_path, "program.lang")
    assert lang(tmp_path, "check", "program.lang").startswith("OK: ")


def has_tests(step: Step) -> bool:
    """Whether test blocks of the step are to pass. A page that shows what `lang test` prints may show how one fails."""
    if step.program is None or step.program.block.language != "lang" or "test" in step.program.block.words:
        return False
    return re.search(r"^test ", step.program.block.text, re.MULTILINE) is not None


@pytest.mark.parametrize("step", [step for step in STEPS if has_tests(step)], ids=lambda step: step.place)
def test_the_test_blocks_of_every_program_pass(step: Step, tmp_path: Path) -> None:
    """What a program prints does not show them: `lang run` leaves them out."""
    assert step.program is not None
    laid_out(step.program, tmp_path, "program.lang")
    answer = lang(tmp_path, "test", "program.lang", environment=step.program.block.environment)
    assert re.search(r"^[1-9]\d* passed, 0 failed ", answer, re.MULTILINE), answer


def test_programs_are_laid_out_as_the_formatter_does(tmp_path: Path) -> None:
    for step in STEPS:
        if step.program is not None and step.program.block.language == "lang" and "Parse error: " not in (step.output or ""):
            (tmp_path / f"{step.place.replace(':', '_')}.lang").write_text(step.program.block.text, encoding="utf-8")
    assert lang(tmp_path, "fmt", "--check", ".") == ""


def test_every_kind_of_step_is_there() -> None:
    """What finds the programs has not gone blind."""
    assert len([step for step in STEPS if step.output is not None]) > 30
    assert len([step for step in STEPS if step.commands]) > 2
    assert {step.place.partition(":")[0] for step in STEPS} >= {"README.md", "tour.md", "serve.md", "gates.md", "mcp.md"}
    tested = {step.place.partition(":")[0] for step in STEPS if has_tests(step)}
    assert tested >= {"README.md", "guide.md", "tour.md", "how-to.md"}


def test_the_index_names_every_chapter() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    chapters = {page.name for page in DOCS.glob("*.md")} - {"README.md"}
    assert set(re.findall(r"^- \[[^\]]+\]\(([\w.-]+\.md)\):", index, re.MULTILINE)) == chapters


# ---- the first page -------------------------------------------------------------------------------------------------------


def test_what_the_readme_says_about_its_coins(tmp_path: Path) -> None:
    assert COINS.program is not None
    source = COINS.program.block.text
    refused = re.compile(r"Runtime error: \w+\.lang:\d+:\d+: Capability not granted: random")
    (tmp_path / "whole.lang").write_text(source, encoding="utf-8")
    (tmp_path / "bare.lang").write_text(source.removeprefix("require random\n"), encoding="utf-8")
    assert refused.match(lang(tmp_path, "run", "bare.lang"))
    assert refused.match(lang(tmp_path, "run", "--sandbox", "whole.lang"))
    assert lang(tmp_path, "test", "whole.lang").splitlines()[0] == "✓ a coin has two sides"


def test_what_the_readme_says_about_orders(tmp_path: Path) -> None:
    """Its service sells nothing until a person has agreed."""
    (step,) = [step for step in steps(README) if step.program is not None and step.program.block.words == ("serve",)]
    assert step.program is not None
    laid_out(step.program, tmp_path, "pens.lang")
    order = {"pen": "Quill", "count": 2}
    with served(tmp_path, "pens.lang") as service, ThreadPoolExecutor() as pool:
        for decision, status, body in ((True, 201, order), (False, 409, {"error": "nobody agreed", "status": 409})):
            reply = pool.submit(httpx.post, f"{service.url}/orders", json=order, timeout=30)
            identifier = asked(service)
            token = token_of(service, identifier)
            decided = httpx.post(f"{service.url}/approvals/{identifier}", json={"token": token, "decision": decision})
            assert decided.json() == {"ok": True}
            assert (reply.result().status_code, reply.result().json()) == (status, body)
        for path in ("/llms.txt", "/openapi.json", "/docs"):
            assert "/orders" in httpx.get(service.url + path).text


def token_of(service: Service, identifier: str) -> str:
    """The token of a gate, which the console shows: perhaps a moment after the gate is listed."""
    deadline = time.monotonic() + 10
    while not (found := re.findall(f'/approvals/{identifier} {{"token": "([0-9a-f]{{64}})"', service.log)):
        assert time.monotonic() < deadline, service.log
        time.sleep(0.02)
    return str(found[0])


def asked(service: Service) -> str:
    """The identifier of the gate that waits."""
    deadline = time.monotonic() + 10
    while not (pending := httpx.get(f"{service.url}/approvals").json()["pending"]):
        assert time.monotonic() < deadline, service.log
        time.sleep(0.02)
    (gate,) = pending
    assert gate["message"] == "Sell 2 of Quill?"
    identifier: str = gate["id"]
    return identifier


def test_the_page_of_commands_names_every_command() -> None:
    told = re.findall(r"^  ([a-z]+(?:, [a-z -]+)*)  ", TEXTS[""].partition("Without a command")[0], re.MULTILINE)
    known = {word.split()[0] for line in told for word in line.split(", ")}
    rows = re.findall(r"^\| (`lang [^|]*) \|", (DOCS / "commands.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = {word.removeprefix("lang ").split()[0] for row in rows for word in re.findall(r"`([^`]+)`", row)}
    assert named == known == {*COMMANDS, *REMOTE, "platform", "version", "help"}


def test_the_readme_leads_to_every_chapter() -> None:
    chapters = {page.name for page in DOCS.glob("*.md")} - {"README.md"}
    assert set(re.findall(r"\(docs/([\w.-]+\.md)", README.read_text(encoding="utf-8"))) >= chapters


# ---- what is generated ------------------------------------------------------------------------------------------------------


def test_the_table_of_capabilities_is_up_to_date() -> None:
    page = CAPABILITIES.read_text(encoding="utf-8")
    assert page == with_table(page), "run `make docs`"


def test_the_reference_of_the_builtins_is_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_the_differences_of_the_builds_are_up_to_date() -> None:
    assert DIFFERENCES.read_text(encoding="utf-8") == differences(), "run `make docs`"


def test_every_builtin_is_documented() -> None:
    assert not [name for name, builtin in all_builtins().items() if not builtin.doc]
