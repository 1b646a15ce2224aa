"""The HTTP client. Gate: ``net`` with the host of the URL, and its port when the URL writes one."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import Secret, as_map, to_bool, type_of
from language.values.display import display, quote, raw_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.capabilities.scopes import NetTarget
    from language.host.http import Enough, HttpReply
    from language.runtime.context import Context

family = Family("http_client", "HTTP client")

#: The display form of a secret inside a text. With blanks or further brackets it is taken as ordinary text.
_NAMED_SECRET = r"secret\([^\s()]{1,200}\)"
_SILENCE = 30
_LONGEST_SILENCE = 86_400
_FETCH_OPTIONS = ("method", "headers", "body", "timeout")

# RFC 9110, 5.6.2
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_CONTROLS = frozenset(set(range(0x20)) | {0x7F}) - {0x09}
#: The characters that may occur in the target of a request (RFC 3986); percent signs are kept, all others are encoded.
_TARGET = "!$%&'()*+,-./:;=?@[]_~"


@family.builtin("fetch(url, method?, headers?, body?, timeout?)", capability="net", context=True)
def fetch(ctx: Context, url: Any, method: Any = None, headers: Any = None, body: Any = None, timeout: Any = None) -> Any:
    """Sends an HTTP request, `GET` unless `method` says otherwise. Needs `require net("host")` for the host of the URL.

    The result is a map of `status` (a number), `ok` (whether the status is 200 to 299), `body` (text), `json` (the decoded body
    when the response says that it is JSON, else `nothing`) and `headers`. An error status does not raise an error: check `ok`.
    Without a response (no such host, connection refused, TLS, timeout), `status` is 0, `ok` is false and `error` says why; only
    then does the map have `error`. Redirects are not followed: the 3xx response is the result.

    `headers` is a map; for a secret as a value its plaintext is sent. A secret as URL, query field or body is refused, and so
    is a text that contains the display form of one (`secret(NAME)`); inside a JSON body it is sent redacted. A map or list as
    `body` is sent as JSON, bytes as they are, anything else as text. `timeout` is the longest time without data in whole
    seconds, 30 if not given. Certificates and host names are always verified.

    A connection is kept open for the next request to the same server. If the server has closed it meanwhile, an idempotent
    request (not `POST` or `PATCH`) is sent again over a new connection.

    In place of `method` a map may give `method`, `headers`, `body` and `timeout`:
    `fetch(url, {"method": "PUT", "body": {"a": 1}})`.
    """
    options = as_map(method)
    target = _granted(ctx, "fetch", url)
    if options is not None:
        if headers is not None or body is not None or timeout is not None:
            raise RuntimeFault("fetch(): no argument may follow a map of options")
        for name in options:
            if name not in _FETCH_OPTIONS:
                raise RuntimeFault(f"fetch(): unknown option {quote(name)} (valid: {', '.join(_FETCH_OPTIONS)})")
        method, headers, body, timeout = (options.get(name) for name in _FETCH_OPTIONS)
    return _text_result(ctx, "fetch", "GET" if method is None else method, target, headers, None, body, timeout)


@family.builtin("http(method, url, headers?, query?, body?, timeout?)", capability="net", context=True)
def http(
    ctx: Context, method: Any, url: Any, headers: Any = None, query: Any = None, body: Any = None, timeout: Any = None
) -> Any:
    """As `fetch`, with any method. `query` is a map whose entries are appended to the URL, percent-encoded.

    `http("GET", "https://api.example/search", {}, {"q": "a b"})` asks for `/search?q=a+b`.
    """
    return _text_result(ctx, "http", method, _granted(ctx, "http", url), headers, query, body, timeout)


@family.builtin("http_get(url, headers?, query?, timeout?)", capability="net", context=True)
def http_get(ctx: Context, url: Any, headers: Any = None, query: Any = None, timeout: Any = None) -> Any:
    """Sends a `GET` request; `query` as for `http`, the result as that of `fetch`."""
    return _text_result(ctx, "http_get", "GET", _granted(ctx, "http_get", url), headers, query, None, timeout)


@family.builtin("http_post(url, body, headers?, timeout?)", capability="net", context=True)
def http_post(ctx: Context, url: Any, body: Any, headers: Any = None, timeout: Any = None) -> Any:
    """Sends a `POST` request; body and result as those of `fetch`."""
    return _text_result(ctx, "http_post", "POST", _granted(ctx, "http_post", url), headers, None, body, timeout)


@family.builtin("http_put(url, body, headers?, timeout?)", capability="net", context=True)
def http_put(ctx: Context, url: Any, body: Any, headers: Any = None, timeout: Any = None) -> Any:
    """Sends a `PUT` request; body and result as those of `fetch`."""
    return _text_result(ctx, "http_put", "PUT", _granted(ctx, "http_put", url), headers, None, body, timeout)


@family.builtin("http_delete(url, headers?, timeout?)", capability="net", context=True)
def http_delete(ctx: Context, url: Any, headers: Any = None, timeout: Any = None) -> Any:
    """Sends a `DELETE` request; the result as that of `fetch`."""
    return _text_result(ctx, "http_delete", "DELETE", _granted(ctx, "http_delete", url), headers, None, None, timeout)


@family.builtin("http_bytes(method, url, headers?, query?, body?, timeout?)", capability="net", context=True)
def http_bytes(
    ctx: Context, method: Any, url: Any, headers: Any = None, query: Any = None, body: Any = None, timeout: Any = None
) -> Any:
    """As `http`, for responses that are not text: the result is a map of `status`, `ok`, `bytes` and `headers`, with `error` if
    there was no response.
    """
    reply = _asked(ctx, "http_bytes", method, _granted(ctx, "http_bytes", url), headers, query, body, timeout)
    if isinstance(reply, str):
        return {"status": 0, "ok": to_bool(False), "bytes": b"", "error": reply}
    result = {"status": reply.status, "ok": to_bool(200 <= reply.status <= 299), "bytes": reply.body}
    if reply.headers:
        result["headers"] = _header_map(reply)
    return result


# ---- for this family and those built on it -----------------------------------------------------------------------------


def url_text(builtin: str, url: Any) -> str:
    """The text of a URL. Raises ``RuntimeFault`` for a secret, because errors and the audit show URLs, and for a text that
    contains the display form of a secret.
    """
    if type(url) is Secret:
        raise RuntimeFault(f"{builtin}: {_unsent('the URL', url.names[0])}")
    text = raw_text(url)
    refuse_named_secret(builtin, "the URL", text)
    return text


def refuse_named_secret(builtin: str, what: str, text: str) -> None:
    """Raises ``RuntimeFault`` if a text contains ``secret(NAME)``, the display form of a secret that was inserted into it."""
    import re

    found = re.search(_NAMED_SECRET, text)
    if found is not None:
        raise RuntimeFault(f"{builtin}: {what} holds the text {found[0]}, the name of a secret in place of its value")


def _unsent(what: str, name: str) -> str:
    return (
        f"{what} cannot be the secret {name}: send it as the value of a header, or write reveal(...), which needs "
        f'`require reveal("{name}")`'
    )


def granted_target(ctx: Context, builtin: str, url: str) -> NetTarget:
    """Parses a URL and checks its host. Raises ``RuntimeFault`` without a host or a grant, before any connection is made."""
    from language.capabilities.reserved_addresses import reserved_address
    from language.capabilities.scopes import net_target

    target = net_target(url, builtin)
    ctx.check_net(target)
    if reserved_address(target.host):
        ctx.check_address(target.host, target.port or (443 if target.scheme in ("https", "wss") else 80))
    return target


def exchanged(
    ctx: Context,
    builtin: str,
    method: str,
    target: NetTarget,
    headers: list[tuple[str, bytes]],
    body: bytes | None,
    *,
    path: str | None = None,
    query: str = "",
    timeout: int = _SILENCE,
    most: int | None = None,
    total: float | None = None,
    enough: Enough | None = None,
) -> HttpReply:
    """Sends one request to a checked target, with the path of the URL unless another is given.

    ``most``, ``total`` and ``enough`` are those of ``HttpRequest``. Raises ``TransportFailure`` without a complete response.
    """
    from language.host.http import HttpRequest, TransportFailure

    door = ctx.host.http
    if target.scheme not in ("http", "https"):
        raise TransportFailure(f"unsupported scheme '{target.scheme}': only http and https are supported")
    if door is None:
        raise TransportFailure(no_transport(ctx, builtin))
    headers = with_credentials(headers, target)
    target_path = _path(target.path_and_query if path is None else path, query)
    return door.exchange(
        HttpRequest(method, target, target_path, headers, body, timeout, ctx.check_address, most, total, enough)
    )


def with_credentials(headers: list[tuple[str, bytes]], target: NetTarget) -> list[tuple[str, bytes]]:
    """The headers, with the user and password of the URL unless they name others."""
    if target.userinfo is None or any(name.lower() == "authorization" for name, _ in headers):
        return headers
    return [*headers, ("Authorization", _basic(target.userinfo))]


def request_path(path: str) -> str:
    """Path and query of a URL for a request: ASCII, with invalid characters percent-encoded."""
    return _path(path, "")


def no_transport(ctx: Context, builtin: str) -> str:
    """The error text on a host without a network."""
    hook = "the embedder can offer it through the `http` host hook, or " if ctx.host.takes_hooks else ""
    return (
        f"{builtin}: not available in the wasm profile — this host provides no http transport ({hook}run the program with the "
        "native `lang` binary)"
    )


def header_list(builtin: str, headers: Any, target: NetTarget, body: bytes | None) -> list[tuple[str, bytes]]:
    """The headers of a request from the map of a program, with the plaintext of secrets.

    Raises ``RuntimeFault`` for a header that cannot be sent; it names the header and never shows its value.
    """
    if headers is None:
        return []
    given = as_map(headers)
    if given is None:
        raise RuntimeFault(f"{builtin}() expects the headers as a map, got {type_of(headers)}", kind="type")
    sent = []
    for name, value in given.items():
        if not name or not _TOKEN.issuperset(name):
            raise RuntimeFault(f"{builtin}(): {quote(name)} is not the name of a header")
        plain = value.plaintext if type(value) is Secret else display(value)
        if type(value) is not Secret:
            refuse_named_secret(builtin, f"the header {name}", str(plain))
        data = (plain.encode() if isinstance(plain, str) else plain).strip(b" \t")
        if not _CONTROLS.isdisjoint(data):
            raise RuntimeFault(f"{builtin}(): the value of the header {name} has a line break or control character")
        lower = name.lower()
        if lower in ("host", "content-length", "transfer-encoding"):
            # These headers determine the destination and the length of a request, which must be those that were checked and
            # sent.
            if data != _own_header(lower, target, body):
                raise RuntimeFault(f"{builtin}(): the header {name} is set by the language")
            continue
        sent.append((name, data))
    return sent


# ---- parts -------------------------------------------------------------------------------------------------------------


def _granted(ctx: Context, builtin: str, url: Any) -> NetTarget:
    return granted_target(ctx, builtin, url_text(builtin, url))


def _asked(
    ctx: Context, builtin: str, method: Any, target: NetTarget, headers: Any, query: Any, body: Any, timeout: Any
) -> HttpReply | str:
    """The response to a request of the program, or the error text."""
    from language.host.http import TransportFailure

    verb = raw_text(method).upper()
    if not verb or not _TOKEN.issuperset(verb):
        raise RuntimeFault(f"{builtin}(): {quote(raw_text(method))} is not a method")
    data, kind = _body(ctx, builtin, body)
    sent = header_list(builtin, headers, target, data)
    if kind is not None and not any(name.lower() == "content-type" for name, _ in sent):
        sent.append(("Content-Type", kind))
    appended = "" if query is None else _query(builtin, query)
    try:
        return exchanged(ctx, builtin, verb, target, sent, data, query=appended, timeout=_seconds(timeout))
    except TransportFailure as failure:
        return str(failure)


def _text_result(
    ctx: Context, builtin: str, method: Any, target: NetTarget, headers: Any, query: Any, body: Any, timeout: Any
) -> dict[str, Any]:
    reply = _asked(ctx, builtin, method, target, headers, query, body, timeout)
    if isinstance(reply, str):
        return {"status": 0, "ok": to_bool(False), "body": "", "json": None, "error": reply}
    text = reply.body.decode("utf-8", "replace")
    named = _header_map(reply)
    kind = next((value for name, value in named.items() if name.lower() == "content-type"), "")
    result = {
        "status": reply.status,
        "ok": to_bool(200 <= reply.status <= 299),
        "body": text,
        "json": _decoded(text) if "json" in kind.lower() else None,
    }
    if named:
        result["headers"] = named
    return result


def _header_map(reply: HttpReply) -> dict[str, str]:
    """The headers with their names as the server writes them. Of a repeated name in any spelling the last one."""
    named: dict[str, str] = {}
    spelled: dict[str, str] = {}
    for name, value in reply.headers:
        lower = name.lower()
        before = spelled.get(lower)
        if before is not None and before != name:
            del named[before]
        spelled[lower] = name
        named[name] = value
    return named


def _decoded(text: str) -> Any:
    from language.values.json_decoding import decode

    try:
        return decode(text)
    except RuntimeFault:
        return None


def _body(ctx: Context, builtin: str, body: Any) -> tuple[bytes | None, bytes | None]:
    """The bytes of a body and the content type that goes with them."""
    if body is None:
        return None, None
    if type(body) is bytes:
        return body, None
    if type(body) is list or as_map(body) is not None:
        from language.values.json_encoding import encode
        from stdlib.json_format import warn_of_secret

        return encode(body, builtin, warn_of_secret(ctx, builtin)).encode(), b"application/json"
    if type(body) is Secret:
        raise RuntimeFault(f"{builtin}: {_unsent('the body', body.names[0])}")
    text = raw_text(body)
    refuse_named_secret(builtin, "the body", text)
    return text.encode("utf-8"), None


def _query(builtin: str, query: Any) -> str:
    from urllib.parse import quote_plus

    given = as_map(query)
    if given is None:
        raise RuntimeFault(f"{builtin}() expects the query as a map, got {type_of(query)}", kind="type")
    for name, value in given.items():
        if type(value) is Secret:
            raise RuntimeFault(f"{builtin}: {_unsent(f'the query field {name}', value.names[0])}")
        refuse_named_secret(builtin, f"the query field {name}", display(value))
    return "&".join(f"{quote_plus(name)}={quote_plus(display(value))}" for name, value in given.items())


def _path(path: str, query: str) -> str:
    if query:
        path += query if path.endswith(("?", "&")) else ("&" if "?" in path else "?") + query
    from urllib.parse import quote as percent_encoded

    return percent_encoded(path, safe=_TARGET)


def _seconds(timeout: Any) -> int:
    """Whole seconds, at least 1; 30 for anything but a positive number."""
    from language.values.operators import is_decimal

    if is_decimal(timeout):
        timeout = timeout.to_float()
    if type(timeout) is int or type(timeout) is float:
        if timeout >= _LONGEST_SILENCE:
            return _LONGEST_SILENCE if timeout != float("inf") else _SILENCE
        if timeout > 0:
            return max(1, int(timeout))
    return _SILENCE


def _basic(userinfo: str) -> bytes:
    """Basic authentication (RFC 7617) with user and password of the URL."""
    from binascii import b2a_base64
    from urllib.parse import unquote_to_bytes

    user, _, password = userinfo.partition(":")
    return b"Basic " + b2a_base64(unquote_to_bytes(user) + b":" + unquote_to_bytes(password), newline=False)


def _own_header(name: str, target: NetTarget, body: bytes | None) -> bytes | None:
    """The language's own value for a header that programs cannot choose; ``None`` where it sends none."""
    if name == "host":
        from language.capabilities.scopes import bracketed

        default = 443 if target.scheme in ("https", "wss") else 80
        place = bracketed(target.host)
        return (place if target.port in (None, default) else f"{place}:{target.port}").encode()
    return b"%d" % len(body or b"") if name == "content-length" else None
