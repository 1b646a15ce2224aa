"""``lang fmt``: what is written where. The layout itself is tested with the formatter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_process import Lang, write

UGLY = "let   x  be 1   -- one\nprint( x )\n"
FAIR = "let x be 1 -- one\nprint(x)\n"


def test_in_place(lang: Lang, tmp_path: Path) -> None:
    result = lang("fmt", "a.lang", files={"a.lang": UGLY})
    assert (result.out, result.err, result.code) == ("", "", 0)
    fair = (tmp_path / "a.lang").read_text(encoding="utf-8")
    assert fair != UGLY
    assert lang("fmt", "-", stdin=UGLY).out == fair
    assert lang("run", "a.lang").out == "1\n"


def test_check_writes_nothing(lang: Lang, tmp_path: Path) -> None:
    lang("fmt", "fair.lang", files={"fair.lang": UGLY})
    result = lang("fmt", "--check", ".", files={"a.lang": UGLY, "d/b.lang": UGLY})
    assert (result.lines, result.err, result.code) == (["./a.lang", "./d/b.lang"], "", 1)
    assert (tmp_path / "a.lang").read_text(encoding="utf-8") == UGLY
    assert lang("fmt", "--check", "fair.lang").code == 0


def test_diff_shows_what_would_change_and_writes_nothing(lang: Lang, tmp_path: Path) -> None:
    result = lang("fmt", "--diff", "a.lang", files={"a.lang": UGLY})
    assert result.lines[:2] == ["--- a.lang", "+++ a.lang (formatted)"]
    assert "-print( x )" in result.lines
    assert "+print(x)" in result.lines
    assert result.code == 1
    assert (tmp_path / "a.lang").read_text(encoding="utf-8") == UGLY
    assert "+print(x)" in lang("fmt", "--diff", "-", stdin=UGLY).lines
    lang("fmt", "a.lang")
    result = lang("fmt", "--diff", "a.lang")
    assert (result.out, result.code) == ("", 0)
    assert lang("fmt", "--diff", "--check", "a.lang").code == 2


def test_diff_shows_no_control_characters(lang: Lang) -> None:
    result = lang("fmt", "--diff", "-", stdin='print( "\x1b[2J" )\n')
    assert "\x1b" not in result.out
    assert result.code == 1


def test_folders(lang: Lang) -> None:
    assert lang("fmt", ".", files={"a.lang": UGLY, "d/b.lang": UGLY, "d/c.txt": UGLY}).code == 0
    assert lang("fmt", "--check", ".").code == 0
    assert lang("fmt", "e", files={"e/x.txt": ""}).err == "lang fmt: no .lang files in 'e'\n"


def test_standard_input(lang: Lang) -> None:
    fair = lang("fmt", "-", stdin=UGLY)
    assert (fair.err, fair.code) == ("", 0)
    assert lang("fmt", "-", stdin=fair.out).out == fair.out
    assert (lang("fmt", "--check", "-", stdin=fair.out).out, lang("fmt", "--check", "-", stdin=fair.out).code) == ("", 0)
    result = lang("fmt", "--check", "-", stdin=UGLY)
    assert (result.out, result.code) == ("<stdin>\n", 1)
    assert lang("fmt", "-", "a.lang", files={"a.lang": UGLY}).code == 2


def test_a_program_that_does_not_parse_stays_untouched(lang: Lang, tmp_path: Path) -> None:
    result = lang("fmt", "bad.lang", "a.lang", files={"bad.lang": "let   x be\n", "a.lang": UGLY})
    assert result.out == ""
    assert result.err.startswith("Parse error: bad.lang:1:")
    assert result.code == 1
    assert (tmp_path / "bad.lang").read_text(encoding="utf-8") == "let   x be\n"
    assert (tmp_path / "a.lang").read_text(encoding="utf-8") != UGLY
    result = lang("fmt", "-", stdin="let x be")
    assert (result.out, result.code) == ("", 1)
    assert result.err.startswith("Parse error: <stdin>:1:")


def test_permissions_and_links_stay(lang: Lang, tmp_path: Path) -> None:
    write(tmp_path, {"real/a.lang": UGLY})
    (tmp_path / "real" / "a.lang").chmod(0o751)
    (tmp_path / "link.lang").symlink_to("real/a.lang")
    assert lang("fmt", "link.lang").code == 0
    assert (tmp_path / "link.lang").is_symlink()
    assert (tmp_path / "real" / "a.lang").read_text(encoding="utf-8") != UGLY
    assert (tmp_path / "real" / "a.lang").stat().st_mode & 0o7777 == 0o751
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["a.lang"]


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file to another user needs root")
def test_the_owner_stays(lang: Lang, tmp_path: Path) -> None:
    write(tmp_path, {"a.lang": UGLY})
    os.chown(tmp_path / "a.lang", 4242, 4243)
    assert lang("fmt", "a.lang").code == 0
    info = (tmp_path / "a.lang").stat()
    assert (info.st_uid, info.st_gid) == (4242, 4243)


def test_a_fair_file_is_not_written_again(lang: Lang, tmp_path: Path) -> None:
    lang("fmt", "a.lang", files={"a.lang": UGLY})
    before = (tmp_path / "a.lang").stat()
    assert lang("fmt", "a.lang").code == 0
    after = (tmp_path / "a.lang").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_dos_files_become_plain(lang: Lang, tmp_path: Path) -> None:
    assert lang("fmt", "a.lang", files={"a.lang": b"\xef\xbb\xbflet x be 1\r\nprint(x)\r\n"}).code == 0
    assert (tmp_path / "a.lang").read_bytes() == b"let x be 1\nprint(x)\n"


def test_a_file_that_cannot_be_read_does_not_keep_the_others_from_their_turn(lang: Lang) -> None:
    result = lang("fmt", "latin.lang", "gone.lang", "a.lang", files={"latin.lang": b"\xff", "a.lang": UGLY})
    assert result.err.splitlines() == [
        "lang fmt: cannot read 'latin.lang': it is not UTF-8",
        "lang fmt: cannot read 'gone.lang': No such file or directory",
    ]
    assert result.code == 2
    assert lang("fmt", "--check", "a.lang").code == 0
