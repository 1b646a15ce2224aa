"""``lang new``: creates a folder with a program, its test and its manifest."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from shlex import quote

from platform_api.commands.arguments import parser, read
from platform_api.commands.client import client, segment
from platform_api.commands.failure import Failure
from platform_api.commands.output import out, plain, show_json

#: A path in a recipe: no control character and no half of a character, no longer than the platform takes.
_PATH = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,240}")
_MAIN = """\
require serve(8080)

task greeting(name)
    give "Hello, " + name + "!"

serve on 8080
    route "GET /"
        give ok({"message": greeting("world")})
    route "GET /hello/:name"
        give ok({"message": greeting(params.name)})

test "greets by name"
    assert_eq(greeting("Ada"), "Hello, Ada!")
"""
#: What assistants look for in a folder, and where it sends them.
_AGENTS = """\
# For assistants that work in this folder

The programs here (`*.lang`) are written in the language of the command `lang`. It is not Python and not JavaScript: read
`lang docs guide` first, the whole language on one page; `lang docs NAME` explains a builtin, a keyword or the code of an error.

- `lang check FILE` finds errors without running anything, `lang test FILE` runs the test blocks, `lang fmt FILE` lays it out.
- `lang run --sandbox FILE` runs a program that may print and read the clock, nothing else. A program with a `serve` block is
  started with `lang serve FILE`; its `test` blocks run without that.
- `lang mcp` offers all of this as tools (Model Context Protocol, standard input and output).
- A program declares what it may reach with `require`. Declare the narrowest scope, and tell the person who reviews it why.
- An `approve` or `confirm` is for a person: never answer one.
"""


def new(words: Sequence[str]) -> int:
    """Creates a folder with a program that can be deployed without changes."""
    made = parser("new", "Creates a folder with a small web service, its test and its lang.toml, or with a recipe.")
    made.add_argument("folder", metavar="FOLDER", help="the folder to create; it must not exist")
    made.add_argument("--recipe", metavar="SLUG", help="copy this recipe from the catalog of the platform; needs a sign-in")
    arguments = read(made, words)
    folder = Path(arguments.folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Failure(f"{str(folder)!r} exists already: name a folder that does not exist")
    files = _recipe(arguments.url, arguments.recipe) if arguments.recipe else _smallest(folder.resolve().name)
    files.setdefault("AGENTS.md", _AGENTS.encode())
    for name, content in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise Failure(f"{plain(path)} cannot be written: {error.strerror}") from None
    if arguments.json:
        show_json({"folder": str(folder), "files": sorted(files)})
    else:
        out(f"{plain(folder)} holds {', '.join(map(plain, sorted(files)))}.")
        word = quote(plain(folder))
        out(f"`lang test {word}` tests it, `lang deploy {word}` deploys it.")
    return 0


def _smallest(name: str) -> dict[str, bytes]:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    manifest = f'name = "{quoted}"\nkind = "web"\nentry = "main.lang"\nversion = "0.1.0"\n'
    return {
        "main.lang": _MAIN.encode(),
        "lang.toml": manifest.encode(),
        ".gitignore": b".env\n.lang/\n",
    }


def _acted_on(part: str) -> bool:
    """Whether git takes a folder of this name for a repository, whose configuration starts programs (CVE-2014-9390)."""
    plain_part = "".join(each for each in part.casefold() if each.isprintable()).rstrip(". ")
    return plain_part in (".git", "git~1")


def _recipe(url: str | None, slug: str) -> dict[str, bytes]:
    gives = {"files": [{"path": _PATH, "content": str, "encoding": str}]}
    service = client(url)
    try:
        answer = service.call("GET", f"/recipes/{segment(slug)}/package", gives=gives)
    except Failure as failure:
        if failure.answer.get("code") != "not_found":
            raise
        found = service.call("GET", "/recipes", gives={"items": [{"slug": str, "tagline": str}]})["items"]
        listed = [f"{plain(recipe['slug'])}: {plain(recipe['tagline'])}" for recipe in found]
        raise Failure(f"there is no recipe {slug!r}; these are there:", failure.answer, more=listed) from None
    files = {}
    for file in answer["files"]:
        path = PurePosixPath(file["path"])
        if path.is_absolute() or ".." in path.parts or "\\" in file["path"] or ":" in file["path"]:
            raise Failure(f"nothing was written: the recipe has a file outside of the folder: {plain(file['path'])}")
        if any(_acted_on(part) for part in path.parts):
            raise Failure(f"nothing was written: the recipe has a file of git, which can start programs: {plain(file['path'])}")
        content = file["content"]
        try:
            files[str(path)] = base64.b64decode(content) if file["encoding"] == "base64" else content.encode()
        except ValueError:
            raise Failure(
                f"nothing was written: the recipe has a file whose content is not valid: {plain(file['path'])}"
            ) from None
    return files
