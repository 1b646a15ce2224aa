"""A tree written as source, with the brackets that precedence asks for: to be read back and compared."""

from __future__ import annotations

import json
import math
import sys
import threading
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from language.syntax import nodes
from language.syntax.nodes import Expr, Pattern, Stmt
from language.syntax.tokens import WORD_TYPES

# How tightly the parts of an expression bind; what is looser than asked for gets brackets.
WHOLE, OR_TEST, AND_TEST, NOT_TEST, COMPARISON, SUM, PRODUCT, UNARY, POWER, POSTFIX, PRIMARY = range(11)


def shape(part: Any) -> Any:
    """A tree as nested tuples, without the places of its nodes."""
    if is_dataclass(part) and not isinstance(part, type):
        inside = (shape(getattr(part, f.name)) for f in fields(part) if f.name not in ("span", "at"))
        return (type(part).__name__, *inside)
    if isinstance(part, tuple):
        return tuple(shape(item) for item in part)
    return repr(part) if isinstance(part, float) else part


def flat(part: Any) -> list[Any]:
    """The same in one list, for trees too deep to be compared as tuples."""
    found: list[Any] = []
    waiting = [part]
    while waiting:
        part = waiting.pop()
        if is_dataclass(part) and not isinstance(part, type):
            names = [f.name for f in fields(part) if f.name not in ("span", "at")]
            found.append((type(part).__name__, len(names)))
            waiting.extend([getattr(part, name) for name in names])
        elif isinstance(part, tuple):
            found.append(len(part))
            waiting.extend(part)
        else:
            found.append(repr(part))
    return found


def with_room(work: Callable[[], Any]) -> Any:
    """The result of ``work``, which walks a deep tree by recursion (in Python frames alone), on a large stack."""
    found: list[Any] = []
    limit, size = sys.getrecursionlimit(), threading.stack_size(256 << 20)
    sys.setrecursionlimit(60_000)
    try:
        thread = threading.Thread(target=lambda: found.append(work()))
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    return found[0]


def source_of(program: nodes.Program) -> str:
    return "".join(_statement(statement, 0) for statement in program.statements)


# ---- expressions -------------------------------------------------------------------------------------------------------


def text_literal(value: str) -> str:
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in value) + '"'


def expression(node: Expr, level: int = WHOLE) -> str:
    text, own = _expression(node)
    return text if own >= level else f"({text})"


def _chain(first: Expr, links: tuple[nodes.Link, ...], level: int) -> str:
    return expression(first, level) + "".join([f" {link.op} {expression(link.operand, level)}" for link in links])


def _expression(node: Expr) -> tuple[str, int]:
    match node:
        case nodes.Number(value=int(value)):
            return str(value), PRIMARY
        case nodes.Number(value=value):
            return ("1e999" if math.isinf(value) else repr(value)), PRIMARY
        case nodes.Decimal(text=text):
            return text + "d", PRIMARY
        case nodes.Text(value=value):
            return text_literal(value), PRIMARY
        case nodes.Template(raw=raw):
            return f"`{raw}`", PRIMARY
        case nodes.Bool(value=value):
            return ("true" if value else "false"), PRIMARY
        case nodes.Nothing():
            return "nothing", PRIMARY
        case nodes.Name(id=name):
            return name, PRIMARY
        case nodes.ListLit(items=items):
            return f"[{', '.join([expression(item) for item in items])}]", PRIMARY
        case nodes.MapLit(entries=entries):
            return "{" + ", ".join([f"{expression(k)}: {expression(v)}" for k, v in entries]) + "}", PRIMARY
        case nodes.Arith(first=first, links=links):
            level = SUM if links[0].op in "+-" else PRODUCT
            return _chain(first, links, level + 1), level
        case nodes.Compare(first=first, links=links):
            return _chain(first, links, SUM), COMPARISON
        case nodes.Power(base=base, exponent=exponent):
            return f"{expression(base, POSTFIX)} ** {expression(exponent, UNARY)}", POWER
        case nodes.BoolOp(op=op, operands=operands):
            level = OR_TEST if op == "or" else AND_TEST
            return f" {op} ".join([expression(operand, level + 1) for operand in operands]), level
        case nodes.Not(operand=operand):
            return f"not {expression(operand, NOT_TEST)}", NOT_TEST
        case nodes.Negate(operand=operand):
            return f"- {expression(operand, UNARY)}", UNARY
        case nodes.Pipe(first=first, steps=steps):
            return " |> ".join([expression(step, OR_TEST) for step in (first, *steps)]), WHOLE
        case nodes.Call(func=func, args=args):
            inside = ", ".join([(f"{arg.name} = " if arg.name else "") + expression(arg.value) for arg in args])
            return f"{expression(func, PRIMARY)}({inside})", PRIMARY
        case nodes.Field(obj=obj, name=name):
            return f"{expression(obj, PRIMARY)}.{name}", PRIMARY
        case nodes.Index(obj=obj, index=index):
            return f"{expression(obj, PRIMARY)}[{expression(index)}]", PRIMARY
        case nodes.Of(name=name, obj=obj):
            return f"{name} of {expression(obj, POSTFIX)}", POSTFIX
    return _open_ended(node), WHOLE


def _branch(node: Expr) -> str:
    """An operand that runs to the end of its expression would also take what follows: it gets brackets."""
    text, level = _expression(node)
    return f"({text})" if level == WHOLE and not isinstance(node, nodes.Pipe) else text


def _optional(word: str, value: Expr | None) -> str:
    return f" {word} {_branch(value)}" if value is not None else ""


def _named(name: str | None, value: Expr | None) -> str:
    return f" with {name} = {_branch(value)}" if value is not None else ""


def _open_ended(node: Expr) -> str:
    match node:
        case nodes.Lambda(params=params, body=body):
            return f"({', '.join(params)}) => {expression(body)}"
        case nodes.WhenExpr(arms=arms, otherwise=otherwise):
            text = " otherwise ".join(f"when {_branch(test)} then {_branch(value)}" for test, value in arms)
            return text + _optional("otherwise", otherwise)
        case nodes.SandboxExpr(body=body):
            return f"sandbox {expression(body)}"
        case nodes.Gate(kind=kind, message=message, options=options, within=within):
            duration = f" within {within.amount}{within.unit}" if within is not None else ""
            return f"{kind} {_operand(message)}{_optional('with', options)}{duration}"
        case nodes.Show(value=value, label=label):
            return f"show {_operand(value)}{_optional('as', label)}"
        case nodes.Reason(topic=topic, about=about, with_name=name, with_value=value):
            return f"reason{' about' if about else ''}{' ' + _branch(topic) if topic else ''}{_named(name, value)}"
        case nodes.Decide(options=options, given=given):
            return f"decide{_optional('between', options)}{_optional('given', given)}"
        case nodes.Analyze(subject=subject, purpose=purpose):
            return f"analyze {_branch(subject)}" + (f" for {text_literal(purpose)}" if purpose is not None else "")
        case nodes.Generate(what=what, given=given, with_name=name, with_value=value):
            return f"generate {text_literal(what)}{_optional('given', given)}{_named(name, value)}"
    raise AssertionError(f"not written yet: {type(node).__name__}")


def _key(key: str) -> str:
    return key if key.isidentifier() and key not in WORD_TYPES else text_literal(key)


def pattern(node: Pattern) -> str:
    match node:
        case nodes.AnyPattern():
            return "_"
        case nodes.BindPattern(name=name):
            return name
        case nodes.SpreadPattern(name=name):
            return "..." + (name or "")
        case nodes.ListPattern(items=items):
            return f"[{', '.join(map(pattern, items))}]"
        case nodes.MapPattern(fields=parts):
            shown = (k if p == nodes.BindPattern(p.span, k) else f"{_key(k)}: {pattern(p)}" for k, p in parts)
            return "{" + ", ".join(shown) + "}"
        case nodes.VariantPattern(value=value) | nodes.ValuePattern(value=value):
            return expression(value)
    raise AssertionError(f"not written yet: {type(node).__name__}")


# ---- statements --------------------------------------------------------------------------------------------------------


def _block(body: tuple[Stmt, ...], depth: int) -> str:
    return "".join(_statement(statement, depth + 1) for statement in body)


def _statement(node: Any, depth: int) -> str:
    """One statement with the end of its line and its blocks."""
    pad = "    " * depth
    if isinstance(node, (nodes.Let, nodes.LetParts, nodes.Set, nodes.Give)):
        return pad + _binding(node, depth)
    lines = _with_block(node, depth)
    return pad + (lines if lines is not None else _simple(node) + "\n")


def _binding(node: nodes.Let | nodes.LetParts | nodes.Set | nodes.Give, depth: int) -> str:
    match node:
        case nodes.Let(name=name, exported=exported):
            head = f"{'export ' if exported else ''}let {name} be"
        case nodes.LetParts(pattern=parts, exported=exported):
            head = f"{'export ' if exported else ''}let {pattern(parts)} be"
        case nodes.Set(target=target):
            head = f"set {expression(target)} to"
        case _:
            head = "give"
    if node.value is None:
        return head + "\n"
    if isinstance(node.value, nodes.BlockValue):
        return f"{head} {_statement(node.value.stmt, depth).lstrip(' ')}"
    block = _reason_block(node.value, depth)
    return f"{head} {expression(node.value)}\n{block}"


def _reason_block(value: Expr, depth: int) -> str:
    return _block(value.block, depth) if isinstance(value, nodes.Reason) and value.block is not None else ""


def _with_block(node: Any, depth: int) -> str | None:
    pad = "    " * depth
    inner = "    " * (depth + 1)
    export = "export " if getattr(node, "exported", False) else ""
    match node:
        case nodes.ExprStmt(value=nodes.Judge(subject=subject, questions=questions)):
            return f"judge {expression(subject)}\n" + "".join(f"{inner}{_question(question)}\n" for question in questions)
        case nodes.ExprStmt(value=nodes.Reason(block=block) as value) if block is not None:
            return f"{expression(value)}\n{_block(block, depth)}"
        case nodes.Task(name=name, params=params, body=body):
            listed = ", ".join(p.name + (f" = {expression(p.default)}" if p.default is not None else "") for p in params)
            return f"{export}task {name}({listed})\n{_block(body, depth)}"
        case nodes.TypeDef(name=name, fields=parts):
            return f"{export}type {name}\n" + "".join(f"{inner}{field}: {kind}\n" for field, kind in parts)
        case nodes.EnumDef(name=name, variants=variants):
            lines = (f"{inner}{v}{'' if payload is None else '(' + ', '.join(payload) + ')'}\n" for v, payload in variants)
            return f"{export}enum {name}\n" + "".join(lines)
        case nodes.When(arms=arms, otherwise=otherwise):
            text = f"{pad}otherwise ".join(f"when {expression(test)}\n{_block(body, depth)}" for test, body in arms)
            return text + (f"{pad}otherwise\n{_block(otherwise, depth)}" if otherwise is not None else "")
        case nodes.Each(name=name, iterable=iterable, body=body):
            return f"each {name} in {expression(iterable)}\n{_block(body, depth)}"
        case nodes.While(condition=condition, body=body):
            return f"while {expression(condition)}\n{_block(body, depth)}"
        case nodes.Match(subject=subject, arms=arms, otherwise=otherwise):
            text = f"match {expression(subject)}\n"
            for arm in arms:
                guard = f" when {expression(arm.guard)}" if arm.guard is not None else ""
                text += f"{inner}is {pattern(arm.pattern)}{guard}\n{_block(arm.body, depth + 1)}"
            return text + (f"{inner}otherwise\n{_block(otherwise, depth + 1)}" if otherwise is not None else "")
        case nodes.Try(body=body, name=name, handler=handler):
            return f"try\n{_block(body, depth)}{pad}recover {name}\n{_block(handler, depth)}"
        case nodes.Sandbox(under=under, body=body):
            return f"sandbox{_optional('under', under)}\n{_block(body, depth)}"
        case nodes.Trace(kind=kind, label=label, body=body):
            return f"{kind} {text_literal(label)}\n{_block(body, depth)}"
        case nodes.Test(name=name, body=body):
            return f"test {text_literal(name)}\n{_block(body, depth)}"
        case nodes.Agent(name=name, body=body):
            return f"agent {name}\n{_block(body, depth)}"
        case nodes.Stream(body=body):
            return f"stream\n{_block(body, depth)}"
        case nodes.Socket(body=body):
            return f"socket\n{_block(body, depth)}"
        case nodes.Serve(port=port, clauses=clauses):
            return f"serve on {expression(port)}\n" + "".join(_clause(clause, depth + 1) for clause in clauses)
        case nodes.RouteGroup(name=name, routes=routes):
            return f"export routes {name}\n" + "".join(_clause(route, depth + 1) for route in routes)
    return None


def _question(node: nodes.Question) -> str:
    among = (
        "" if node.among is None else f" {'between' if node.kind == 'choose' else 'across'} {expression(node.among, POSTFIX)}"
    )
    return f"{node.name}: {node.kind} {_branch(node.subject)}{among}{' or nothing' if node.or_nothing else ''}"


def _simple(node: Any) -> str:
    match node:
        case nodes.ExprStmt(value=value):
            return expression(value)
        case nodes.Stop(value=value):
            return "stop" + (f" {expression(value)}" if value is not None else "")
        case nodes.Raise(value=value):
            return f"raise {_unlike_name(value)}"
        case nodes.Require(capability=capability, scope=scope):
            return f"require {capability}" + (f"({expression(scope)})" if scope is not None else "")
        case nodes.Invariant(text=text, condition=condition):
            return f"invariant{'' if text is None else ' ' + text_literal(text)}: {expression(condition)}"
        case nodes.Intent(text=text):
            return f"intent: {json.dumps(text)}"
        case nodes.Use(path=path, alias=alias):
            return f"use {text_literal(path)} as {alias}"
        case nodes.Spawn(agent=agent, args=args):
            return f"spawn {agent}" + (" with " + ", ".join(f"{k} = {expression(v)}" for k, v in args) if args else "")
        case nodes.Share(value=value, name=name):
            return f"share {_unlike_name(value)} as {expression(name)}"
        case nodes.Observe(name=name, alias=alias):
            return f"observe {_unlike_name(name)} as {alias}"
        case nodes.Signal(name=name, payload=payload):
            return f"signal {_unlike_name(name)}{_optional('with', payload)}"
        case nodes.WaitFor(name=name, timeout=timeout, alias=alias):
            return f"wait_for {_branch(name)}{_optional('timeout', timeout)}" + (f" as {alias}" if alias else "")
        case nodes.Log(value=value):
            return f"log {_unlike_name(value)}"
        case nodes.Checkpoint(value=value):
            return f"checkpoint {_unlike_name(value)}"
        case nodes.Expect(place=place, fields=parts):
            shown = [f"{name}: {'optional ' * optional}{kind}" for name, kind, optional in parts]
            return f"expect {place} {{{', '.join(shown)}}}"
        case nodes.Send(value=value, event=event):
            return f"send {_branch(value)}{_optional('as', event)}"
        case nodes.Proxy(target=target):
            return f"proxy to {expression(target)}"
    raise AssertionError(f"not written yet: {type(node).__name__}")


def _operand(value: Expr) -> str:
    """Of a gate or ``show``: a minus before a blank would make the word a name."""
    text = _branch(value)
    return f"({text})" if text.startswith("-") else text


def _unlike_name(value: Expr) -> str:
    """After a soft word `(`, `[` and `-` would make it a name: begin with something else (which is another tree)."""
    text = _branch(value)
    return f"nothing + {text}" if text.startswith(("(", "[", "-", "not in")) else text


# ---- serve -------------------------------------------------------------------------------------------------------------


def _clause(node: Any, depth: int) -> str:
    pad = "    " * depth
    match node:
        case nodes.Route(method=method, path=path, requires_auth=auth, rate_limit=rate, timeout=timeout, body=body):
            inside = "".join(_clause(limit, depth + 1) for limit in (rate, timeout) if limit is not None)
            spec = text_literal(f"{method} {path}")
            return f"{pad}route {spec}{' requires auth' if auth else ''}\n{inside}{_block(body, depth)}"
        case nodes.RateLimit(amount=amount, window=window):
            return pad + ("rate_limit none" if amount is None else f"rate_limit {expression(amount)} per {window}") + "\n"
        case nodes.RouteTimeout(seconds=seconds):
            return f"{pad}timeout {'none' if seconds is None else expression(seconds)}\n"
        case nodes.HostBlock(name=name, clauses=clauses):
            return f"{pad}host {expression(name)}\n" + "".join(_clause(clause, depth + 1) for clause in clauses)
        case nodes.Clause(kind="describe", operands=operands):
            lines = (f"{pad}    {word}: {expression(value)}\n" for word, value in operands)
            return f"{pad}describe\n" + "".join(lines)
        case nodes.Clause(kind=kind, operands=operands):
            return f"{pad}{_clause_line(kind, operands)}\n"
    raise AssertionError(f"not written yet: {type(node).__name__}")


def _clause_line(kind: str, operands: tuple[tuple[str, Expr], ...]) -> str:
    if kind == "static" and operands[0][0] == "from":
        operands = (("static", operands[0][1]), *operands[1:])
    words = {"docs": "docs off", "redirect": "redirect https"}
    text = words.get(kind, kind)
    for word, value in operands:
        if word == "auto" and isinstance(value, nodes.Nothing):
            text += " auto"
        elif word in (kind, "prefix"):
            text += f" {expression(value)}"
        else:
            text += f" {word} {expression(value)}"
    return text
