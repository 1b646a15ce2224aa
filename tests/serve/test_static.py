"""Static mounts: which file answers, with which header fields, and what is refused at the start."""

from __future__ import annotations

import gzip
import os
import threading
import time
from pathlib import Path

import brotli
import pytest

from language.serve.conditional import version_of
from language.serve.reply import FileReply, Reply
from language.serve.request import Request
from language.serve.static_files import (
    LARGEST_COMPRESSED,
    SMALL,
    StaticMount,
    StaticMounts,
    cache_control,
    http_date,
    resolve_directory,
)
from tests.open_descriptors import left_open, open_descriptors

MODIFIED = 1_700_000_000
DATE = "Tue, 14 Nov 2023 22:13:20 GMT"


def put(path: Path, content: bytes | str, modified: int = MODIFIED) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, (modified, modified))
    return path


def tag_of(path: Path) -> str:
    return f'"{version_of(path.stat())}"'


def content_of(reply: Reply) -> bytes:
    """The body of a reply, as the server would send it."""
    if not isinstance(reply, FileReply):
        return reply.body
    try:
        return os.pread(reply.descriptor, reply.length, reply.start)
    finally:
        os.close(reply.descriptor)


def get(mounts: StaticMounts, path: str, method: str = "GET", **fields: str) -> Reply | None:
    named = [(name.replace("_", "-"), value) for name, value in fields.items()]
    return mounts.find(Request(method, path, fields=named))


def got(mounts: StaticMounts, path: str, **fields: str) -> tuple[int, str | None, bytes, dict[str, str]]:
    reply = get(mounts, path, **fields)
    assert reply is not None, f"no reply to {path}"
    assert len({name for name, _ in reply.headers}) == len(reply.headers)
    return reply.status, reply.content_type, content_of(reply), dict(reply.headers)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    put(folder / "index.html", "<h1>home</h1>")
    put(folder / "a.css", "body { margin: 0 }")
    put(folder / "sub" / "index.html", "<h1>sub</h1>")
    put(folder / "sub" / "b.png", b"\x89PNG\r\n")
    put(folder / ".well-known" / "security.txt", "Contact: mailto:a@b.example")
    return folder


def mount(folder: Path, prefix: str = "/", cache: str | int | None = None, fallback: str | None = None) -> StaticMounts:
    return StaticMounts([StaticMount(prefix, str(folder), cache, fallback)])


def test_a_file_has_its_type_validators_and_no_more(site: Path) -> None:
    status, kind, body, headers = got(mount(site), "/a.css")
    assert (status, kind, body) == (200, "text/css; charset=utf-8", b"body { margin: 0 }")
    assert headers == {
        "ETag": tag_of(site / "a.css"),
        "Last-Modified": DATE,
        "Accept-Ranges": "bytes",
        "Vary": "Accept-Encoding",
    }


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/", b"<h1>home</h1>"),
        ("", b"<h1>home</h1>"),
        ("/index.html", b"<h1>home</h1>"),
        ("/sub/", b"<h1>sub</h1>"),
        ("//sub//index.html", b"<h1>sub</h1>"),
        ("/%61.css", b"body { margin: 0 }"),
        ("/a%2Ecss", b"body { margin: 0 }"),
        ("/sub/../a.css", b"body { margin: 0 }"),
        ("/.well-known/security.txt", b"Contact: mailto:a@b.example"),
    ],
)
def test_which_file_answers_a_path(site: Path, path: str, body: bytes) -> None:
    assert got(mount(site), path)[2] == body


def test_names_beyond_ascii_and_with_reserved_characters(site: Path) -> None:
    put(site / "grüße & 100%.txt", "hi")
    put(site / "a+b.txt", "plus")
    mounts = mount(site)
    assert got(mounts, "/gr%C3%BC%C3%9Fe%20%26%20100%25.txt")[2] == b"hi"
    assert got(mounts, "/grüße%20&%20100%25.txt".encode().decode("latin-1"))[2] == b"hi"  # as it comes off the wire
    assert got(mounts, "/a+b.txt")[2] == b"plus"


@pytest.mark.parametrize(
    "path", ["/nothing", "/a.css/x", "/a.cssx", "/A.CSS", "/sub/nothing", "/%zz", "/%FF", "/" + "x" * 300, "/x" * 5000]
)
def test_a_miss(site: Path, path: str) -> None:
    assert get(mount(site), path) is None


def test_a_folder_without_an_index_is_a_miss_and_lists_nothing(site: Path) -> None:
    put(site / "plain" / "x.txt", "x")
    (site / "odd" / "index.html").mkdir(parents=True)
    assert get(mount(site), "/plain/") is None
    assert get(mount(site), "/odd/") is None


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "get"])
def test_other_methods_are_misses(site: Path, method: str) -> None:
    assert get(mount(site), "/a.css", method) is None


def test_head_is_a_get(site: Path) -> None:
    reply = get(mount(site), "/a.css", "HEAD")
    assert reply is not None
    assert len(content_of(reply)) == 18


def test_the_longest_prefix_comes_first_and_a_miss_tries_the_next(tmp_path: Path) -> None:
    put(tmp_path / "root" / "p" / "only.txt", "from the root")
    put(tmp_path / "root" / "p" / "both.txt", "from the root")
    put(tmp_path / "p" / "both.txt", "from /p")
    mounts = StaticMounts([StaticMount("/", str(tmp_path / "root")), StaticMount("/p/", str(tmp_path / "p"))])
    assert got(mounts, "/p/both.txt")[2] == b"from /p"
    assert got(mounts, "/p/only.txt")[2] == b"from the root"
    assert get(mounts, "/px/both.txt") is None
    assert get(mounts, "/%70/both.txt") is not None  # only the root decodes it: prefixes compare as they are
    assert got(mounts, "/p/../p/both.txt")[2] == b"from the root"


def test_a_path_of_a_route_is_not_answered_under_another_spelling(site: Path) -> None:
    put(site / "admin" / "x.txt", "secret")
    asked: list[str] = []

    def is_declared(path: str) -> bool:
        asked.append(path)
        return path.startswith("/admin/")

    mounts = mount(site)
    for path in ("/%61dmin/x.txt", "/sub/../admin/x.txt", "/admin/%78.txt"):
        assert mounts.find(Request("GET", path), is_declared) is None
    assert asked == ["/admin/x.txt"] * 3
    reply = mounts.find(Request("GET", "/%61.css"), is_declared)
    assert reply is not None
    # As it is sent, the caller has looked for a route already.
    assert mounts.find(Request("GET", "/admin/x.txt"), is_declared) is not None
    assert asked[3:] == ["/a.css"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("x.html", "text/html; charset=utf-8"),
        ("x.HTM", "text/html; charset=utf-8"),
        ("x.txt", "text/plain; charset=utf-8"),
        ("x.js", "text/javascript; charset=utf-8"),
        ("x.mjs", "text/javascript; charset=utf-8"),
        ("x.json", "application/json; charset=utf-8"),
        ("x.js.map", "application/json; charset=utf-8"),
        ("x.xml", "application/xml; charset=utf-8"),
        ("x.svg", "image/svg+xml"),
        ("x.png", "image/png"),
        ("x.jpg", "image/jpeg"),
        ("x.jpeg", "image/jpeg"),
        ("x.gif", "image/gif"),
        ("x.webp", "image/webp"),
        ("x.ico", "image/x-icon"),
        ("x.woff", "font/woff"),
        ("x.woff2", "font/woff2"),
        ("x.ttf", "font/ttf"),
        ("x.wasm", "application/wasm"),
        ("x.pdf", "application/pdf"),
        ("x.webmanifest", "application/manifest+json"),
        ("x.csv", "text/csv; charset=utf-8"),
        ("x.md", "text/markdown; charset=utf-8"),
        ("x.mp4", "video/mp4"),
        ("x.tar.gz", "application/gzip"),
        ("x.unheard-of", "application/octet-stream"),
        ("html", "application/octet-stream"),
        ("x.", "application/octet-stream"),
    ],
)
def test_types_by_extension(site: Path, name: str, kind: str) -> None:
    put(site / name, "x")
    assert got(mount(site), "/" + name)[1] == kind


@pytest.mark.parametrize("size", [0, 1, SMALL, SMALL + 1])
def test_small_and_large_files(site: Path, size: int) -> None:
    content = os.urandom(size)
    put(site / "x.bin", content)
    mounts = mount(site)
    for _ in range(2):
        reply = get(mounts, "/x.bin")
        assert reply is not None
        assert isinstance(reply, FileReply) == (size > SMALL)
        assert content_of(reply) == content


def test_no_descriptor_is_left_open(site: Path) -> None:
    put(site / "large.html", b"x" * (SMALL + 1))
    put(site / "link.css", "")
    (site / "link.css").unlink()
    (site / "link.css").symlink_to("a.css")
    mounts = mount(site, fallback="index.html")
    before = open_descriptors()
    etag = got(mounts, "/large.html")[3]["ETag"]
    for fields in ({}, {"range": "bytes=0-1"}, {"range": "bytes=9-1"}, {"if_none_match": etag}, {"accept_encoding": "br"}):
        for path in ("/large.html", "/a.css", "/link.css", "/sub/", "/nothing", "/sub/nothing", "/a.css/x"):
            reply = get(mounts, path, **fields)
            if reply is not None:
                content_of(reply)
    mounts.fallback(Request("GET", "/x"))
    assert left_open(before) == []


# ---- conditions and ranges ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition",
    ["{tag}", "W/{tag}", '"x", {tag}', '"x",W/{tag} , "y"', "*", " * ", "{gzip}", "W/{br}"],
)
def test_not_modified(site: Path, condition: str) -> None:
    plain = tag_of(site / "a.css")
    value = condition.format(tag=plain, gzip=plain[:-1] + '-gzip"', br=plain[:-1] + '-br"')
    mounts = mount(site, cache="60")
    status, kind, body, headers = got(mounts, "/a.css", if_none_match=value)
    assert (status, kind, body) == (304, None, b"")
    assert headers["Cache-Control"] == "public, max-age=60"
    assert headers["Vary"] == "Accept-Encoding"
    assert headers["ETag"] in value or "*" in value


@pytest.mark.parametrize("condition", ['"x"', "12-655", "", ",", '"12-6553f1000"', 'w/"12"', '"*"'])
def test_modified(site: Path, condition: str) -> None:
    assert got(mount(site), "/a.css", if_none_match=condition)[0] == 200


def test_the_tag_of_each_coding_is_its_own(site: Path) -> None:
    mounts = mount(site)
    tags = {coding: got(mounts, "/a.css", accept_encoding=coding)[3]["ETag"] for coding in ("", "gzip", "br")}
    plain = tag_of(site / "a.css")[:-1]
    assert tags == {"": plain + '"', "gzip": plain + '-gzip"', "br": plain + '-br"'}
    for coding in tags:
        for tag in tags.values():
            reply = got(mounts, "/a.css", accept_encoding=coding, if_none_match=tag)
            assert (reply[0], reply[3]["ETag"]) == (304, tag)


@pytest.mark.parametrize(
    ("date", "status"),
    [
        (DATE, 304),
        ("Tue, 14 Nov 2023 22:13:21 GMT", 304),
        ("Tue, 14 Nov 2023 22:13:19 GMT", 200),
        ("Tuesday, 14-Nov-23 22:13:20 GMT", 304),
        ("Tue Nov 14 22:13:20 2023", 304),
        ("yesterday", 200),
        ("", 200),
        ("99999", 200),
    ],
)
def test_if_modified_since(site: Path, date: str, status: int) -> None:
    mounts = mount(site)
    assert got(mounts, "/a.css", if_modified_since=date)[0] == status
    assert got(mounts, "/a.css", if_modified_since=date, if_none_match='"x"')[0] == 200


def test_if_match_and_if_unmodified_since(site: Path) -> None:
    mounts = mount(site)
    tag = tag_of(site / "a.css")
    assert got(mounts, "/a.css", if_match=tag)[0] == 200
    assert got(mounts, "/a.css", if_match="*")[0] == 200
    status, kind, body, _ = got(mounts, "/a.css", if_match='"x"')
    assert (status, kind, body) == (412, "application/json", b'{"error": "precondition failed", "status": 412}')
    assert got(mounts, "/a.css", if_match="W/" + tag)[0] == 412  # compared strongly
    assert got(mounts, "/a.css", if_unmodified_since=DATE)[0] == 200
    assert got(mounts, "/a.css", if_unmodified_since="Tue, 14 Nov 2023 22:13:19 GMT")[0] == 412
    assert got(mounts, "/a.css", if_unmodified_since="Tue, 14 Nov 2023 22:13:19 GMT", if_match=tag)[0] == 200


@pytest.mark.parametrize(
    ("field", "body", "place"),
    [
        ("bytes=0-3", b"body", "0-3"),
        ("bytes=5-", b"{ margin: 0 }", "5-17"),
        ("bytes=-3", b"0 }", "15-17"),
        ("bytes=-100", b"body { margin: 0 }", "0-17"),
        ("bytes=17-999999999999999999999999999999999", b"}", "17-17"),
        ("Bytes = 0-0", b"b", "0-0"),
        ("bytes=0000000000000000000000000000000-1", b"bo", "0-1"),
    ],
)
def test_ranges(site: Path, field: str, body: bytes, place: str) -> None:
    status, kind, content, headers = got(mount(site, cache="no-store"), "/a.css", range=field, accept_encoding="gzip, br")
    assert (status, kind) == (206, "text/css; charset=utf-8")
    assert (content, headers["Content-Range"]) == (body, f"bytes {place}/18")
    assert "Content-Encoding" not in headers
    assert headers["ETag"] == tag_of(site / "a.css")
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(("field", "start", "end"), [("bytes=70000-70009", 70_000, 70_010), ("bytes=-5", 99_995, 100_000)])
def test_ranges_of_a_file_that_is_sent_from_its_descriptor(site: Path, field: str, start: int, end: int) -> None:
    whole = os.urandom(100_000)
    put(site / "large.css", whole)
    reply = get(mount(site), "/large.css", range=field, accept_encoding="gzip")
    assert isinstance(reply, FileReply)
    assert (reply.status, reply.start, reply.length) == (206, start, end - start)
    assert content_of(reply) == whole[start:end]
    assert dict(reply.headers)["Content-Range"] == f"bytes {start}-{end - 1}/100000"


@pytest.mark.parametrize(
    "field",
    ["bytes=18-", "bytes=5-2", "bytes=-0", "bytes=-", "bytes=", "bytes=a-b", "bytes=1", "bytes=²-", "bytes=0x1-2",
     "bytes=+1-2", "bytes=1-2-3", "bytes=99999999999999999999999999-", "bytes=--1"],
)  # fmt: skip
def test_unusable_ranges(site: Path, field: str) -> None:
    status, kind, body, headers = got(mount(site), "/a.css", range=field)
    assert (status, kind, body) == (416, "application/json", b'{"error": "range not satisfiable", "status": 416}')
    assert headers["Content-Range"] == "bytes */18"


def test_any_range_of_an_empty_file_is_unusable(site: Path) -> None:
    put(site / "empty.txt", "")
    for field in ("bytes=0-", "bytes=0-0", "bytes=-1"):
        status, _, _, headers = got(mount(site), "/empty.txt", range=field)
        assert (status, headers["Content-Range"]) == (416, "bytes */0")


def test_an_unknown_unit_is_ignored(site: Path) -> None:
    for field in ("lines=0-1", "nonsense", ""):
        assert got(mount(site), "/a.css", range=field)[0] == 200


@pytest.mark.parametrize("fields", [["bytes=0-1,3-4"], ["bytes=0-1, 5-"], ["bytes=0-1,99-"], ["bytes=0-1", "bytes=3-4"]])
def test_who_asks_for_several_ranges_gets_the_whole(site: Path, fields: list[str]) -> None:
    reply = mount(site).find(Request("GET", "/a.css", fields=[("range", field) for field in fields]))
    assert reply is not None
    assert (reply.status, content_of(reply)) == (200, b"body { margin: 0 }")


@pytest.mark.parametrize("field", ["bytes=0-1", "bytes=99-", "bytes=9-1"])
def test_head_ignores_ranges(site: Path, field: str) -> None:
    for fields in ({"range": field}, {"range": field, "if_range": DATE}):
        reply = get(mount(site), "/a.css", "HEAD", **fields)
        assert reply is not None
        assert reply.status == 200
        assert "Content-Range" not in dict(reply.headers)
    put(site / "large.bin", b"x" * (SMALL + 1))
    large = get(mount(site), "/large.bin", "HEAD", range=field)
    assert isinstance(large, FileReply)
    assert (large.status, large.length) == (200, SMALL + 1)
    os.close(large.descriptor)


def test_a_file_that_is_replaced_within_a_second_has_another_tag(site: Path) -> None:
    """Also where its size and the second of its change stay what they were."""
    mounts = mount(site)
    path = site / "a.css"
    tag = got(mounts, "/a.css")[3]["ETag"]
    path.write_bytes(b"body { margin: 9 }")
    os.utime(path, ns=(MODIFIED * 10**9 + 1, MODIFIED * 10**9 + 1))
    assert got(mounts, "/a.css", if_none_match=tag)[:3] == (200, "text/css; charset=utf-8", b"body { margin: 9 }")
    tag = got(mounts, "/a.css")[3]["ETag"]
    put(site / "other.css", b"body { margin: 7 }")
    os.utime(site / "other.css", ns=(MODIFIED * 10**9 + 1, MODIFIED * 10**9 + 1))
    os.replace(site / "other.css", path)
    assert got(mounts, "/a.css", if_none_match=tag)[2] == b"body { margin: 7 }"
    assert got(mounts, "/a.css", range="bytes=0-1", if_range=tag)[0] == 200


def test_a_date_stands_for_no_file_that_was_changed_a_moment_ago(site: Path) -> None:
    """A date has whole seconds: within the second of a change the file may change again."""
    mounts = mount(site)
    now = int(time.time()) + 5
    put(site / "a.css", b"body { margin: 1 }", now)
    assert "Last-Modified" not in got(mounts, "/a.css")[3]
    assert got(mounts, "/a.css", if_modified_since=http_date(now))[0] == 200
    assert got(mounts, "/a.css", range="bytes=0-1", if_range=http_date(now))[0] == 200
    assert got(mounts, "/a.css", if_unmodified_since=DATE)[0] == 412


@pytest.mark.parametrize(
    ("condition", "status"),
    [('"{version}"', 206), (DATE, 206), ('W/"{version}"', 200), ('"x"', 200), ('"{version}-gzip"', 200),
     ("Tue, 14 Nov 2023 22:13:21 GMT", 200)],
)  # fmt: skip
def test_if_range(site: Path, condition: str, status: int) -> None:
    condition = condition.format(version=version_of((site / "a.css").stat()))
    assert got(mount(site), "/a.css", range="bytes=0-1", if_range=condition)[0] == status
    if status == 200:  # an unusable range does not count either
        assert got(mount(site), "/a.css", range="bytes=99-", if_range=condition)[0] == 200


def test_an_unchanged_file_is_not_sent_whatever_the_range(site: Path) -> None:
    assert got(mount(site), "/a.css", range="bytes=99-", if_none_match="*")[0] == 304


# ---- compression --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("coding", "decode"), [("gzip", gzip.decompress), ("br", brotli.decompress)])
def test_compressed_copies(site: Path, coding: str, decode: object) -> None:
    assert callable(decode)
    content = b"body { margin: 0 }\n" * 10_000
    put(site / "big.css", content)
    mounts = mount(site, cache="1h")
    for _ in range(2):
        status, kind, body, headers = got(mounts, "/big.css", accept_encoding=coding)
        assert (status, kind) == (200, "text/css; charset=utf-8")
        assert decode(body) == content
        assert len(body) < 2000
        assert headers["Content-Encoding"] == coding
        assert headers["Vary"] == "Accept-Encoding"
        assert headers["Cache-Control"] == "public, max-age=3600"


def test_types_that_are_not_compressed(site: Path) -> None:
    for name in ("x.png", "x.woff2", "x.zip", "x.md", "x.wasm", "x.bin"):
        put(site / name, b"x" * 5000)
        _, _, body, headers = got(mount(site), "/" + name, accept_encoding="br, gzip")
        assert body == b"x" * 5000
        assert not {"Content-Encoding", "Vary"} & headers.keys()
    for name in ("x.html", "x.css", "x.js", "x.json", "x.svg", "x.txt", "x.xml", "x.webmanifest"):
        put(site / name, b"x" * 5000)
        assert got(mount(site), "/" + name, accept_encoding="gzip")[3]["Content-Encoding"] == "gzip"


def test_a_huge_file_is_sent_as_it_is(site: Path) -> None:
    with put(site / "huge.txt", "").open("r+b") as file:
        file.truncate(LARGEST_COMPRESSED + 1)
    reply = get(mount(site), "/huge.txt", accept_encoding="gzip")
    assert isinstance(reply, FileReply)
    os.close(reply.descriptor)
    assert reply.length == LARGEST_COMPRESSED + 1
    assert dict(reply.headers)["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in dict(reply.headers)


def test_copies_are_kept_once_the_file_has_settled_and_not_beyond_the_bound(site: Path) -> None:
    for number in range(20):
        put(site / f"{number}.txt", os.urandom(600).hex())
    mounts = StaticMounts([StaticMount("/", str(site))], copies_bytes=5000)

    def body(path: str) -> bytes:
        reply = get(mounts, path)
        assert reply is not None
        return reply.body

    assert body("/0.txt") is not body("/0.txt")  # it was written just now
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and body("/0.txt") is not body("/0.txt"):
        time.sleep(0.1)
    first = body("/0.txt")
    assert first is body("/0.txt")
    for number in range(1, 20):
        body(f"/{number}.txt")
    assert body("/19.txt") is body("/19.txt")
    assert body("/0.txt") is not first  # others took its place
    assert body("/0.txt") == first


@pytest.mark.parametrize("coding", ["", "gzip"])
def test_a_change_is_seen_at_once(site: Path, coding: str) -> None:
    mounts = mount(site)
    target = site / "a.css"
    for number in range(50):
        content = f"body {{ margin: {number:03}px }}".encode()  # always as long
        put(target, content)  # always of the same second
        body = got(mounts, "/a.css", accept_encoding=coding)[2]
        assert (gzip.decompress(body) if coding else body) == content


def test_a_kept_copy_goes_with_the_file(site: Path) -> None:
    mounts = mount(site)
    old = put(site / "x.css", "old")
    time.sleep(2.1)
    for _ in range(2):
        assert got(mounts, "/x.css")[2] == b"old"
    put(site / "new.css", "new")
    os.replace(site / "new.css", old)
    assert got(mounts, "/x.css")[2] == b"new"
    with old.open("r+b") as file:
        file.write(b"NEW")
    os.utime(old, (MODIFIED, MODIFIED))
    assert got(mounts, "/x.css")[2] == b"NEW"
    old.unlink()
    assert get(mounts, "/x.css") is None


def test_a_link_that_moves_is_followed_at_once(tmp_path: Path) -> None:
    for version in ("v1", "v2"):
        put(tmp_path / "site" / version / "x.txt", version)
    current = tmp_path / "site" / "current"
    mounts = mount(tmp_path / "site")
    for version in ("v1", "v2", "v1"):
        spare = tmp_path / "site" / "spare"
        spare.symlink_to(version)
        os.replace(spare, current)
        assert got(mounts, "/current/x.txt")[2] == version.encode()


def test_many_threads_get_the_whole_file(site: Path) -> None:
    content = os.urandom(200_000).hex().encode()
    put(site / "x.txt", content)
    mounts = mount(site)
    bodies: list[bytes] = []

    def fetch() -> None:
        for coding in ("gzip", "br", "") * 3:
            reply = get(mounts, "/x.txt", accept_encoding=coding)
            assert reply is not None
            body = content_of(reply)
            bodies.append({"gzip": gzip.decompress, "br": brotli.decompress}.get(coding, bytes)(body))

    threads = [threading.Thread(target=fetch) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bodies == [content] * 72


def test_a_reader_never_gets_a_mixture(site: Path) -> None:
    """While a file is replaced again and again, each reply is one of its versions, under the tag of that version."""
    versions = {size: bytes([65 + size % 26]) * size for size in range(2000, 2100)}
    target = put(site / "x.txt", versions[2000])
    ends = threading.Event()

    def replace() -> None:
        spare = site / "spare"
        while not ends.is_set():
            for content in versions.values():
                spare.write_bytes(content)
                os.replace(spare, target)

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        mounts = mount(site)
        for number in range(2000):
            coding = ("", "gzip")[number % 2]
            reply = get(mounts, "/x.txt", accept_encoding=coding)
            assert reply is not None
            body = content_of(reply)
            size = int(dict(reply.headers)["ETag"][1:].partition("-")[0], 16)
            assert (gzip.decompress(body) if coding else body) == versions[size]
    finally:
        ends.set()
        writer.join()


# ---- the clause ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        ("immutable", "public, max-age=31536000, immutable"),
        ("no-store", "no-store"),
        ("0", "public, max-age=0"),
        (3600, "public, max-age=3600"),
        ("45", "public, max-age=45"),
        ("45s", "public, max-age=45"),
        ("10m", "public, max-age=600"),
        ("2h", "public, max-age=7200"),
        ("7d", "public, max-age=604800"),
    ],
)
def test_cache_specs(site: Path, spec: str | int, value: str) -> None:
    assert cache_control(spec) == value
    mounts = mount(site, cache=spec)
    for fields in ({}, {"range": "bytes=0-1"}, {"if_none_match": "*"}):
        assert got(mounts, "/a.css", **fields)[3]["Cache-Control"] == value


@pytest.mark.parametrize("spec", ["", "s", "-1", -1, "1.5h", "1w", "1 h", "forever", "Immutable", "1h\r\nX: y", "٣", "9" * 40])
def test_bad_cache_specs(site: Path, spec: str | int) -> None:
    with pytest.raises(ValueError, match=r"^static cache must be "):
        StaticMount("/", str(site), spec)


def test_the_fallback_answers_a_miss_of_its_mount(site: Path) -> None:
    put(site / "app" / "shell.html", "<h1>app</h1>")
    mounts = StaticMounts([StaticMount("/app", str(site / "app"), "no-store", "shell.html"), StaticMount("/", str(site))])
    assert get(mounts, "/app/deep/link") is None
    reply = mounts.fallback(Request("GET", "/app/deep/link"))
    assert reply is not None
    assert (reply.status, reply.content_type, reply.body) == (200, "text/html; charset=utf-8", b"<h1>app</h1>")
    assert dict(reply.headers)["Cache-Control"] == "no-store"
    assert mounts.fallback(Request("GET", "/other")) is None
    assert mounts.fallback(Request("POST", "/app/x")) is None
    (site / "app" / "shell.html").unlink()
    assert mounts.fallback(Request("GET", "/app/deep/link")) is None


@pytest.mark.parametrize("fallback", ["x", "", "sub", "sub/index.html", "./index.html", "/index.html", "../site/a.css", "a\0"])
def test_which_fallbacks_can_be(site: Path, fallback: str) -> None:
    if fallback in ("x", "../site/a.css", "a\0"):
        with pytest.raises(ValueError) as caught:
            StaticMount("/", str(site), None, fallback, written="./site")
        assert str(caught.value) == (
            f"static fallback '{fallback}' not found in './site' — the fallback file must exist when the server starts"
        )
    else:
        assert StaticMounts([StaticMount("/", str(site), None, fallback)]).fallback(Request("GET", "/x")) is not None


def test_two_mounts_at_one_prefix(site: Path) -> None:
    with pytest.raises(ValueError) as caught:
        StaticMounts([StaticMount("/p", str(site)), StaticMount("/p/", str(site))])
    assert str(caught.value) == (
        'two static mounts at the same prefix \'/p\'; mount each at a distinct prefix (e.g. static "/assets" from "./assets")'
    )
    with pytest.raises(ValueError, match="at the same prefix '/';"):
        StaticMounts([StaticMount("/", str(site)), StaticMount("//", str(site))])


def test_a_prefix_starts_with_a_slash(site: Path) -> None:
    with pytest.raises(ValueError, match=r"^static prefix must start with '/', got 'p'$"):
        StaticMount("p", str(site))


def test_a_folder_may_come_later(tmp_path: Path) -> None:
    folder = tmp_path / "dist"
    late = StaticMount("/", str(folder))
    assert late.is_missing
    mounts = StaticMounts([late])
    assert get(mounts, "/x.txt") is None
    put(folder / "x.txt", "x")
    assert got(mounts, "/x.txt")[2] == b"x"
    assert not StaticMount("/", str(folder)).is_missing


def test_a_folder_is_beside_the_entry_file_or_in_the_working_folder(tmp_path: Path) -> None:
    entry, working = tmp_path / "entry", tmp_path / "working"
    for folder in (entry, working):
        folder.mkdir()
    (working / "public").mkdir()
    assert os.path.realpath(resolve_directory("./public", str(entry), str(working))) == str((working / "public").resolve())
    (entry / "public").mkdir()
    assert os.path.realpath(resolve_directory("./public", str(entry), str(working))) == str((entry / "public").resolve())
    assert os.path.realpath(resolve_directory("./public", None, str(working))) == str((working / "public").resolve())
    assert resolve_directory(str(entry), str(working), str(working)) == str(entry)


@pytest.mark.parametrize(
    ("second", "text"),
    [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (MODIFIED, DATE),
        (-5, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (2**60, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ],
)
def test_dates(second: int, text: str) -> None:
    assert http_date(second) == text
