"""Canonical forms of the scopes of capabilities, and when one covers another.

Every scope is normalized once: a ``require`` and a ceiling item by :func:`canonical_scope`, a request by
:func:`normal_path`, :func:`net_target` or :func:`db_target`. The operation then uses the parts that were checked and never
parses the text again, so that check and use cannot differ.
"""

from __future__ import annotations

import sys

from language.capabilities import glob
from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE_NAMES = ("file", "file.read", "file.write")
#: Systems with case-insensitive file names.
FOLDING = sys.platform in ("win32", "darwin")

#: The ports of databases over the network where a URL names none.
DATABASE_PORTS = {"postgres": 5432, "mysql": 3306, "redis": 6379, "rediss": 6379}

_LONGEST_HOST = 253
_LOOKS = 16
_SCHEME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+.-")
_HOST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")


class NetTarget:
    """A URL, parsed once. ``host`` is the checked text: it is what is connected to and sent in ``Host``.

    ``host`` is ASCII in lower case without a trailing dot, an IPv6 address without brackets; ``port`` is ``None`` where the
    URL has none; ``path_and_query`` begins with ``/`` and has no fragment; ``userinfo`` is as written, ``None`` without.
    """

    __slots__ = ("host", "path_and_query", "port", "scheme", "scope", "userinfo")

    def __init__(self, scheme: str, host: str, port: int | None, path_and_query: str, userinfo: str | None) -> None:
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path_and_query = path_and_query
        self.userinfo = userinfo
        self.scope = host if port is None else f"{bracketed(host)}:{port}"


class DbTarget:
    """A database: either ``path`` (an SQLite file, normalized) or the parts of a URL; the other fields are then ``None``.

    Connect with these parts only: a driver that parses the URL itself may find a different host in it (in the query, after a
    comma, percent-encoded). ``database`` is decoded and keeps its case, ``query`` is as written, without ``?``.
    """

    __slots__ = ("database", "host", "path", "port", "query", "scheme", "scope", "userinfo")

    def __init__(self, scope: str, **parts: Any) -> None:
        self.scope = scope
        self.path: str | None = parts.get("path")
        self.scheme: str | None = parts.get("scheme")
        self.host: str | None = parts.get("host")
        self.port: int | None = parts.get("port")
        self.database: str | None = parts.get("database")
        self.userinfo: str | None = parts.get("userinfo")
        self.query: str | None = parts.get("query")


class GrantedPath:
    """A path that was granted. ``path`` is its normalized text, to be opened and shown.

    ``within`` is the real path of the folder (or file) that the opened file must lie in, ``None`` without a restriction.
    """

    __slots__ = ("path", "within")

    def __init__(self, path: str, within: str | None) -> None:
        self.path = path
        self.within = within


# ---- requests ----------------------------------------------------------------------------------------------------------


def normal_path(text: str) -> str:
    """A path in canonical form, without looking at the disk. Raises ``RuntimeFault`` for a NUL in it.

    ``\\`` becomes ``/``; empty and ``.`` segments are removed. ``..`` removes the segment before it; at the beginning of a
    relative path it is kept, at the root it is removed. A relative path stays relative; an empty result is ``.``.
    """
    if "\0" in text:
        raise RuntimeFault("a path cannot contain a NUL character")
    text = text.replace("\\", "/")
    segments: list[str] = []
    absolute = text.startswith("/")
    for segment in text.split("/"):
        if segment == "..":
            if segments and segments[-1] != "..":
                segments.pop()
            elif not absolute:
                segments.append(segment)
        elif segment and segment != ".":
            segments.append(segment)
    path = "/".join(segments)
    if absolute:
        return "/" + path
    if path == "*" and text != "*":
        return "./*"  # `*` alone means the whole disk
    return path or "."


def net_target(url: str, builtin: str) -> NetTarget:
    """Parses a URL. Raises ``RuntimeFault`` that names the builtin when it has no usable host; never shows the URL."""
    target = _net_parts(url)
    if target is None:
        raise RuntimeFault(f"{builtin}(): the URL has no host (expected scheme://host/…)")
    return target


def db_target(text: str) -> DbTarget:
    """The target of a text given to ``db_open``. Raises ``RuntimeFault`` for a URL without a usable host; never shows it."""
    if "://" not in text:
        path = normal_path(text)
        return DbTarget(path, path=path)
    parts = _split_url(text)
    if parts is not None and "@" in parts[3]:  # the end of the password would be taken for the host, and be requested and shown
        raise RuntimeFault(
            "the database URL has an `@` behind its host: in a user name or password write `@` as %40, `/` as %2F, `?` as %3F "
            "and `#` as %23"
        )
    target = _db_parts(text)
    if target is None:
        raise RuntimeFault("the database URL has no host (expected scheme://host/database)")
    return target


def _net_parts(url: str) -> NetTarget | None:
    parts = _split_url(url)
    if parts is None:
        return None
    scheme, userinfo, place, rest = parts
    located = host_and_port(place)
    if located is None:
        return None
    path = rest.partition("#")[0]
    return NetTarget(scheme, *located, path if path.startswith("/") else "/" + path, userinfo)


def _db_parts(url: str) -> DbTarget | None:
    parts = _split_url(url)
    if parts is None:
        return None
    scheme, userinfo, place, rest = parts
    located = host_and_port(place)
    if located is None:
        return None
    scheme = "postgres" if scheme == "postgresql" else scheme
    path, _, query = rest.partition("#")[0].partition("?")
    database = _percent_decoded(path[1:].partition("/")[0])
    if database is None:
        return None
    return DbTarget(
        database_scope(scheme, *located, (database or "").lower()),
        scheme=scheme,
        host=located[0],
        port=located[1],
        database=database or None,
        userinfo=userinfo,
        query=query,
    )


def database_scope(scheme: str, host: str, port: int | None, database: str) -> str:
    """The canonical scope of a database over the network: with its port where that is not the default one of its scheme."""
    place = bracketed(host)
    if port is not None and port != DATABASE_PORTS.get(scheme):
        place += f":{port}"
    return f"{scheme}://{place}" + (f"/{database}" if database else "")


def _split_url(url: str) -> tuple[str, str | None, str, str] | None:
    """Scheme, userinfo, the rest of the authority, and what follows it; ``None`` for a text that is not a URL with an
    authority.
    """
    scheme, found, rest = url.partition("://")
    scheme = scheme.lower()
    if not found or not scheme or not scheme[0].isalpha() or not _SCHEME.issuperset(scheme):
        return None
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    authority = rest[:end]
    # URL parsers disagree about where such an authority ends: the checked host could differ from the one that is connected to.
    if any(c == "\\" or c.isspace() or not c.isprintable() for c in authority):
        return None
    userinfo, at, place = authority.rpartition("@")
    return scheme, userinfo if at else None, place, rest[end:]


def host_and_port(place: str) -> tuple[str, int | None] | None:
    """The canonical host and the port of ``host:port``; ``None`` for an invalid one."""
    if place.startswith("["):
        literal, closed, tail = place[1:].partition("]")
        host = _ipv6(literal) if closed else None
        if tail and not tail.startswith(":"):
            return None
        port = tail[1:]
    else:
        name, _, port = place.partition(":")
        host = _host(name)
    if host is None:
        return None
    if not port:
        return host, None
    if not (port.isascii() and port.isdigit()) or len(port) > 5 or int(port) > 65535:
        return None
    return host, int(port)


def _host(name: str) -> str | None:
    """A host name or IPv4 address in canonical form: ASCII, lower case, no dot at the end."""
    if len(name) > _LONGEST_HOST:
        return None
    host = _ascii(name).lower()
    host = host.removesuffix(".")
    # Checked after the mapping to ASCII, which turns look-alike characters into dots, digits and slashes.
    if not host or len(host) > _LONGEST_HOST or not _HOST.issuperset(host):
        return None
    labels = host.split(".")
    if "" in labels:
        return None
    last = labels[-1]
    if last.isdigit() or (last.startswith("0x") and all(c in "0123456789abcdef" for c in last[2:])):
        return host if len(labels) == 4 and all(map(_is_octet, labels)) else None
    return host


def _ascii(name: str) -> str:
    """The name in ASCII (IDNA, RFC 3490); the empty text when it has no such form."""
    if name.isascii():
        return name
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError:
        return ""


def _is_octet(label: str) -> bool:
    return label.isdigit() and (label == "0" or label[0] != "0") and len(label) <= 3 and int(label) <= 255


def _ipv6(literal: str) -> str | None:
    """The shortest form of an IPv6 address (RFC 5952, all of it in hexadecimal); zones are refused."""
    from ipaddress import IPv6Address

    if "%" in literal or len(literal) > 45:
        return None
    try:
        packed = IPv6Address(literal).packed
    except ValueError:
        return None
    groups = [f"{packed[i] << 8 | packed[i + 1]:x}" for i in range(0, 16, 2)]
    best_at, best = 0, 0
    at = 0
    while at < 8:
        run = at
        while run < 8 and groups[run] == "0":
            run += 1
        if run - at > best:
            best_at, best = at, run - at
        at = max(run, at + 1)
    if best < 2:
        return ":".join(groups)
    return ":".join(groups[:best_at]) + "::" + ":".join(groups[best_at + best :])


def _percent_decoded(text: str) -> str | None:
    """A database name, percent-decoded; ``None`` when it then contains an invalid character."""
    if "%" in text:
        from urllib.parse import unquote

        try:
            text = unquote(text, errors="strict")
        except UnicodeDecodeError:
            return None
    return None if any(c in "/?#%\\" or not c.isprintable() for c in text) else text


def bracketed(host: str) -> str:
    """The host in the form before a port: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


# ---- grants ------------------------------------------------------------------------------------------------------------


def canonical_scope(name: str, scope: str) -> str:
    """The scope of a grant or a ceiling item in canonical form. Raises ``ValueError`` for one that no request can match."""
    if name in FILE_NAMES:
        return _path_scope(scope)
    if name == "net":
        return _net_scope(scope)
    if name == "db":
        return _db_scope(scope) if "://" in scope else _path_scope(scope)
    if name == "exec" and "\0" in scope:
        raise ValueError("the scope of exec cannot contain a NUL character")
    return scope


def _path_scope(scope: str) -> str:
    try:
        return normal_path(scope)
    except RuntimeFault as fault:
        raise ValueError(fault.message) from None


def _net_scope(scope: str) -> str:
    if "://" in scope:
        rest = scope.partition("://")[2]
        scope = rest[: min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))]
    # Userinfo is removed in every spelling, because a scope is shown and recorded.
    place = scope.rpartition("@")[2].strip().lower()
    located = host_and_port(place)
    if located is not None:
        host, port = located
        return host if port is None else f"{bracketed(host)}:{port}"
    if place.count(":") > 1:
        host6 = _ipv6(place)
        if host6 is not None:
            return host6
    # A pattern, or a text that no request can equal: unchanged.
    host_text, port_text = _split_port(place)
    host_text = host_text.removesuffix(".")
    if not host_text:
        raise ValueError("the scope of net has no host (expected a host, host:port or scheme://host)")
    if port_text is not None and not (port_text.isascii() and port_text.isdigit()):
        raise ValueError("the port in the scope of net must be a number")  # this text may be part of a password
    return host_text if port_text is None else f"{bracketed(host_text)}:{port_text}"


def _db_scope(scope: str) -> str:
    target = _db_parts(scope)
    if target is not None:
        return target.scope
    scheme, _, rest = scope.lower().partition("://")
    authority, slash, path = rest.partition("#")[0].partition("?")[0].partition("/")
    host, port = _split_port(authority.rpartition("@")[2])
    if not host:
        raise ValueError("the scope of db has no host (expected scheme://host/database)")
    if port is not None and not (port.isascii() and port.replace("*", "").replace("?", "").isdigit()) and port.strip("*?"):
        raise ValueError("the port in the scope of db must be a number")  # this text may be part of a password
    database = path.partition("/")[0]
    scheme = "postgres" if scheme == "postgresql" else scheme
    if port == str(DATABASE_PORTS.get(scheme)):
        port = None
    place = bracketed(host) if port is None else f"{bracketed(host)}:{port}"
    return f"{scheme}://{place}" + (f"/{database}" if slash and database else "")


# ---- covering ----------------------------------------------------------------------------------------------------------


def scope_covers(name: str, grant: str, request: str) -> bool:
    """Whether a grant of this scope covers a request (or a ``require``) of that scope, both canonical."""
    if name == "net":
        return _net_covers(grant, request)
    if name in FILE_NAMES:
        return _path_covers(grant, request)
    if name == "db":
        return _db_covers(grant, request)
    return grant == request or glob(request, grant)


def _net_covers(grant: str, request: str) -> bool:
    host, port = _split_port(grant)
    wanted_host, wanted_port = _split_port(request)
    return (port is None or port == wanted_port) and (host == wanted_host or glob(wanted_host, host))


def _split_port(scope: str) -> tuple[str, str | None]:
    """Host (an IPv6 address without brackets) and port of a scope."""
    if scope.startswith("["):
        host, _, tail = scope[1:].partition("]")
        return host, tail[1:] if tail.startswith(":") else None
    if scope.count(":") != 1:
        return scope, None
    host, _, port = scope.partition(":")
    return host, port or None


def _path_covers(grant: str, request: str) -> bool:
    if grant == "*":
        return True
    if request == "*":
        return False  # the whole disk
    if FOLDING:
        grant, request = grant.casefold(), request.casefold()
    if grant == request:
        return True
    if is_absolute(grant) != is_absolute(request) or _leading_ups(grant) != _leading_ups(request):
        return False
    return glob(request, "*" if grant == "./*" else grant)


def _db_covers(grant: str, request: str) -> bool:
    if grant == "*":
        return True
    if ("://" in grant) != ("://" in request):
        return False
    if "://" not in grant:
        return _path_covers(grant, request)
    if grant == request:
        return True
    # Here `*` also matches `/`, so the host must be compared separately: a host pattern must not match inside a database name.
    scheme, _, place = grant.partition("://")
    wanted_scheme, _, wanted_place = request.partition("://")
    authority, slash, database = place.partition("/")
    wanted_authority, wanted_slash, wanted_database = wanted_place.partition("/")
    host, port = _split_port(authority)
    wanted_host, wanted_port = _split_port(wanted_authority)
    if not glob(wanted_scheme, scheme) or not glob(wanted_host, host):
        return False
    if port is None or wanted_port is None:  # the default one of the scheme
        default = str(DATABASE_PORTS.get(wanted_scheme, ""))
        port, wanted_port = default if port is None else port, default if wanted_port is None else wanted_port
    if not glob(wanted_port, port):
        return False
    return glob(wanted_database, database) and bool(wanted_slash) if slash else not wanted_slash or host.endswith("*")


def is_absolute(path: str) -> bool:
    return path.startswith("/") or (sys.platform == "win32" and path[1:2] == ":")


def _leading_ups(path: str) -> int:
    count = 0
    for segment in path.split("/"):
        if segment != "..":
            break
        count += 1
    return count


# ---- symbolic links ----------------------------------------------------------------------------------------------------


def real_path(path: str) -> str:
    """The real path on this file system. A path that does not exist yet is resolved from its nearest existing parent folder.

    Raises ``RuntimeFault`` when it cannot be resolved.
    """
    from os.path import realpath

    for _ in range(_LOOKS):
        try:
            return realpath(path)
        except OSError as error:
            # It was a symbolic link a moment ago and no longer is one: somebody is replacing files.
            reason = error.strerror
    raise RuntimeFault(f"Cannot resolve {path}: {reason}", kind="file")


def fixed_prefix(scope: str) -> str | None:
    """The part of a file scope before its first segment with ``*`` or ``?``; ``None`` for a scope that covers the whole file
    system.
    """
    if scope == "*":
        return None
    segments = scope.split("/")
    for at, segment in enumerate(segments):
        if "*" in segment or "?" in segment:
            return "/".join(segments[:at]) or ("/" if scope.startswith("/") else ".")
    return scope


def is_inside(path: str, folder: str) -> bool:
    """Whether a real path is that folder (or file) or is below it."""
    if FOLDING:
        path, folder = path.casefold(), folder.casefold()
    if sys.platform == "win32":
        path, folder = path.replace("\\", "/"), folder.replace("\\", "/")
    return path == folder or path.startswith(folder.rstrip("/") + "/")
