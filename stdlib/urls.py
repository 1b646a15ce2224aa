"""Parsing and building of URLs, with hosts in the canonical form of the capability ``net``. Pure: no connection is made."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import Secret, as_map, is_map, type_of
from language.values.allowance import refuse_beyond
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

family = Family("urls", "URLs", pure=True)

_PARTS = ("scheme", "user", "password", "host", "port", "path", "query", "fragment")
#: Characters besides letters and digits that need no encoding in a path, a query and a fragment.
_PATH = "/:@!$&'()*+,;=-._~"
_QUERY = _PATH + "?"
_MOST_PORT = 65535
_UNRESERVED = "-._~"


@family.builtin("url_parse(url)", result="map", fresh=True)
def url_parse(url: Any) -> dict[str, Any]:
    """The parts of a URL as `{scheme, user, password, host, port, path, query, fragment, scope}`.

    `host` is in the canonical form of `require net(...)`: lower case, in ASCII, without a dot at its end, an IPv6 address in
    its shortest form without brackets; `scope` is the host with the port of the URL, if it has one: the scope of `net` that a
    request to this URL needs. `port` is a number or `nothing`. `path` and `fragment` stay percent-encoded (`url_decode` decodes
    a segment of a path); `query` is the map of its fields as `query_parse` gives it, `user` and `password` are decoded or
    `nothing`. A text without a scheme and a host is an error, as it is for `http_get`.

    `url_parse("https://EXAMPLE.com:8443/a%20b?q=1#top").scope` is `example.com:8443`.
    """
    from language.capabilities.scopes import net_target

    if type(url) is not str:
        raise RuntimeFault(f"url_parse expects text, got {type_of(url)}", kind="type")
    target = net_target(url, "url_parse")
    path, _, query = target.path_and_query.partition("?")
    user: str | None = None
    password: str | None = None
    if target.userinfo is not None:
        user, colon, rest = target.userinfo.partition(":")
        user = _decoded(user)
        password = _decoded(rest) if colon else None
    fragment = url.partition("#")[2] if "#" in url else None
    return {
        "scheme": target.scheme,
        "user": user,
        "password": password,
        "host": target.host,
        "port": target.port,
        "path": path,
        "query": _query(query),
        "fragment": fragment,
        "scope": target.scope,
    }


@family.builtin("url_build(parts)", result="str")
def url_build(parts: Any) -> str:
    """The URL of a map of parts, as `url_parse` gives them: `scheme` (`https` unless given), `host`, `port`, `path`, `query`,
    `fragment`, `user`, `password`; `scope` is ignored.

    In `path` and `fragment` characters that are not allowed there are encoded, and what is already encoded stays. Use
    `url_encode` for path segments from elsewhere. `query` is a map for `query_encode`. The host is validated and written in the
    form of `url_parse`; one that contains `/` or `@` is an error, so it can never lead to another server. A secret is an error.

    `url_build({"host": "example.com", "path": "/a b", "query": {"q": "x&y"}})` is `https://example.com/a%20b?q=x%26y`.
    """
    from language.capabilities.scopes import bracketed, host_and_port, net_target

    given = as_map(parts)
    if given is None:
        raise RuntimeFault(f"url_build expects a map of parts, got {type_of(parts)}", kind="type")
    for name, value in given.items():
        if name not in (*_PARTS, "scope"):
            raise RuntimeFault(f'url_build: unknown part "{name}" (valid parts: {", ".join(_PARTS)})')
        if type(value) is Secret:
            raise RuntimeFault(
                f"url_build: {name} is a secret: its text would stand in a URL; send it in a header", kind="type"
            )
    texts = {name: _part(given, name) for name in ("scheme", "user", "password", "host", "path", "fragment")}
    host = texts["host"]
    if host is None:
        raise RuntimeFault('url_build: a URL needs the part "host"')
    located = host_and_port(bracketed(host))
    if located is None or located[1] is not None:
        raise RuntimeFault("url_build: the host is no host name or address")
    path = texts["path"] or "/"
    url = f"{texts['scheme'] or 'https'}://"
    if texts["user"] is not None:
        url += _encoded(texts["user"], _UNRESERVED)
        if texts["password"] is not None:
            url += ":" + _encoded(texts["password"], _UNRESERVED)
        url += "@"
    elif texts["password"] is not None:
        raise RuntimeFault("url_build: a password needs a user")
    url += bracketed(located[0]) + _port(given.get("port"))
    url += ("" if path.startswith("/") else "/") + _kept(path, _PATH)
    query = given.get("query")
    if query is not None and query != {}:
        url += "?" + query_encode(query)
    if texts["fragment"] is not None:
        url += "#" + _kept(texts["fragment"], _QUERY)
    try:
        built = net_target(url, "url_build")
    except RuntimeFault:
        raise RuntimeFault("url_build: the scheme is no scheme of a URL") from None
    if built.host != located[0]:
        raise RuntimeFault("url_build: the scheme is no scheme of a URL")
    return url


@family.builtin("query_encode(fields)", result="str")
def query_encode(fields: Any) -> str:
    """The query, or body of a form, of a map: `name=value` joined with `&`, both encoded, a blank as `+`. A list gives one pair
    for each of its items, `nothing` is left out; other values are in display form. A secret is an error.

    `query_encode({"q": "a b", "tag": ["x", "y"]})` is `q=a+b&tag=x&tag=y`.
    """
    given = as_map(fields)
    if given is None:
        raise RuntimeFault(f"query_encode expects a map of fields, got {type_of(fields)}", kind="type")
    pairs: list[str] = []
    for name, value in given.items():
        for item in value if value.__class__ is list else [value]:
            if item is None:
                continue
            if type(item) is Secret:
                raise RuntimeFault("query_encode cannot encode a secret: its text would stand in a URL", kind="type")
            if item.__class__ is list or is_map(item) or callable(item) or item.__class__ is bytes:
                raise RuntimeFault(f"query_encode: the field {name} is a {type_of(item)}; write it as text first", kind="type")
            pairs.append(f"{_form_encoded(name)}={_form_encoded(display(item))}")
    refuse_beyond(sum(map(len, pairs)))
    return "&".join(pairs)


@family.builtin("query_parse(text)", result="map", fresh=True)
def query_parse(text: Any) -> dict[str, Any]:
    """The fields of a query or the body of a form as a map of texts; a repeated name has the list of its values.

    A leading `?` is skipped, `+` is a blank, a name without `=` has empty text. Bytes that are not UTF-8 become U+FFFD.

    `query_parse("?q=a+b&tag=x&tag=y")` is `{q: "a b", tag: ["x", "y"]}`.
    """
    if type(text) is not str:
        raise RuntimeFault(f"query_parse expects text, got {type_of(text)}", kind="type")
    return _query(text.removeprefix("?"))


@family.builtin("multipart_encode(parts)", result="map", fresh=True)
def multipart_encode(parts: Any) -> dict[str, Any]:
    """The body of a form with files as `{body, content_type}`: bytes, and the header `Content-Type` to send with them.

    `parts` is a map of the fields. A value is a text, number or other simple value, or a file:
    `{content, filename, content_type}`, the content text or bytes, the last two optional. A list gives several parts of one
    name. The boundary is derived from the content and does not occur in it; quotes and line breaks in names are encoded as
    browsers do. A secret is an error.

    `multipart_encode({"title": "x", "data": {"filename": "a.csv", "content": "1,2"}}).content_type`
    begins with `multipart/form-data; boundary=`.
    """
    given = as_map(parts)
    if given is None:
        raise RuntimeFault(f"multipart_encode expects a map of parts, got {type_of(parts)}", kind="type")
    pieces = [
        _multipart(name, item) for name, value in given.items() for item in (value if value.__class__ is list else [value])
    ]
    refuse_beyond(sum(len(head) + len(content) for head, content in pieces) + 100 * len(pieces))
    boundary = _boundary(pieces)
    opening = b"--" + boundary
    body = b"".join([opening + b"\r\n" + head + b"\r\n\r\n" + content + b"\r\n" for head, content in pieces])
    return {"body": body + opening + b"--\r\n", "content_type": f"multipart/form-data; boundary={boundary.decode()}"}


def _multipart(name: str, value: Any) -> tuple[bytes, bytes]:
    """The header lines and the content of one part."""
    head = f'Content-Disposition: form-data; name="{_quoted(name)}"'
    file = as_map(value)
    if file is None:
        return head.encode("utf-8", "replace"), _content(name, value)
    for key in file:
        if key not in ("content", "filename", "content_type"):
            raise RuntimeFault(f'multipart_encode: part {name} has the unknown key "{key}" (content, filename, content_type)')
    if "content" not in file:
        raise RuntimeFault(f'multipart_encode: part {name} needs the key "content"')
    filename, media_type = file.get("filename"), file.get("content_type")
    for key, text in (("filename", filename), ("content_type", media_type)):
        if text is not None and type(text) is not str:
            raise RuntimeFault(f"multipart_encode: {key} of part {name} must be text, got {type_of(text)}", kind="type")
    if filename is not None:
        head += f'; filename="{_quoted(filename)}"'
        media_type = media_type or "application/octet-stream"
    if media_type is not None:
        if not media_type.isascii() or not media_type.isprintable():
            raise RuntimeFault(f"multipart_encode: content_type of part {name} has characters that no header may hold")
        head += f"\r\nContent-Type: {media_type}"
    return head.encode("utf-8", "replace"), _content(name, file["content"])


def _quoted(text: str) -> str:
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _content(name: str, value: Any) -> bytes:
    if value.__class__ is bytes:
        return value
    if type(value) is Secret:
        raise RuntimeFault(f"multipart_encode: part {name} is a secret: it stays sealed; send it in a header", kind="type")
    if value is None or value.__class__ is list or is_map(value) or callable(value):
        raise RuntimeFault(f"multipart_encode: part {name} is {type_of(value)}; write it as text first", kind="type")
    return display(value).encode("utf-8", "replace")


def _boundary(pieces: list[tuple[bytes, bytes]]) -> bytes:
    """A boundary made from a hash of the content, so that no content can contain it."""
    from hashlib import sha256

    digest = sha256()
    for piece in pieces:
        for part in piece:
            digest.update(len(part).to_bytes(8, "big") + part)
    return b"part-" + digest.hexdigest()[:40].encode()


def _query(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    repeated: set[str] = set()
    for pair in text.split("&"):
        if not pair:
            continue
        name, _, value = (_decoded(part.replace("+", " ")) for part in pair.partition("="))
        if name in repeated:
            fields[name].append(value)
        elif name in fields:
            fields[name] = [fields[name], value]
            repeated.add(name)
        else:
            fields[name] = value
    return fields


def _part(given: dict[str, Any], name: str) -> str | None:
    value = given.get(name)
    if value is not None and type(value) is not str:
        raise RuntimeFault(f"url_build: {name} must be text, got {type_of(value)}", kind="type")
    return value


def _port(port: Any) -> str:
    if port is None:
        return ""
    if port.__class__ is not int or not 0 <= port <= _MOST_PORT:
        raise RuntimeFault(f"url_build: port must be an integer from 0 to {_MOST_PORT}")
    return f":{port}"


def _encoded(text: str, safe: str) -> str:
    from urllib.parse import quote

    refuse_beyond(len(text) if text.isascii() else 3 * len(text.encode("utf-8", "replace")))
    return quote(text, safe=safe, errors="replace")


def _kept(text: str, safe: str) -> str:
    """The text percent-encoded, except for parts that are encoded already."""
    from re import sub

    return sub("%(?![0-9A-Fa-f]{2})", "%25", _encoded(text, safe + "%"))


def _form_encoded(text: str) -> str:
    return _encoded(text, " -._~").replace(" ", "+")


def _decoded(text: str) -> str:
    from urllib.parse import unquote

    return unquote(text, errors="replace") if "%" in text else text
