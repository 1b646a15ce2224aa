"""What the repository says about itself holds."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def tracked_files() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / os.fsdecode(name) for name in listing.split(b"\0") if name and (ROOT / os.fsdecode(name)).is_file()]


#: What is written for people who come here; other pages are data of examples.
PAGES = [
    name
    for name in sorted(str(path.relative_to(ROOT)) for path in tracked_files() if path.suffix == ".md")
    if name.count("/") == 0 or name.startswith("docs/") or name.endswith("/README.md")
]


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_no_file_names_a_machine() -> None:
    """Paths of somebody's machine, private registries: nothing a clone elsewhere could not use."""
    machine = re.compile(r"(?<![\w.])/(?:work|home/[a-z]\w*|root|Users/[A-Za-z]\w*|opt/(?:pypi|wheels))(?:/|\b)")
    allowed = {ROOT / "tests" / "test_repository.py"}
    found = []
    for path in tracked_files():
        if path in allowed:
            continue
        for number, line in enumerate(read(path).split("\n"), 1):
            if match := machine.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {match[0]}")
    assert not found


def test_the_lock_names_the_public_index_alone() -> None:
    lock = page("uv.lock")
    assert set(re.findall(r"https?://([^/\"]+)", lock)) == {"pypi.org", "files.pythonhosted.org"}


def test_the_lock_covers_what_the_project_asks_for() -> None:
    project = tomllib.loads(page("pyproject.toml"))["project"]
    locked = tomllib.loads(page("uv.lock"))["package"]
    names = {package["name"] for package in locked}
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(requirement for extra in extras.values() for requirement in extra)]
    asked = set()
    for requirement in wanted:
        # Markers are for tests/test_dependencies.py.
        name, options, version = re.fullmatch(r"([\w.-]+)(\[[\w,]+\])?([^;]*)(?:;.*)?", requirement).groups()
        assert name in names
        if name == project["name"]:
            continue  # an extra that holds another one: the lock names what that one asks for
        asked.add((name, options or "", version))
    own = next(package for package in locked if package["name"] == project["name"])
    stated = own["metadata"]["requires-dist"]
    options = {entry["name"]: f"[{','.join(entry['extras'])}]" for entry in stated if "extras" in entry}
    assert {(entry["name"], options.get(entry["name"], ""), entry.get("specifier", "")) for entry in stated} >= asked


def test_the_versions_agree() -> None:
    from language.release import __version__

    extension = re.search(r'"version": "([^"]+)"', page("editors/vscode/package.json"))
    assert extension is not None
    assert extension[1] == __version__


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    here = (ROOT / name).parent
    text = re.sub(r"^```.*?^```$", "", page(name), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)
    missing = [target for target in targets if "://" not in target and not (here / target).exists()]
    assert not missing


@pytest.mark.parametrize("name", PAGES)
def test_named_files_and_targets_exist(name: str) -> None:
    """Every `make x` is a target, every path in backticks that looks like one of ours is there."""
    text = page(name)
    targets = set(re.findall(r"^([a-z]+):", page("Makefile"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z]+)\b`", text)) <= targets
    folders = {path.relative_to(ROOT).parts[0] for path in tracked_files() if len(path.relative_to(ROOT).parts) > 1}
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text)
    gone = [path for path in named if path.split("/")[0] in folders and not (ROOT / path).exists()]
    assert not gone


def test_the_map_names_every_folder() -> None:
    """Folders of the top, and packages inside those of the code, but for the versions of the schema."""
    mapped = set(re.findall(r"^\| `([^`]+)/` \|", page("CONTRIBUTING.md"), re.MULTILINE))
    tracked = [path.relative_to(ROOT).parts for path in tracked_files()]
    tops = {parts[0] for parts in tracked if len(parts) > 1}
    code = [parts[:-1] for parts in tracked if parts[-1] == "__init__.py" and "migrations" not in parts]
    packages = {"/".join(parts) for parts in code if parts[0] in ("language", "stdlib", "platform_api", "runner")}
    assert mapped == tops | packages


def test_no_two_files_of_tests_have_one_name() -> None:
    """Where folders are no packages, pytest would collect only one of them."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_make_help_lists_every_target() -> None:
    targets = re.search(r"^\.PHONY: (.*)$", page("Makefile"), re.MULTILINE)
    assert targets is not None
    assert set(re.findall(r'@echo "make ([a-z]+) +\w', page("Makefile"))) == set(targets[1].split())
    assert set(re.findall(r"^([a-z]+):", page("Makefile"), re.MULTILINE)) == set(targets[1].split())


def test_scripts_are_executable() -> None:
    for script in [*(ROOT / ".ci").iterdir(), ROOT / "examples" / "run_all.sh"]:
        assert os.access(script, os.X_OK), script


def test_text_files_end_with_a_newline_and_have_no_carriage_returns() -> None:
    checked = [
        path for path in tracked_files() if path.suffix in {".py", ".md", ".toml", ".lark", ".sh"} or path.name == "Makefile"
    ]
    assert len(checked) > 50
    assert not [str(path) for path in checked if path.stat().st_size and not path.read_bytes().endswith(b"\n")]
    assert not [str(path) for path in checked if b"\r\n" in path.read_bytes()]


#: A command that installs the distribution ``lang``, or one of its extras: on the package index that name is not ours.
FOREIGN_DISTRIBUTION = re.compile(
    r"(?:\bpip3?|\bpipx|\buvx?|\bpoetry|\bconda)\b[^\n]*?\b(?:install|add|run|with)\b[^\n]*?(?<![\w./-])lang(?=$|[\s'\"`,;=<>~!\[])"
    r"|(?<![\w.#-])lang\[(?:\{|postgres|mysql|redis|wasm|platform|runner|dev|bench)",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    "text",
    [
        "pip install lang",
        "pip install 'lang[redis]'",
        "uv add lang",
        "uv tool install lang",
        "pip3 install -U lang==1",
        '"lang[{extra}]"',
    ],
)
def test_advice_to_install_a_foreign_distribution_is_recognised(text: str) -> None:
    assert FOREIGN_DISTRIBUTION.search(text)


@pytest.mark.parametrize(
    "text", ["pip install 'ceiling-lang[redis]'", "this.lang[op]", "uv run lang-of-ours", "pip install ./lang"]
)
def test_other_advice_is_not(text: str) -> None:
    assert not FOREIGN_DISTRIBUTION.search(text)


def test_nobody_is_told_to_install_a_foreign_distribution() -> None:
    assert tomllib.loads(page("pyproject.toml"))["project"]["name"] == "ceiling-lang"
    found = []
    for path in tracked_files():
        if path != ROOT / "tests" / "test_repository.py":
            found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in FOREIGN_DISTRIBUTION.finditer(read(path))]
    assert not found
