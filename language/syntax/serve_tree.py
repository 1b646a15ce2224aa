"""The builders of ``serve`` blocks: clauses, routes, limits."""

from __future__ import annotations

from typing import Any

from language.errors import ParseError
from language.syntax import nodes
from language.syntax.node_builders import Builder, protect, registrar, span
from language.syntax.nodes import Expr
from language.syntax.tokens import Token

BUILDERS: dict[str, Builder] = {}
builds = registrar(BUILDERS)


@builds("clause", "other_clause")
def _clause(c: list[Any], first: Token, last: Token) -> nodes.Clause:
    kind = first.value
    operands: list[tuple[str, Expr]] = []
    word = kind
    for part in c:
        if isinstance(part, Token):
            word = part.value
        elif part is not None:
            operands.append((word, part))
    if kind == "static":
        # `static DIR` is `static "/" from DIR`
        folder_only = len(operands) < 2 or operands[1][0] != "from"
        operands[0] = ("from" if folder_only else "prefix", operands[0][1])
    elif kind == "tls" and not operands:
        operands.append(("auto", nodes.Nothing(span(last, last))))
    return nodes.Clause(span(first, last), kind, tuple(operands))


@builds("describe")
def _describe(c: list[Any], first: Token, last: Token) -> nodes.Clause:
    return nodes.Clause(span(first, last), "describe", tuple((word.value, value) for word, value in zip(c[::2], c[1::2])))


@builds("rate_limit")
def _rate_limit(c: list[Any], first: Token, last: Token) -> nodes.RateLimit:
    return nodes.RateLimit(span(first, last), c[0], c[1].value)


@builds("rate_unlimited")
def _rate_unlimited(c: list[Any], first: Token, last: Token) -> nodes.RateLimit:
    return nodes.RateLimit(span(first, last), None, None)


@builds("route_timeout")
def _route_timeout(c: list[Any], first: Token, last: Token) -> nodes.RouteTimeout:
    return nodes.RouteTimeout(span(first, last), c[0])


@builds("route_timeout_none")
def _route_timeout_none(c: list[Any], first: Token, last: Token) -> nodes.RouteTimeout:
    return nodes.RouteTimeout(span(first, last), None)


@builds("route")
def _route(c: list[Any], first: Token, last: Token) -> nodes.Route:
    spec, auth, *parts = c
    method, _, path = spec.value.strip().partition(" ")
    method = method.upper()
    rate = timeout = None
    body = []
    for part in parts:
        if isinstance(part, nodes.RateLimit):
            rate = part
        elif isinstance(part, nodes.RouteTimeout):
            timeout = part
        else:
            body.append(part)
    sockets = [part for part in body if isinstance(part, nodes.Socket)]
    if sockets and method != "GET":
        raise _at(sockets[0], f"a socket works only in a GET route, this one is {method}")
    if sockets and any(isinstance(part, nodes.Stream) for part in body):
        raise _at(sockets[0], "a route has either a stream or a socket, not both")
    return nodes.Route(span(first, last), method, path.strip(), auth is not None, rate, timeout, tuple(body))


def _at(node: nodes.Node, message: str) -> ParseError:
    return ParseError(message, line=node.span[0], column=node.span[1], code="E0124")


@builds("host")
def _host(c: list[Any], first: Token, last: Token) -> nodes.HostBlock:
    name, *clauses = c
    _check_auth(clauses)
    return nodes.HostBlock(span(first, last), name, tuple(clauses))


@builds("serve")
def _serve(c: list[Any], first: Token, last: Token) -> nodes.Serve:
    port, *clauses = c
    _check_auth(clauses)
    return nodes.Serve(span(first, last), port, tuple(clauses))


def _check_auth(clauses: list[Any]) -> None:
    if any(isinstance(clause, nodes.Clause) and clause.kind == "auth" for clause in clauses):
        return
    for route in clauses:
        if isinstance(route, nodes.Route) and route.requires_auth:
            name = f"{route.method} {route.path}"
            raise _at(route, f"route \"{name}\" uses 'requires auth' but the 'serve' block declares no 'auth with <task>'")


@builds("routes")
def _routes(c: list[Any], first: Token, last: Token) -> nodes.RouteGroup:
    _, name, *routes = c
    protect(name)
    return nodes.RouteGroup(span(first, last), name.value, tuple(routes))


@builds("stream")
def _stream(c: list[Any], first: Token, last: Token) -> nodes.Stream | nodes.Socket:
    build = nodes.Stream if first.value == "stream" else nodes.Socket
    return build(span(first, last), c[0])


@builds("expect")
def _expect(c: list[Any], first: Token, last: Token) -> nodes.Expect:
    place, *fields = c
    return nodes.Expect(span(first, last), place.value, tuple(fields))


@builds("send")
def _send(c: list[Any], first: Token, last: Token) -> nodes.Send:
    return nodes.Send(span(first, last), c[0], c[1])


@builds("proxy")
def _proxy(c: list[Any], first: Token, last: Token) -> nodes.Proxy:
    return nodes.Proxy(span(first, last), c[0])
