"""The rules of the files of a package, and its hash."""

from __future__ import annotations

import base64
import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from platform_api.packages.files import (
    LARGEST_FILE,
    LARGEST_SOURCE,
    LONGEST_PATH,
    MOST_FILES,
    SentFile,
    check_files,
    decode_files,
    fold,
    path_problem,
)
from platform_api.packages.package import PackageFile, package_hash
from platform_api.refusals import Refusal

BAD_PATHS = [
    "",
    "/etc/passwd",
    "..",
    "../x",
    "a/../b",
    "a/./b",
    "./a",
    "a//b",
    "a/",
    "a\0b",
    "a\nb",
    "a\x7fb",
    "a\x85b",
    "a\u2028b",
    "a\\b",
    "cafe\u0301.lang",
    "x" * 241,
    "é" * 128,
    "\ud800",
]
plain_names = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=20).map(
    lambda name: unicodedata.normalize("NFC", name)
)


def refused(*files: PackageFile) -> str:
    with pytest.raises(Refusal) as caught:
        check_files(files)
    assert (caught.value.code, caught.value.field) == ("validation", "files")
    return caught.value.message


@pytest.mark.parametrize("path", BAD_PATHS, ids=ascii)
def test_a_path_that_is_refused(path: str) -> None:
    assert path_problem(path)
    assert refused(PackageFile(path, b"")).isprintable()


@pytest.mark.parametrize("path", ["a", "a/b/c.lang", "a b", ".env", "...", "é.lang", "x" * 240, "-", "日本/語"])
def test_a_path_that_is_taken(path: str) -> None:
    assert path_problem(path) == ""


@given(st.text(max_size=300))
def test_a_path_that_is_taken_stays_below_its_folder(path: str) -> None:
    if path_problem(path) == "":
        parts = path.split("/")
        assert parts and not {"", ".", ".."} & set(parts) and len(path) <= LONGEST_PATH
        assert unicodedata.is_normalized("NFC", path) and path.encode().decode() == path


@pytest.mark.parametrize(("one", "other"), [("A.lang", "a.lang"), ("x/Straße", "x/STRASSE"), ("É", "é")])
def test_two_paths_that_differ_in_case_alone(one: str, other: str) -> None:
    assert "case alone" in refused(PackageFile(one, b""), PackageFile(other, b""))


def test_a_path_twice() -> None:
    assert refused(PackageFile("a", b""), PackageFile("a", b"")) == "The path 'a' is there twice."


def test_a_file_is_no_folder() -> None:
    assert refused(PackageFile("a", b""), PackageFile("a/b", b"")) == "'a' is a file, and 'a/b' lies in a folder of that name."
    assert refused(PackageFile("A", b""), PackageFile("x/y", b""), PackageFile("a/b/c", b"")).startswith("'A' is a file")


@given(plain_names)
def test_folding_is_the_same_for_every_case(name: str) -> None:
    assert fold(name) == fold(name.casefold()) == fold(fold(name))


def test_numbers_and_sizes() -> None:
    assert "2,000" in refused(*(PackageFile(f"{number}", b"") for number in range(MOST_FILES + 1)))
    assert len(check_files(PackageFile(f"{number}", b"") for number in range(MOST_FILES))) == MOST_FILES
    assert "'big'" in refused(PackageFile("big", b"x" * (LARGEST_FILE + 1)))
    assert "'big.lang'" in refused(PackageFile("big.lang", b"x" * (LARGEST_SOURCE + 1)))
    five = b"x" * LARGEST_FILE
    assert "20,971,521" in refused(*(PackageFile(f"{number}", five) for number in range(4)), PackageFile("more", b"x"))
    half = b"x" * LARGEST_SOURCE
    assert "2,097,153" in refused(*(PackageFile(f"{number}.lang", half) for number in range(4)), PackageFile("m.lang", b"x"))
    assert refused() == "A package has at least one file."


@pytest.mark.parametrize("content", ["é", "a", "a=", "ab==\n", "====", "YQ", "Y Q==", "YQ==YQ=="])
def test_what_is_no_base64_names_its_path(content: str) -> None:
    with pytest.raises(Refusal) as caught:
        decode_files([SentFile("data.bin", content, "base64")])
    assert caught.value.message == "The content of 'data.bin' is not base64."


def test_encodings() -> None:
    [file] = decode_files([SentFile("a", base64.b64encode(b"\xff\0").decode(), "base64")])
    assert (file.content, file.encoding) == (b"\xff\0", "base64")
    for sent in (SentFile("a", "x", "latin1"), SentFile("a", "\ud800")):
        with pytest.raises(Refusal) as caught:
            decode_files([sent])
        assert "'a'" in caught.value.message


files_of_packages = st.dictionaries(plain_names, st.binary(max_size=20), min_size=1, max_size=5).map(
    lambda found: [PackageFile(path, content) for path, content in found.items()]
)


@given(files_of_packages, st.randoms())
def test_the_hash_does_not_depend_on_the_order(files: list[PackageFile], random: object) -> None:
    shuffled = list(files)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert package_hash(files, "main.lang", "web") == package_hash(shuffled, "main.lang", "web")


@given(files_of_packages, files_of_packages)
def test_different_packages_have_different_hashes(one: list[PackageFile], other: list[PackageFile]) -> None:
    same = {(file.path, file.content) for file in one} == {(file.path, file.content) for file in other}
    assert (package_hash(one, "a", "web") == package_hash(other, "a", "web")) == same


def test_the_hash_is_the_one_that_is_written_down() -> None:
    """A hash that changes would make every stored package another one."""
    files = [PackageFile("main.lang", b'print("hi")\n'), PackageFile("data.bin", b"\0", "base64")]
    text = (
        '{"entry":"main.lang","kind":"worker"}\n'
        '{"encoding":"base64","path":"data.bin","sha256":"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"}\n'
        '{"encoding":"utf8","path":"main.lang","sha256":"0ca9091eb4e31fb1ab24c8c5de92a08e4e5f402919f82ea3ca784f38534f03f3"}\n'
    )
    assert package_hash(files, "main.lang", "worker") == "sha256:" + hashlib.sha256(text.encode()).hexdigest()
