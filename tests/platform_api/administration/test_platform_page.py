"""The page of the manual on the platform names commands, flags and variables that exist, and all variables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from platform_api.administration import main
from platform_api.commands.main import COMMANDS
from runner.command import command as runner_command

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "platform.md").read_text(encoding="utf-8")


def test_every_setting_is_told() -> None:
    read = set(re.findall(r'"(PLATFORM_[A-Z_]+)"', (ROOT / "platform_api" / "settings.py").read_text(encoding="utf-8")))
    assert read - set(re.findall(r"PLATFORM_[A-Z_]+", PAGE)) == set()


def test_every_command_of_the_page_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    named = re.findall(r"lang platform ([a-z-]+)(?: ([a-z-]+))?", PAGE)
    assert {name for name, _ in named} > {"up", "serve", "user", "backup", "runner-token"}
    for name, more in named:
        words = [name, more] if name in ("user", "runners") else [name]
        command = runner_command if name == "runner" else main.command
        assert command([*words[name == "runner" :], "--help"]) == 0, words
    assert {name for name in re.findall(r"^lang ([a-z]+)", PAGE, re.MULTILINE) if name != "platform"} <= set(COMMANDS)
    capsys.readouterr()
