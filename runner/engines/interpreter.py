"""The command that runs inside of a sandbox, and which folders of this machine the process engine must show there for it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from runner.engines import APP, CACHE, DATA, LINK, Program

#: The packages of this distribution that run inside.
PACKAGES = ("language", "stdlib")

#: All that a program's process finds in its environment. A project's variables come over the host link: as variables of the
#: process some of them (``PYTHONPATH``, ``LD_PRELOAD``) would run code before the ceiling holds.
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": DATA,
    "LANG": "C.UTF-8",
    "TMPDIR": "/tmp",
}


def environment(cached: bool) -> dict[str, str]:
    """The process's environment, with where its compiled files lie."""
    where = {"XDG_CACHE_HOME": str(Path(CACHE).parent)} if cached else {"PLATFORM_CACHE": "off"}
    return {**ENVIRONMENT, **where}


def program_words(lang: list[str], program: Program, app: str = APP, link: str = LINK) -> list[str]:
    """The command of a start. ``lang``: how the language is called there; ``app``, ``link``: where those folders lie."""
    place = program.address or f"{link}/host.sock"
    flags = ["--cap-set", program.ceiling, "--package", app, "--host-link", place]
    return [*lang, program.mode, *flags, f"{app}/{program.entry}"]


def compile_words(lang: list[str], entry: str, app: str = APP) -> list[str]:
    """The command that fills the cache."""
    return [*lang, "check", "--compile", f"{app}/{entry}"]


def own_lang() -> list[str]:
    """The language of this interpreter; neither variables nor the working folder add anything to it."""
    return [sys.executable, "-IB", "-m", "language"]


def own_folders() -> list[Path]:
    """What this interpreter reads outside of the system's own folders: its installation, its environment, our packages."""
    wanted = [Path(sys.base_prefix), Path(sys.prefix)]
    for name in PACKAGES:
        found = find_spec(name)
        if found is None or not found.submodule_search_locations:
            raise ModuleNotFoundError(f"no package {name}")
        wanted.append(Path(found.submodule_search_locations[0]))
    # A link on the way to the interpreter is followed inside of the sandbox too.
    wanted += [Path(path).parent.parent for path in (sys.executable, Path(sys.executable).resolve())]
    kept: list[Path] = []
    for path in sorted({path.absolute() for path in wanted}, key=lambda path: len(path.parts)):
        if path != Path("/") and not any(path.is_relative_to(folder) for folder in (Path("/usr"), *kept)):
            kept.append(path)
    return kept
