"""``--package``: what a program reads by a relative path, and its working folder does not have, is read beside the program."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_process import Lang, Result


@pytest.fixture
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages") / "package"
    (folder / "data" / "deep").mkdir(parents=True)
    (folder.parent / "outside.txt").write_text("outside", encoding="utf-8")
    (folder / "notes.txt").write_text("packaged notes\n", encoding="utf-8")
    (folder / "data" / "table.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (folder / "data" / "deep" / "more.txt").write_text("needle\n", encoding="utf-8")
    (folder / "data" / "hidden.txt").write_text("needle\n", encoding="utf-8")
    (folder / "data" / "out").symlink_to(folder.parent / "outside.txt")
    (folder / "linked").symlink_to(folder.parent)
    return folder


def run(lang: Lang, package: Path, source: str) -> Result:
    (package / "main.lang").write_text(source, encoding="utf-8")
    return lang("run", "--package", str(package), str(package / "main.lang"))


def test_what_is_missing_is_read_from_the_package(lang: Lang, package: Path) -> None:
    result = run(
        lang,
        package,
        'require file.read\nprint(read_file("notes.txt"))\nprint(read_file("./data/table.csv", 2, 1))\n'
        'print(file_exists("data/table.csv"), file_exists("none.txt"), file_info("notes.txt")["size"])\n'
        'print(apply(list_dir("data/deep"), (e) => e.name))\n'
        'print(apply(grep("data", "needle", {"glob": "more*"})["matches"], (m) => m.file))\n',
    )
    assert result.err == ""
    assert result.lines == ["packaged notes", "", "1,2", "", "true false 15", '["more.txt"]', '["data/deep/more.txt"]']


def test_the_working_folder_comes_first_and_takes_what_is_written(lang: Lang, package: Path, tmp_path: Path) -> None:
    source = (
        'require file.read\nrequire file.write\nwrite_file("notes.txt", "mine")\nprint(read_file("notes.txt"))\n'
        'append_file("data/table.csv", "x")\nprint(read_file("data/table.csv"))\n'
    )
    result = run(lang, package, source)
    assert result.lines == ["mine", "x"]
    assert (package / "notes.txt").read_text() == "packaged notes\n" and (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("grant", "path"),
    [
        ("data/deep/*", "notes.txt"),
        ("data/deep/*", "data/table.csv"),
        ("data/deep/*", "data/deep/../table.csv"),
        ("data/deep", "data/table.csv"),
        ("*", "../outside.txt"),
        ("*", "data/../../outside.txt"),
        ("*", "data/out"),
        ("data/*", "data/out"),
        ("*", "linked/outside.txt"),
        ("/data/*", "data/table.csv"),
        ("../*", "../outside.txt"),
    ],
)
def test_the_same_grant_holds_there(lang: Lang, package: Path, grant: str, path: str) -> None:
    result = run(lang, package, f'require file.read("{grant}")\nprint(read_file("{path}"))\n')
    assert result.code == 1 and result.out == "", result
    assert "Capability not granted" in result.err or "File not found" in result.err


def test_a_grant_of_a_folder_covers_it_in_the_package(lang: Lang, package: Path) -> None:
    source = 'require file.read("data/*")\nprint(read_file("data/deep/more.txt"))\n'
    assert run(lang, package, source).lines == ["needle", ""]


def test_a_link_in_the_working_folder_widens_nothing(lang: Lang, package: Path, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(tmp_path)
    result = run(lang, package, 'require file.read("data/*")\nprint(read_file("data/notes.txt"))\n')
    assert result.code == 1 and "packaged notes" not in result.out


def test_a_folder_that_is_not_there(lang: Lang) -> None:
    result = lang("run", "--package", "nowhere", "a.lang", files={"a.lang": ""})
    assert (result.code, result.err) == (2, "lang run: --package: there is no folder 'nowhere'\n")
