"""The page on operating a platform is true: its commands do what stands below them, its names are there."""

from __future__ import annotations

import re

import pytest
from followed_page import Shell, matches
from runner_process import ROOT, short_folder

from platform_api.administration import main
from runner.command import command as runner_command
from tests.manual import DOCS, blocks, commands

PAGE, MODEL = DOCS / "operate.md", DOCS / "threat-model.md"


def test_its_commands_show_what_stands_below_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    shown = [(block.place, *pair) for block in blocks(PAGE) if "platform" in block.words for pair in commands(block)]
    assert len(shown) > 8
    with short_folder() as home:
        shell = Shell(home)
        try:
            for place, command, expected in shown:
                seen = shell.run(command)
                assert matches(expected, seen), f"{place}: {command} shows\n{seen}"
        finally:
            shell.close()


def test_every_command_and_setting_that_it_names_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"lang platform ([a-z-]+)(?: ([a-z-]+))?", text))
    assert {name for name, _ in named} >= {
        "up",
        "serve",
        "runner",
        "backup",
        "restore",
        "ingress-config",
        "systemd-unit",
        "migrate",
    }
    for name, more in named:
        words = [name, more] if name in ("user", "runners") else [name]
        command = runner_command if name == "runner" else main.command
        assert command([*words[name == "runner" :], "--help"]) == 0, words
    capsys.readouterr()
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "runner").rglob("*.py"))
    sources += "".join(path.read_text(encoding="utf-8") for path in (ROOT / "platform_api").rglob("*.py"))
    assert [name for name in re.findall(r"PLATFORM_[A-Z_]+", text) if f'"{name}"' not in sources] == []


def test_what_it_quotes_is_said() -> None:
    """The texts in the table of what to do, as the parts say them."""
    table = PAGE.read_text(encoding="utf-8").partition("## Problems and solutions")[2]
    quoted = [part for text in re.findall(r'^\| [^|"]*"([^"]+)"', table, re.MULTILINE) for part in text.split("...")]
    sources = " ".join(
        re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8"))
        for folder in ("runner", "platform_api")
        for path in (ROOT / folder).rglob("*.py")
    )
    assert len(quoted) > 8
    assert [part.strip() for part in quoted if part.strip(" :,") not in sources] == []


def test_the_tests_that_the_threat_model_names_are_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", MODEL.read_text(encoding="utf-8")))
    written = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 30
    assert [name for name in named if f"def {name}(" not in written] == []
