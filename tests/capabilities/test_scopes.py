"""Scopes in canonical form and what they cover: every spelling that could make check and use differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.capabilities import Capability, Ceiling, declared, glob
from language.capabilities.scopes import canonical_scope, db_target, fixed_prefix, is_inside, net_target, normal_path
from language.errors import RuntimeFault

NO_HOST = "fetch(): the URL has no host (expected scheme://host/…)"


def covers(name: str, grant: str | None, request: str | None) -> bool:
    """A grant as a program writes it against a request as it arrives."""
    if request is not None and name == "net":
        request = net_target(request, "fetch").scope
    elif request is not None and name == "db":
        request = db_target(request).scope
    elif request is not None and name.startswith("file"):
        request = normal_path(request)
    operation = "file.read" if name == "file" else name
    return declared(name, grant).covers(Capability(operation, request))


# ---- net ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "scope"),
    [
        ("http://api.x/v1?k=1#f", "api.x"),
        ("HTTPS://API.X", "api.x"),
        ("https://u:p@api.x:8443/a@b", "api.x:8443"),
        ("http://user@evil@api.x/", "api.x"),
        ("http://api.x@evil.test:81/", "evil.test:81"),
        ("http://api.x#@evil.test/", "api.x"),
        ("http://api.x?@evil.test/", "api.x"),
        ("http://api.x./", "api.x"),
        ("http://api.x.:80/", "api.x:80"),
        ("http://api.x:/", "api.x"),
        ("http://api.x:0443/", "api.x:443"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("http://BÜCHER.example/", "xn--bcher-kva.example"),
        ("http://xn--BCHER-kva.example/", "xn--bcher-kva.example"),
        ("http://api\N{IDEOGRAPHIC FULL STOP}x/", "api.x"),
        ("http://[::1]:8545/", "[::1]:8545"),
        ("http://[0:0:0:0:0:0:0:1]/", "::1"),
        ("http://[2001:DB8:0:0:1:0:0:1]/", "2001:db8::1:0:0:1"),
        ("http://[::ffff:127.0.0.1]/", "::ffff:7f00:1"),
        ("http://[2001:db8:0:1:1:1:1:1]/", "2001:db8:0:1:1:1:1:1"),
        ("http://127.0.0.1:80/", "127.0.0.1:80"),
        ("http://1.2.3.4.5.example/", "1.2.3.4.5.example"),
        ("wss://h_1.test/", "h_1.test"),
        ("http://fullwidth１.test/", "fullwidth1.test"),
    ],
)
def test_the_scope_of_a_url(url: str, scope: str) -> None:
    assert net_target(url, "fetch").scope == scope


@pytest.mark.parametrize(
    "url",
    [
        "", "api.x", "//api.x/", "http:/api.x", "http:///path", "http://", "http://?q", "http://#f", "://api.x",
        "http://:80/", "http://u@/", "http://api.x\\@evil.test/", "http://api.x\\.evil.test/", "http://evil.test\\",
        "http://api .x/", "http://api.x\t/", "http://api\n.x/", "http://api.x\0/", "http://\u3000api.x/", " http://api.x/",
        "http://api.x%2eevil.test/", "http://%61pi.x/", "http://127%2e0.0.1/", "http://api.x%00.evil.test/",
        "http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://0177.0.0.1/", "http://127.0.0.1.2/",
        "http://0x7f.0.0.1/", "http://1.2.3.256/", "http://1.2.3.04/", "http://127.0.0.1.:x/", "http://0/",
        "http://１２７.1/", "http://①②⑦.1/", "http://example.0x1/",
        "http://api..x/", "http://.api.x/", "http://api.x../", "http://./",
        "http://api.x:99999/", "http://api.x:-1/", "http://api.x:80:90/", "http://api.x:８０/", "http://api.x: 80/",
        "http://[::1/", "http://[::1]x/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[1.2.3.4]/",
        "http://[::g]/", "http://::1/", "http://[]/", "http://a℀b.test/", "http://a／b.test/", "http://a*b/", "http://*/",
        "http://" + "a" * 300 + "/", "ht tp://api.x/", "1http://api.x/", "http://a\u00adb\u200b.test/", "http://api.x\u202e/",
    ],
)  # fmt: skip
def test_a_url_without_a_usable_host_is_refused_and_never_shown(url: str) -> None:
    with pytest.raises(RuntimeFault) as caught:
        net_target(url, "fetch")
    assert caught.value.message == NO_HOST


def test_the_parts_are_those_that_were_checked() -> None:
    target = net_target("HTTPS://u:p@API.x.:8443/A/b?k=%31#f", "fetch")
    assert (target.scheme, target.host, target.port) == ("https", "api.x", 8443)
    assert (target.path_and_query, target.userinfo) == ("/A/b?k=%31", "u:p")
    assert net_target("http://h?k", "fetch").path_and_query == "/?k"
    assert net_target("http://h", "fetch").path_and_query == "/"
    assert net_target("http://h", "fetch").userinfo is None
    assert net_target("http://[::1]:80/", "fetch").host == "::1"


@pytest.mark.parametrize(
    ("grant", "url", "granted"),
    [
        (None, "http://any.test:1/", True),
        ("*", "http://any.test:1/", True),
        ("h.test:8545", "http://h.test:8545/", True),
        ("h.test:8545", "http://h.test/", False),
        ("h.test:8545", "https://h.test:443/", False),
        ("h.test:8545", "http://a@other.test:8545/", False),
        ("h.test:443", "https://h.test/", False),
        ("h.test", "http://h.test:8545/", True),
        ("h.test", "http://h.test/", True),
        ("h.test", "http://h.test.evil.test/", False),
        ("H.TEST", "http://h.test/", True),
        ("h.test.", "http://h.test/", True),
        ("https://u:p@h.test/v1?k=1", "http://h.test/", True),
        ("*.example.com", "http://a.example.com/", True),
        ("*.example.com", "http://a.b.example.com:81/", True),
        ("*.example.com", "http://example.com/", False),
        ("*.example.com", "http://aexample.com/", False),
        ("*.example.com", "http://a.example.com.evil.test/", False),
        ("*.example.com:443", "http://a.example.com:443/", True),
        ("*.example.com:443", "http://a.example.com/", False),
        ("ap?.x", "http://api.x/", True),
        ("ap[i].x", "http://api.x/", False),
        ("[::1]:8545", "http://[0::1]:8545/", True),
        ("::1", "http://[::1]:1/", True),
        ("[::1]", "http://[::1]/", True),
        ("0:0:0:0:0:0:0:1", "http://[::1]/", True),
        ("bücher.example", "http://xn--bcher-kva.example/", True),
        ("h*", "http://evil.test:81/", False),
        ("*:81", "http://evil.test:81/", True),
        ("*:81", "http://evil.test:8181/", False),
        ("*1", "http://h.test:81/", False),
    ],
)
def test_net_covering(grant: str | None, url: str, granted: bool) -> None:
    assert covers("net", grant, url) is granted


def test_no_credential_stays_in_a_scope() -> None:
    for scope in ("https://u:secret@api.x/v1?k=secret", "u:secret@api.x", "http://u:secret@*.x/"):
        assert "secret" not in canonical_scope("net", scope)
    assert "secret" not in canonical_scope("db", "mysql://u:secret@h/app?p=secret")
    assert "secret" not in canonical_scope("db", "mysql://u:secret@*.h/app?p=secret")


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("net", "https://"),
        ("net", "u@"),
        ("net", ""),
        ("net", "h:*"),
        ("net", "http://u:pa/ss@h"),
        ("db", "mysql:///app"),
        ("file", "a\0b"),
    ],
)
def test_scopes_that_can_never_be_meant(name: str, scope: str) -> None:
    with pytest.raises(ValueError):
        canonical_scope(name, scope)


# ---- paths -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", "."),
        (".", "."),
        ("./", "."),
        ("a/..", "."),
        ("/", "/"),
        ("//", "/"),
        ("/..", "/"),
        ("/../../etc", "/etc"),
        ("//etc//passwd/", "/etc/passwd"),
        ("data//./a.txt", "data/a.txt"),
        ("data\\..\\..\\x", "../x"),
        ("..\\..\\x", "../../x"),
        ("../a/../../b", "../../b"),
        ("a/b/../../../c", "../c"),
        ("...", "..."),
        ("..a/..", "."),
        ("./*", "./*"),
        ("x/../*", "./*"),
        ("*", "*"),
        ("*/", "./*"),
        ("a b/ c", "a b/ c"),
        ("data/ü", "data/ü"),
    ],
)
def test_normal_path(text: str, path: str) -> None:
    assert normal_path(text) == path


@pytest.mark.parametrize("text", ["a\0b", "\0", "/etc/passwd\0.txt"])
def test_a_path_with_a_nul_is_refused(text: str) -> None:
    with pytest.raises(RuntimeFault, match="NUL"):
        normal_path(text)


@pytest.mark.parametrize(
    ("grant", "request_", "granted"),
    [
        (None, "/etc/passwd", True),
        ("*", "/etc/passwd", True),
        ("*", "../x", True),
        ("./*", "a/b.txt", True),
        ("./*", ".env", True),
        ("./*", "/etc/passwd", False),
        ("./*", "../x", False),
        ("./*", "a/../../x", False),
        ("./*", "..", False),
        ("./*", "..a", True),
        ("*.csv", "a/b.csv", True),
        ("*.csv", "/srv/b.csv", False),
        ("*.csv", "../b.csv", False),
        ("**", "/etc/passwd", False),
        ("?*", "/etc/passwd", False),
        ("?etc/*", "/etc/passwd", False),
        ("??/x", "../x", False),
        ("data/*", "data/a", True),
        ("data/*", "data/a/b/c", True),
        ("./data/*", "data/sub/../a.txt", True),
        ("data/*", "data", False),
        ("data/*", "data/..", False),
        ("data/*", "data/../secrets.txt", False),
        ("data/*", "data\\..\\secrets.txt", False),
        ("data/*", "/srv/app/data/x", False),
        ("data/*", "DATA/a", False),
        ("/srv/*", "/srv/a", True),
        ("/srv/*", "/srv/../etc/passwd", False),
        ("/srv/*", "srv/a", False),
        ("/*", "a", False),
        ("../*", "../x", True),
        ("../*", "../../x", False),
        ("../*", "x", False),
        ("../../*", "../x", False),
        ("../../*", "../../../x", False),
        ("data/[ab]", "data/a", False),
        ("data/?", "data/a", True),
        ("data/?", "data/ab", False),
    ],
)
def test_path_covering(grant: str | None, request_: str, granted: bool) -> None:
    assert covers("file.read", grant, request_) is granted
    assert covers("file", grant, request_) is granted


def test_names_cross_only_from_file() -> None:
    assert declared("file", "a").covers(Capability("file.write", "a"))
    assert declared("file_read", "a").covers(Capability("file.read", "a"))
    assert not declared("file.read", "a").covers(Capability("file.write", "a"))
    assert not declared("file.read", "a").covers(Capability("file", "a"))
    assert not declared("file", None).covers(Capability("db", "a"))


def test_the_whole_disk_is_not_part_of_anything() -> None:
    """A ``require`` in the place of a request."""
    for item in ("./*", "data/*", "/*", "?"):
        assert not declared("file", item).covers(declared("file", "*"))
    assert declared("file", "./*").covers(declared("file", "data/*"))
    assert not declared("file", "data/*").covers(declared("file", None))


@pytest.mark.parametrize(
    ("scope", "prefix"),
    [
        ("*", None),
        ("./*", "."),
        ("*.csv", "."),
        ("data/*", "data"),
        ("data/a*/b", "data"),
        ("data/a.txt", "data/a.txt"),
        ("/*", "/"),
        ("/srv/x?/y", "/srv"),
        ("../*", ".."),
    ],
)
def test_fixed_prefix(scope: str, prefix: str | None) -> None:
    assert fixed_prefix(scope) == prefix


def test_inside_is_by_whole_segments() -> None:
    assert is_inside("/srv/data", "/srv/data")
    assert is_inside("/srv/data/x", "/srv/data")
    assert is_inside("/etc", "/")
    assert not is_inside("/srv/database", "/srv/data")
    assert not is_inside("/srv", "/srv/data")
    assert not is_inside("/srv/data\\x", "/srv/data")


SEGMENTS = st.sampled_from(["a", "b", "..", ".", "", "...", "a b", "*", "?", "\\", "..\\", "é"])
PATHS = st.lists(SEGMENTS, max_size=8).map("/".join)


@given(PATHS)
def test_normal_paths_stay_as_they_are(path: str) -> None:
    once = normal_path(path)
    assert normal_path(once) == once
    assert "\\" not in once and "//" not in once
    assert ".." not in once.lstrip("./").split("/")


@given(PATHS, PATHS)
def test_no_relative_pattern_leaves_its_folder(pattern: str, request_: str) -> None:
    grant = canonical_scope("file", pattern)
    wanted = normal_path(request_)
    if grant == "*" or not declared("file", grant).covers(Capability("file.read", wanted)):
        return
    assert wanted.startswith("/") == grant.startswith("/")
    ups = [segment for segment in wanted.split("/") if segment == ".."]
    assert ups == [segment for segment in grant.split("/") if segment == ".."]


# ---- databases ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("mysql://u:p@DB.local:3306/app?ssl=1", "mysql://db.local/app"),
        ("MySQL://h/App/more#x", "mysql://h/app"),
        ("postgresql://h/x", "postgres://h/x"),
        ("postgres://h", "postgres://h"),
        ("postgres://h/", "postgres://h"),
        ("redis://h:6379", "redis://h"),
        ("redis://h:6379/0", "redis://h/0"),
        ("postgres://u:p@w@h/x", "postgres://h/x"),
        ("postgres://[::1]:5432/x", "postgres://[::1]/x"),
        ("postgres://h/%61pp", "postgres://h/app"),
        ("./app.db", "app.db"),
        ("data/../app.db", "app.db"),
        (":memory:", ":memory:"),
    ],
)
def test_the_scope_of_a_database(text: str, scope: str) -> None:
    assert db_target(text).scope == scope


@pytest.mark.parametrize(
    "text",
    [
        "mysql://", "mysql:///app", "postgres://%2Fvar%2Frun/app", "postgres://a,b/app", "postgres://h\\x/app",
        "postgres://h /a", "postgres://h/a%2Fb", "postgres://h/%00", "postgres://h/%ff", "postgres://127.1/app", "://h/app",
        "file:///etc/x.db",
    ],
)  # fmt: skip
def test_a_database_url_that_could_mean_another_host_is_refused(text: str) -> None:
    with pytest.raises(RuntimeFault, match="has no host") as caught:
        db_target(text)
    assert text not in caught.value.message


def test_a_database_url_comes_in_parts() -> None:
    target = db_target("postgresql://u:p%40x@DB:5433/App?sslmode=disable&host=evil")
    assert (target.scheme, target.host, target.port, target.database) == ("postgres", "db", 5433, "App")
    assert (target.userinfo, target.query, target.path) == ("u:p%40x", "sslmode=disable&host=evil", None)
    assert db_target("x/../a.db").path == "a.db"


@pytest.mark.parametrize(
    ("grant", "request_", "granted"),
    [
        ("mysql://db.local/app", "mysql://u:p@DB.local:3306/app?ssl=1", True),
        ("mysql://db.local/app", "mysql://db.local/other", False),
        ("mysql://db.local/app", "./app.db", False),
        ("postgres://localhost/*", "postgres://localhost/any", True),
        ("postgres://localhost/*", "postgres://localhost", False),
        ("postgres://localhost/*", "postgres://evil/localhost", False),
        ("postgres://*", "postgres://h/any", True),
        ("postgres://*.corp", "postgres://evil/x.corp", False),
        ("postgres://*.corp/app", "postgres://db.corp/app", True),
        ("postgres://h", "postgres://h/app", False),
        ("*", "postgres://h/app", True),
        ("*", "/srv/a.db", True),
        (None, "a.db", True),
        ("./*", "postgres://h/app", False),
        ("./*", "/srv/a.db", False),
        ("data/*", "data/../a.db", False),
        ("*.db", "a.db", True),
        ("*.db", "postgres://h/a.db", False),
        ("redis://h", "redis://h:6379/0", False),
        (":memory:", ":memory:", True),
    ],
)
def test_db_covering(grant: str | None, request_: str, granted: bool) -> None:
    assert covers("db", grant, request_) is granted


# ---- names and the ceiling ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "grant", "request_", "granted"),
    [
        ("env", "APP_*", "APP_A", True),
        ("env", "APP_*", "APP", False),
        ("env", "APP_A", "app_a", False),
        ("exec", "git", "git", True),
        ("exec", "git", "/usr/bin/git", False),
        ("exec", "git", "./git", False),
        ("serve", "8080", "9090", False),
        ("serve", "8080", "8080", True),
        ("time", "x", None, False),
        ("secret", "*", "K", True),
    ],
)
def test_covering_of_names(name: str, grant: str, request_: str | None, granted: bool) -> None:
    assert declared(name, grant).covers(Capability(name, request_)) is granted


@given(st.text("ab*?/.", max_size=8), st.text("ab*?/.", max_size=8))
def test_glob_is_the_same_as_the_definition(text: str, pattern: str) -> None:
    def matches(t: str, p: str) -> bool:
        if not p:
            return not t
        if p[0] == "*":
            return any(matches(t[cut:], p[1:]) for cut in range(len(t) + 1))
        return bool(t) and p[0] in ("?", t[0]) and matches(t[1:], p[1:])

    assert glob(text, pattern) is matches(text, pattern)


SCOPES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(lambda s: s == s.strip())
ITEMS = st.tuples(st.sampled_from(["env", "secret", "exec", "file", "file.read", "reveal"]), st.none() | SCOPES)


@given(st.lists(ITEMS, min_size=1, max_size=5))
def test_the_text_of_a_ceiling_reads_back(items: list[tuple[str, str | None]]) -> None:
    ceiling = Ceiling(tuple(declared(name, scope) for name, scope in items))
    again = Ceiling.parse(str(ceiling))
    assert [(item.name, item.scope) for item in again.items] == [(item.name, item.scope) for item in ceiling.items]


def test_ceiling_items_are_canonical() -> None:
    ceiling = Ceiling.parse("net=https://U:P@API.x/v1,file_read=./data/*,db=postgresql://H/App")
    assert str(ceiling) == "net=api.x,file.read=data/*,db=postgres://h/app"
    with pytest.raises(ValueError, match="--cap-set: the scope of net has no host"):
        Ceiling.parse("net=https://")
