"""Archives: what goes in comes out, and what the known bombs and traversals do."""

from __future__ import annotations

import gzip
import io
import os
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from language import NativeHost, run
from language.errors import RuntimeFault
from language.runtime.context import Context
from language.values import Secret
from stdlib.archives import gzip_compress, gzip_decompress, tar_create, tar_extract, zip_create, zip_extract

CONTEXT = Context(NativeHost({}))
NAMES = st.lists(st.text("abcé ._-1", min_size=1, max_size=5).filter(lambda name: name.strip(".")), min_size=1, max_size=3).map(
    "/".join
)
BUILTINS = {"zip": zip_extract, "tar": tar_extract}


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


def zipped(*entries, method=zipfile.ZIP_DEFLATED):
    """A ZIP of pairs of name and content, or of entry and content, as others may make one."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return out.getvalue()


def tarred(*entries):
    """A tar of pairs of name, or entry, and content."""
    out = io.BytesIO()
    with tarfile.TarFile(fileobj=out, mode="w") as archive:
        for name, content in entries:
            entry = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def special(name, kind, target=""):
    entry = tarfile.TarInfo(name)
    entry.type = kind
    entry.linkname = target
    return entry


def zip_link(name):
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = 0o120777 << 16
    return entry


MAKERS = {"zip": zipped, "tar": tarred}
ESCAPES = [
    "../x", "a/../../x", "..", "/x", "//x", "C:/x", "c:x", "a\\..\\x", "\\\\host\\x", "a/..", "a/\x1b[2J",
    "/".join("a" * 40), "a" * 300,
]  # fmt: skip


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("name", ESCAPES)
def test_no_entry_leaves_its_folder(kind, name):
    assert "_extract: the entry " in error_of(BUILTINS[kind], CONTEXT, MAKERS[kind]((name, b"x")))
    assert "_create: the entry " in error_of({"zip": zip_create, "tar": tar_create}[kind], CONTEXT, {name: "x"})


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("names", "why"),
    [(("a", "a"), "occurs twice"), (("a", "A"), "occurs twice"), (("a/b", "./a//b"), "occurs twice"),
     (("\u00e9", "e\u0301"), "occurs twice"),
     (("a", "a/b"), "a file and a folder"), (("a/b", "a"), "a file and a folder"), (("a/b", "A"), "a file and a folder")],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_are_never_one_file(kind, names, why):
    assert why in error_of(BUILTINS[kind], CONTEXT, MAKERS[kind](*[(name, b"x") for name in names]))


@pytest.mark.parametrize(
    "archive",
    [
        zipped((zip_link("x"), b"/etc/passwd")),
        tarred((special("x", tarfile.SYMTYPE, "/etc"), b""), ("x/passwd", b"x")),
        tarred((special("x", tarfile.LNKTYPE, "/etc/passwd"), b"")),
        tarred((special("x", tarfile.CHRTYPE), b"")),
        tarred((special("x", tarfile.FIFOTYPE), b"")),
    ],
    ids=["zip link", "tar link", "hard link", "device", "pipe"],
)
def test_links_and_devices_are_refused(archive):
    builtin = zip_extract if archive[:2] == b"PK" else tar_extract
    assert "which is not unpacked" in error_of(builtin, CONTEXT, archive)


class TestBombs:
    def test_a_small_archive_that_unpacks_to_much(self):
        bomb = bytes(50_000_000)
        for builtin, archive in (
            (lambda data, opts: zip_extract(CONTEXT, data, None, opts), zipped(("a", bomb))),
            (lambda data, opts: tar_extract(CONTEXT, data, None, opts), gzip.compress(tarred(("a", bomb)))),
            (gzip_decompress, gzip.compress(bomb)),
        ):
            assert "more than 200 times its size" in error_of(builtin, archive, None)
            assert "more than 1000 bytes" in error_of(builtin, archive, {"max_bytes": 1000})

    def test_a_size_that_is_not_true_is_never_believed(self):
        archive = bytearray(zipped(("a", b"x" * 5000)))
        at = archive.index(b"PK\x01\x02")
        archive[at + 24 : at + 28] = struct.pack("<I", 10)
        assert "is damaged" in error_of(zip_extract, CONTEXT, bytes(archive))
        entry = tarred(("a", b"x" * 5))
        assert "tar_extract: " in error_of(tar_extract, CONTEXT, entry[:512])

    def test_entries_that_share_their_data(self):
        kernel = zlib.compressobj(9, zlib.DEFLATED, -15)
        data = kernel.compress(bytes(1_000_000)) + kernel.flush()
        crc = zlib.crc32(bytes(1_000_000))
        local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 33, crc, len(data), 1_000_000, 1, 0) + b"a" + data
        central = b"".join(
            struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 8, 0, 33, crc, len(data), 10**6, 3, *[0] * 6) + b"%03d" % number
            for number in range(200)
        )  # fmt: skip
        end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 200, 200, len(central), len(local), 0)
        found = error_of(zip_extract, CONTEXT, local + central + end, None, {"max_ratio": 100_000})
        assert "shares its data with another entry" in found

    def test_an_archive_in_an_archive_stays_one(self):
        inner = zipped(("deep", b"x"))
        assert zip_extract(CONTEXT, zipped(("inner.zip", inner))) == {"inner.zip": inner}

    def test_what_is_packed_again_and_again_is_unpacked_once(self):
        once = gzip.compress(b"x")
        assert gzip_decompress(gzip.compress(once)) == once

    def test_many_entries(self):
        for kind in MAKERS:
            archive = MAKERS[kind](*[(f"{number}", b"") for number in range(30)])
            found = error_of(BUILTINS[kind], CONTEXT, archive, None, {"max_entries": 29})
            assert "more than 29 entries" in found
            assert len(BUILTINS[kind](CONTEXT, archive, None, {"max_entries": 30})) == 30

    def test_many_small_members_take_time_in_proportion(self):
        member = gzip.compress(b"")
        assert gzip_decompress(member * 20_000 + bytes(100)) == b""

    def test_other_methods_and_encryption(self):
        assert "another method than deflate" in error_of(zip_extract, CONTEXT, zipped(("a", b"x"), method=zipfile.ZIP_BZIP2))
        archive = bytearray(zipped(("a", b"x")))
        archive[archive.index(b"PK\x01\x02") + 8] |= 1
        assert "is encrypted" in error_of(zip_extract, CONTEXT, bytes(archive))


class TestRoundTrips:
    @settings(max_examples=30)
    @given(st.dictionaries(NAMES, st.binary(max_size=50), max_size=4))
    def test_what_goes_in_comes_out(self, files):
        for create, extract in ((zip_create, zip_extract), (tar_create, tar_extract)):
            try:
                archive = create(CONTEXT, files)
            except RuntimeFault as fault:
                assert "occurs twice" in fault.message or "a file and a folder" in fault.message
                continue
            clean = {"/".join(part for part in name.split("/") if part != "."): data for name, data in files.items()}
            assert extract(CONTEXT, archive) == clean
            assert archive == create(CONTEXT, files)
            assert tar_extract(CONTEXT, gzip_compress(tar_create(CONTEXT, files))) == clean

    @settings(max_examples=30)
    @given(st.binary(max_size=2000), st.integers(0, 9))
    def test_gzip(self, data, level):
        written = gzip_compress(data, level)
        assert gzip_decompress(written) == gzip.decompress(written) == data
        assert gzip_decompress(gzip.compress(data, level) + written) == data + data

    @settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
    @given(st.data())
    def test_damaged_archives_are_read_or_refused(self, data):
        kind = data.draw(st.sampled_from(("zip", "tar", "gz")))
        files = {"a/b.txt": b"hello" * 20, "c": b""}
        archive = bytearray(
            zip_create(CONTEXT, files)
            if kind == "zip"
            else tar_create(CONTEXT, files)
            if kind == "tar"
            else gzip_compress(b"x" * 300)
        )
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(archive) - 1))
            archive[at] = data.draw(st.integers(0, 255))
        del archive[data.draw(st.integers(len(archive) // 2, len(archive))) :]
        try:
            if kind == "gz":
                gzip_decompress(bytes(archive))
            else:
                BUILTINS[kind](CONTEXT, bytes(archive))
        except RuntimeFault:
            return


class TestFiles:
    def test_files_go_through_the_capabilities(self, tmp_path: Path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "in" / "deep").mkdir(parents=True)
        (tmp_path / "in" / "a.txt").write_text("A")
        (tmp_path / "in" / "deep" / "b.txt").write_text("B")
        (tmp_path / "in" / "link").symlink_to("/etc/passwd")
        program = (
            'require file.read("in")\nrequire file.read("in/*")\nrequire file("out.zip")\nrequire file.write("out/*")\n'
            'write_file("out.zip", zip_create("in"))\nprint(zip_extract("out.zip", "out"))\n'
            'print(keys(tar_extract(tar_create("in"))))\n'
        )
        answer = run(program, host=NativeHost({}))
        assert answer["output"] == ['["out/a.txt", "out/deep/b.txt"]', '["a.txt", "deep/b.txt"]'], answer
        assert (tmp_path / "out" / "deep" / "b.txt").read_text() == "B"

    def test_nothing_is_written_where_one_file_may_not_be(self, tmp_path: Path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        program = 'require file.write("out/a")\nzip_extract(zip_create({"a": "x", "b": "y"}), "out")\n'
        answer = run(program, host=NativeHost({}))
        assert 'file.write("out/b")' in str(answer)
        assert list(tmp_path.iterdir()) == []

    def test_a_link_in_the_folder_leads_nowhere(self, tmp_path: Path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        outside = tmp_path / "outside"
        outside.mkdir()
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "sub").symlink_to(outside)
        program = 'require file.write("out/*")\nzip_extract(zip_create({"sub/x": "y"}), "out")\n'
        answer = run(program, host=NativeHost({}))
        assert answer["ok"] is False and os.listdir(outside) == []

    def test_reading_needs_its_capability(self):
        for builtin in ("zip_create", "tar_create", "zip_extract", "tar_extract"):
            answer = run(f'{builtin}("secret.bin")\n', host=NativeHost({}), ceiling="none")
            assert 'file.read("secret.bin")' in str(answer)

    def test_a_memory_limit_stops_unpacking(self):
        packed = gzip_compress(bytes(20_000_000)).hex()
        program = f'gzip_decompress(bytes("{packed}", "hex"), {{"max_ratio": 100000}})\n'
        answer = run(program, limits={"memory_bytes": 4_000_000})
        assert answer["ok"] is False and "memory" in str(answer)

    def test_what_is_no_content(self):
        assert "sealed" in error_of(zip_create, CONTEXT, {"a": Secret("x", ("KEY",))})
        assert "expects text or bytes" in error_of(tar_create, CONTEXT, {"a": 1})
        assert "expects bytes or a path" in error_of(zip_extract, CONTEXT, 5)
        assert "unknown option" in error_of(zip_extract, CONTEXT, zip_create(CONTEXT, {}), None, {"size": 1})
