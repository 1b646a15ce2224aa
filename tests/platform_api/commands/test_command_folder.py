"""What of a folder is sent to a platform, and what is never sent."""

from __future__ import annotations

import base64
import shutil
import subprocess
from pathlib import Path

import pytest

from platform_api.commands.failure import Failure
from platform_api.commands.folder import MOST_FILES, MOST_OF_ONE, packed, remember, remembered
from platform_api.commands.output import plain


def write(folder: Path, **files: str | bytes) -> None:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def names(folder: Path) -> list[str]:
    return [file["path"] for file in packed(folder)]


@pytest.mark.parametrize("repository", [False, True])
def test_what_git_ignores_and_what_holds_secrets_stays_here(tmp_path: Path, repository: bool) -> None:
    if repository:
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
    files = (
        "main.lang",
        "pages/a.html",
        "out/big.bin",
        "deep/out/kept.txt",
        ".env",
        "sub/.env",
        ".env.local",
        ".env.example",
        "notes.log",
        ".lang/project.json",
    )
    for name in files:
        write(tmp_path, **{name.replace("/", "__"): "x"})
    (tmp_path / ".gitignore").write_text("/out/\n*.log\n")
    assert names(tmp_path) == [".env.example", ".gitignore", "deep/out/kept.txt", "main.lang", "pages/a.html"]


def test_the_configuration_of_a_repository_starts_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "cloned"
    subprocess.run(["git", "init", "-q", folder], check=True)
    ran = tmp_path / "ran"
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    for setting in ("core.fsmonitor", "core.sshCommand", "diff.external", "core.excludesFile"):
        subprocess.run(["git", "-C", folder, "config", setting, str(hook)], check=True)
    write(folder, main_dot_lang="print(1)")
    assert names(folder) == ["main.lang"]
    assert not ran.exists()


def test_bytes_travel_whole(tmp_path: Path) -> None:
    write(tmp_path, **{"a.bin": b"\xff\x00", "b.txt": "ü\r\n"})
    assert packed(tmp_path) == [
        {"path": "a.bin", "content": base64.b64encode(b"\xff\x00").decode(), "encoding": "base64"},
        {"path": "b.txt", "content": "ü\r\n", "encoding": "utf8"},
    ]


def test_one_file_is_a_package(tmp_path: Path) -> None:
    write(tmp_path, **{"app.lang": "print(1)", "other.lang": "x"})
    assert [file["path"] for file in packed(tmp_path / "app.lang")] == ["app.lang"]


def test_a_link_out_of_the_folder_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    folder = tmp_path / "f"
    write(folder, **{"main.lang": "x"})
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(Failure, match="link is a link to a file outside of the folder"):
        packed(folder)


def test_what_is_too_large_is_named_before_anything_is_sent(tmp_path: Path) -> None:
    write(tmp_path, **{"main.lang": "x", "big": b"x" * (MOST_OF_ONE + 1)})
    with pytest.raises(Failure, match="big is too large"):
        packed(tmp_path)
    (tmp_path / "big").unlink()
    for number in range(MOST_FILES):
        (tmp_path / f"f{number}").touch()
    with pytest.raises(Failure, match=r"2,000 files, this one has 2,001"):
        packed(tmp_path)


def test_nothing_to_send(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="nothing to deploy"):
        packed(tmp_path)
    with pytest.raises(Failure, match="no file or folder"):
        packed(tmp_path / "missing")
    (tmp_path / "inner").mkdir()
    subprocess.run(["git", "init", "-q", tmp_path / "inner"], check=True)
    write(tmp_path / "inner", a="b")
    with pytest.raises(Failure, match="inner/ is a git repository of its own"):
        packed(tmp_path)


def test_without_git_a_gitignore_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert shutil.which("git") is None
    write(tmp_path / "f", **{"main.lang": "x", ".env": "SECRET=1"})
    assert names(tmp_path / "f") == ["main.lang"]
    (tmp_path / "f" / ".gitignore").write_text("a\n")
    with pytest.raises(Failure, match="git"):
        packed(tmp_path / "f")


def test_a_folder_remembers_its_project_for_each_service(tmp_path: Path) -> None:
    assert remembered(tmp_path, "https://a.example") is None
    remember(tmp_path, "https://a.example", "prj_1")
    remember(tmp_path, "https://b.example", "prj_2")
    assert remembered(tmp_path, "https://a.example") == "prj_1"
    remember(tmp_path, "https://a.example", None)
    assert (remembered(tmp_path, "https://a.example"), remembered(tmp_path, "https://b.example")) == (None, "prj_2")
    assert (tmp_path / ".lang" / ".gitignore").read_text() == "*\n"
    (tmp_path / ".lang" / "project.json").write_text("[")
    assert remembered(tmp_path, "https://b.example") is None


@pytest.mark.parametrize("text", ["\x1b]0;title\x07", "\x9b31m", "a\rb", "‮abc", "a\nb", "\x00"])
def test_no_text_of_a_service_acts_on_a_terminal(text: str) -> None:
    shown = plain(text)
    assert shown.isprintable() and "\\" in shown
    assert plain("ü€ 漢\tx") == "ü€ 漢\tx"
