"""Where pages may lie. Each attack is a path or a change of the disk that tries to reach a file outside."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from site_of import Site

from language.capabilities import Ceiling

LITERAL = 'print(body of render("{path}"))'
#: the same path, put together by the program
COMPUTED = 'let path be "{path}"\nprint(body of render(path))'


def both(site: Site, path: str) -> list[str]:
    """The errors of a path that stands in the source and of one that is computed."""
    return [site.error(source.replace("{path}", path)) for source in (LITERAL, COMPUTED)]


@pytest.fixture
def secret(site: Site) -> Path:
    file = site.folder.parent / "secret.html"
    file.write_text("the secret", encoding="utf-8")
    return file


def test_absolute_paths(site: Site, secret: Path) -> None:
    for path in (str(secret), "/etc/hostname", "//etc/hostname", "C:/x.html", "c:x.html"):
        assert both(site, path) == [f"template path must be relative to the working dir: '{path}'"] * 2
    assert both(site, "\\\\etc\\\\hostname") == ["template path must be relative to the working dir: '\\etc\\hostname'"] * 2


@pytest.mark.parametrize("path", ["../secret.html", "sub/../../secret.html", "./.././secret.html", "..//secret.html"])
def test_dots_lead_out(site: Site, secret: Path, path: str) -> None:
    (site.folder / "sub").mkdir()
    assert both(site, path) == [f"template path escapes the working directory: '{path}'"] * 2
    for name in ("include", "layout"):
        site.write("page.html", f'{{ {name} "{path}" }}')
        assert both(site, "page.html") == [f"template path escapes the working directory: '{path}'"] * 2


def test_backslashes_are_separators(site: Site, secret: Path) -> None:
    assert both(site, "..\\\\secret.html") == ["template path escapes the working directory: '..\\secret.html'"] * 2
    site.write("sub/page.html", "page")
    assert site.run('print(body of render("sub\\\\page.html"))') == ["page"]


def test_missing_outside_is_missing(site: Site) -> None:
    assert both(site, "../nope.html") == ["template not found: ../nope.html"] * 2


def test_symbolic_links_lead_out(site: Site, secret: Path) -> None:
    (site.folder / "link.html").symlink_to(secret)
    (site.folder / "folder").symlink_to(site.folder.parent)
    for path in ("link.html", "folder/secret.html", "folder/x/../secret.html"):
        assert both(site, path) == [f"template path escapes the working directory: '{path}'"] * 2
    (site.folder / "sibling").symlink_to(site.folder.parent / "application")
    site.write("../application/page.html", "neighbour")
    assert both(site, "sibling/page.html") == ["template path escapes the working directory: 'sibling/page.html'"] * 2


def test_links_inside_are_followed(site: Site) -> None:
    site.write("real/page.html", "inside { nope }")
    (site.folder / "current.html").symlink_to("real/page.html")
    assert both(site, "current.html") == ["page.html:1: field 'nope' is not in the template data"] * 2


@pytest.mark.parametrize("path", [".env", ".env.html", "sub/.git/config", ".well-known/x.html", "./.env", "..env", "sub/.../x"])
def test_names_that_begin_with_a_dot(site: Site, path: str) -> None:
    site.write(path, "hidden")
    assert both(site, path) == [f"template not found: {path}"] * 2


def test_links_do_not_show_what_is_hidden(site: Site) -> None:
    site.write(".env", "KEY=hidden")
    site.write(".secrets/page.html", "hidden")
    (site.folder / "page.html").symlink_to(".env")
    (site.folder / "pages").symlink_to(".secrets")
    for path in ("page.html", "pages/page.html"):
        assert both(site, path) == [f"template not found: {path}"] * 2


def test_a_program_in_a_hidden_folder_has_its_pages(site: Site) -> None:
    site.write(".app/page.html", "page")
    assert site.run('print(body of render("page.html"))', name=str(site.folder / ".app/main.lang")) == ["page"]


def test_what_is_no_file(site: Site) -> None:
    (site.folder / "folder.html").mkdir()
    os.mkfifo(site.folder / "pipe.html")
    (site.folder / "loop.html").symlink_to("loop.html")
    (site.folder / "gone.html").symlink_to("nowhere.html")
    (site.folder / "null.html").symlink_to("/dev/null")
    for path in ("folder.html", "pipe.html", "loop.html", "gone.html", "", ".", "./", "x" * 5000):
        assert both(site, path) == [f"template not found: {path}"] * 2
    assert both(site, "null.html") == ["template path escapes the working directory: 'null.html'"] * 2
    site.write("page.html", "page")
    assert site.error(LITERAL.replace("{path}", "page.html\\u0000")) == "template not found: page.html\0"


def test_bytes_that_are_no_text(site: Site) -> None:
    site.write("page.html", b"<p>\xff</p>")
    assert both(site, "page.html") == ["template is not UTF-8: page.html"] * 2


# ---- what needs a grant ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".html", ".htm", ".xml", ".svg", ".txt", ".md", ".css", ".js", ".HTML"])
def test_computed_pages_of_the_program(site: Site, ending: str) -> None:
    site.write("pages/a" + ending, "page")
    assert site.run(COMPUTED.replace("{path}", "pages/a" + ending)) == ["page"]


@pytest.mark.parametrize("path", ["main.lang", "data.json", "users.db", "page", "page.html.bak", "html"])
def test_other_computed_paths_need_a_grant(site: Site, path: str) -> None:
    site.write(path, "data")
    assert site.run(LITERAL.replace("{path}", path)) == ["data"]
    refused = site.error(COMPUTED.replace("{path}", path))
    shown = f"{site.folder}/{path}"
    assert refused.startswith(f'Capability not granted: file.read("{shown}")')
    assert site.run(f'require file.read("{shown}")\n' + COMPUTED.replace("{path}", path)) == ["data"]
    assert site.error(f'require file.read("{site.folder}/other")\n' + COMPUTED.replace("{path}", path)) == refused


def test_a_link_does_not_lend_its_ending(site: Site) -> None:
    site.write("data.json", "data")
    (site.folder / "page.html").symlink_to("data.json")
    assert site.error(COMPUTED.replace("{path}", "page.html")).startswith("Capability not granted: file.read(")


def test_parts_of_a_page_of_the_program_are_part_of_it(site: Site) -> None:
    site.write("page.html", '{ include "part.tpl" }')
    site.write("part.tpl", "part")
    assert site.run(COMPUTED.replace("{path}", "page.html")) == ["part"]


def test_parts_of_a_page_that_needed_a_grant_need_one_too(site: Site) -> None:
    site.write("page.tpl", '{ include "data.json" }')
    site.write("data.json", "data")
    grant = f'require file.read("{site.folder}/page.tpl")\n'
    refused = site.error(grant + COMPUTED.replace("{path}", "page.tpl"))
    assert refused.startswith(f'Capability not granted: file.read("{site.folder}/data.json")')


def test_the_working_directory_needs_a_grant(site: Site) -> None:
    Path("page.html").write_text("from here", encoding="utf-8")
    for source in (LITERAL, COMPUTED):
        source = source.replace("{path}", "page.html")
        assert site.error(source).startswith('Capability not granted: file.read("page.html")')
        assert site.run('require file.read("page.html")\n' + source) == ["from here"]
        assert site.run('require file.read("./*")\n' + source) == ["from here"]
    site.write("page.html", "from the program")
    assert site.run(LITERAL.replace("{path}", "page.html")) == ["from the program"]


def test_a_program_that_is_no_file_has_no_pages_of_its_own(site: Site) -> None:
    Path("page.html").write_text("from here", encoding="utf-8")
    source = LITERAL.replace("{path}", "page.html")
    assert site.error(source, name="<embedded>").startswith('Capability not granted: file.read("page.html")')
    assert site.run('require file.read("page.html")\n' + source, name="<embedded>") == ["from here"]


def test_the_working_directory_is_the_folder_of_a_program_from_standard_input(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("page.html").write_text("from here", encoding="utf-8")
    Path("data.json").write_text("data", encoding="utf-8")
    for source in (LITERAL, COMPUTED):
        assert site.run(source.replace("{path}", "page.html"), name="<stdin>") == ["from here"]
    assert site.run(LITERAL.replace("{path}", "data.json"), name="<stdin>") == ["data"]
    refused = site.error(COMPUTED.replace("{path}", "data.json"), name="<stdin>")
    assert refused.startswith('Capability not granted: file.read("data.json")')
    folder = Path("inner")
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert "escapes" in site.error(LITERAL.replace("{path}", "../page.html"), name="<stdin>")


def test_a_file_of_the_program_is_its_own_from_wherever_it_is_started(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.write("views/page.html", "of the program")
    site.write("views/data.json", "data")
    monkeypatch.chdir(site.folder / "views")
    for source in (LITERAL, COMPUTED):
        assert site.run(source.replace("{path}", "page.html")) == ["of the program"]
    assert site.run(LITERAL.replace("{path}", "data.json")) == ["data"]
    assert site.error(COMPUTED.replace("{path}", "data.json")).startswith("Capability not granted: file.read(")


def test_no_link_and_no_hidden_folder_makes_a_file_the_programs(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = site.folder.parent / (site.folder.name + "-beside")
    beside.mkdir()
    (beside / "page.html").write_text("beside", encoding="utf-8")
    (site.folder / "linked").symlink_to(beside)
    site.write(".hidden/page.html", "hidden")
    for folder in (beside, site.folder / "linked", site.folder / ".hidden"):
        monkeypatch.chdir(folder)
        assert site.error(LITERAL.replace("{path}", "page.html")).startswith("Capability not granted: file.read(")


def test_a_link_out_of_a_grant(site: Site) -> None:
    Path("data").mkdir()
    Path("other.tpl").write_text("other", encoding="utf-8")
    Path("data/page.tpl").symlink_to("../other.tpl")
    source = 'require file.read("data/*")\n' + LITERAL.replace("{path}", "data/page.tpl")
    assert "symbolic link leaves the granted path" in site.error(source)


def test_no_ceiling_takes_pages_away_but_a_denial_does(site: Site) -> None:
    site.write("page.html", "page")
    source = LITERAL.replace("{path}", "page.html")
    assert site.run(source, ceiling=Ceiling.parse("stdout,time")) == ["page"]
    assert site.run('print(sandbox body of render("page.html"))') == ["page"]
    assert "explicitly denied" in site.error(source, deny=f"{site.folder}/page.html")


def test_what_is_loaded_is_recorded(site: Site) -> None:
    site.write("page.html", '{ layout "base.html" }{ each x in xs }{ include "part.html" }{ end }')
    site.write("part.html", "{ x }")
    site.write("base.html", "<{ slot }>")
    assert site.page("./page.html", '{"xs": [1, 2]}') == "<12>"
    bundled = {"granted": True, "origin": "runtime", "why": "bundled asset (part of the program)", "capability": "file.read"}
    assert [{**record, "ts": 0} for record in site.audit] == [
        {**bundled, "ts": 0, "scope": path} for path in ("page.html", "part.html", "base.html")
    ]


# ---- races -------------------------------------------------------------------------------------------------------------

SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
one, other = map(os.fsencode, sys.argv[1:])
print("ready", flush=True)
while True:
    libc.renameat2(-100, one, -100, other, 2)  # AT_FDCWD, RENAME_EXCHANGE
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "renameat2"), reason="exchanging names is Linux's"
)
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_name_that_changes_between_a_page_and_a_link(site: Site, secret: Path, what: str) -> None:
    """Somebody exchanges the file, or its folder, with a link to the outside as fast as he can."""
    page = site.write("pages/page.html", "a page of the program")
    if what == "file":
        one, other = page, site.folder / "link"
        other.symlink_to(secret)
    else:
        outside = site.folder.parent / "outside"
        outside.mkdir()
        (outside / "page.html").write_text("the secret", encoding="utf-8")
        one, other = site.folder / "pages", site.folder / "link"
        other.symlink_to(outside)
    source = """
let seen be {}
each i in range(400)
    try
        set seen[body of render("pages/page.html")] to true
    recover e
        set seen[e] to true
print(join(sort(keys(seen)), "|"))
"""
    with subprocess.Popen([sys.executable, "-c", SWAPPER, str(one), str(other)], stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout is not None
        swapper.stdout.readline()
        try:
            seen: set[str] = set()
            end = time.monotonic() + 30
            while len(seen) < 2 and time.monotonic() < end:
                page.touch() if what == "file" and not page.is_symlink() else None
                seen |= set(site.run(source)[0].split("|"))
        finally:
            swapper.terminate()
    escapes = "template path escapes the working directory: 'pages/page.html'"
    assert (
        {"a page of the program", escapes} <= seen <= {"a page of the program", escapes, "template not found: pages/page.html"}
    )


def test_a_page_that_is_edited_while_it_is_rendered(site: Site) -> None:
    """Whoever renders sees one state of the file and then a later one, never an earlier one or half of one."""
    states = [f"{'x' * 2000}:{number}:{'y' * 2000}" for number in range(40)]
    file = site.write("page.html", states[0])
    seen: list[str] = []

    def write() -> None:
        for state in states[1:]:
            beside = file.with_suffix(".new")
            beside.write_text(state, encoding="utf-8")
            beside.replace(file)
            time.sleep(0.005)

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        seen += site.run(LITERAL.replace("{path}", "page.html"))
    writer.join()
    seen += site.run(LITERAL.replace("{path}", "page.html"))
    numbers = [states.index(text) for text in seen]
    assert numbers == sorted(numbers)
    assert numbers[-1] == len(states) - 1
