"""The folder of a program: to which project it was deployed, and which of its files are uploaded."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from platform_api.commands.failure import Failure
from platform_api.commands.shapes import PROJECT

#: Never uploaded, even if git does not ignore them: they hold secrets or generated files.
_NEVER = {".git", ".hg", ".svn", ".lang", ".env", "__pycache__", "node_modules", ".venv", ".DS_Store"}
#: Endings of example files, which name environment variables without their values.
_EXAMPLES = (".example", ".sample", ".template", ".dist")
MOST_FILES, MOST_BYTES, MOST_OF_ONE = 2_000, 20 * 1024 * 1024, 5 * 1024 * 1024


def _state(folder: Path) -> Path:
    return folder / ".lang" / "project.json"


def _deployed(folder: Path) -> dict[str, object]:
    """What is stored of a folder: the address of a platform, with ``#`` and the name of a file deployed alone, to a project."""
    try:
        state = json.loads(_state(folder).read_bytes())
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _key(url: str, file: str | None) -> str:
    return url if file is None else f"{url}#{file}"


def remembered(folder: Path, url: str, file: str | None = None) -> str | None:
    """The id of the project to which this folder was last deployed on the platform at ``url``; ``None`` if it was not.

    Args:
        file: the name of a file in the folder: the project to which that file alone was deployed.
    """
    project = _deployed(folder).get(_key(url, file))
    return project if isinstance(project, str) else None


def remember(folder: Path, url: str, project: str | None, file: str | None = None) -> None:
    """Stores the project to which this folder, or one file of it, was deployed; ``None`` removes the entry."""
    path = _state(folder)
    state = _deployed(folder)
    state.pop(_key(url, file), None)
    if project is not None:
        state[_key(url, file)] = project
    path.parent.mkdir(exist_ok=True)
    ignore = path.parent / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    path.write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")


def packed(place: Path) -> list[dict[str, str]]:
    """The files of a folder, or one file, as the API takes them.

    Left out: what git ignores, ``.git``, ``.env``, ``.env.production`` and the like, ``.lang``.

    Errors: ``Failure`` that names the file which cannot be sent, or what makes the folder too large.
    """
    if place.is_file():
        return [_file(place, place.name)]
    if not place.is_dir():
        raise Failure(f"there is no file or folder {str(place)!r}")
    names = sorted(name for name in _listed(place) if not any(_stays(part) for part in name.split("/")))
    if not names:
        raise Failure(f"the folder {str(place)!r} holds nothing to deploy")
    if len(names) > MOST_FILES:
        raise Failure(
            f"a package has at most {MOST_FILES:,} files, this one has {len(names):,}: list those that"
            " are not needed in .gitignore"
        )
    files = []
    root = place.resolve()
    total = 0
    for name in names:
        path = place / name
        if not path.resolve().is_relative_to(root):
            raise Failure(f"{name} is a link to a file outside of the folder: copy the file, or remove the link")
        if not path.is_file():
            continue
        total += path.stat().st_size
        if total > MOST_BYTES:
            raise Failure(f"a package has at most {MOST_BYTES >> 20} MiB: list files that are not needed in .gitignore")
        files.append(_file(path, name))
    return files


def _stays(part: str) -> bool:
    """Whether files and folders of this name are never sent."""
    return part in _NEVER or (part.startswith(".env.") and not part.endswith(_EXAMPLES))


def _file(path: Path, name: str) -> dict[str, str]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Failure(f"{name} cannot be read: {error.strerror}") from None
    if len(content) > MOST_OF_ONE:
        raise Failure(f"{name} is too large: a file of a package has at most {MOST_OF_ONE >> 20} MiB")
    try:
        return {"path": name, "content": content.decode("utf-8"), "encoding": "utf8"}
    except UnicodeDecodeError:
        return {"path": name, "content": base64.b64encode(content).decode(), "encoding": "base64"}


def _listed(folder: Path) -> list[str]:
    """The paths of the files below a folder, without what git ignores."""
    git = shutil.which("git")
    if git is None:
        return _walked(folder)
    # A repository of its own beside the folder: the rules of .gitignore hold, and nothing that the folder's own repository
    # configures is obeyed or started.
    with tempfile.TemporaryDirectory() as place:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        subprocess.run([git, "init", "-q", "--bare", place], check=True, env=clean, capture_output=True)
        there = str(folder.resolve())
        where = [f"--git-dir={place}", f"--work-tree={there}", "-C", there, "-c", "core.fsmonitor=false"]
        asked = [git, *where, "ls-files", "-z", "--others", "--exclude-standard"]
        found = subprocess.run(asked, capture_output=True, env=clean)
    if found.returncode != 0:
        raise Failure(f"git could not list {str(folder)!r}: {found.stderr.decode(errors='replace').strip()}")
    try:
        names = found.stdout.decode("utf-8").split("\0")[:-1]
    except UnicodeDecodeError:
        raise Failure(f"a file name below {str(folder)!r} is not UTF-8: rename it") from None
    for name in names:
        if name.endswith("/"):
            raise Failure(f"{name} is a git repository of its own: list it in .gitignore, or remove its .git")
    return names


def _walked(folder: Path) -> list[str]:
    if (folder / ".gitignore").exists():
        raise Failure("this folder has a .gitignore and git, which reads it, is not installed: install git, or remove the file")
    names = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _NEVER]
        names += [(Path(place) / name).relative_to(folder).as_posix() for name in files]
    return names


def project_of(client: Any, given: str | None) -> str:
    """The id of the project that a command works on: that of ``--project``, else the one to which this folder was deployed."""
    if given is None:
        return _of_folder(Path.cwd(), client.url)
    if given.startswith("prj_"):
        return given
    for project in client.call("GET", "/projects", gives={"items": [PROJECT]}, limit=500)["items"]:
        if given in (project["slug"], project["name"]):
            return str(project["id"])
    raise Failure(f"there is no project {given!r}: `lang projects` lists them")


def _of_folder(folder: Path, url: str) -> str:
    """The project to which a folder was deployed, else the one to which its files were."""
    if found := remembered(folder, url):
        return found
    of_files = {
        key.removeprefix(f"{url}#"): project
        for key, project in _deployed(folder).items()
        if key.startswith(f"{url}#") and isinstance(project, str)
    }
    if not of_files:
        raise Failure("this folder was not deployed yet: name a project with --project, or run `lang deploy`")
    if len(set(of_files.values())) > 1:
        raise Failure(f"{', '.join(sorted(of_files))} of this folder are projects of their own: name one with --project")
    return next(iter(of_files.values()))
