"""The format of the cases: programs that carry what they must print in comments.

``conformance/<area>/<case>.lang`` is a case; deeper files are what cases load. An expectation stands on the line where it
arises, or on comment lines of its own after it; all of them, read down the file, are the whole output in order::

    print(1 + 2)            -- expect: 3
    f()                     -- expect: one  -- expect: two
    let x be nope           -- expect runtime error at 10: Undefined variable: 'nope'

``-- expect [KIND] [in FILE] [PLACE] [like]: TEXT``, where

- KIND is nothing (a line of output), ``log`` (a ``[LOG]`` line), ``stderr`` (``eprint``, warnings), or the error that ends the
  program: ``lexer error``, ``parse error``, ``runtime error``;
- PLACE belongs to errors: nothing (this line, any column), ``at 10`` (this line, that column), ``at 3:10``, ``at line 3``, or
  ``without place`` (the text has none); ``in FILE`` when it is another file than the program;
- after ``like`` every ``…`` in TEXT stands for any text; without it TEXT is exact, except that blanks at its end do not count.

A sibling ``<case>.expected`` holds the output where comments cannot (blanks at line ends). The first comment lines may be
directives::

    -- mode: test | handle             run the test blocks; answer the requests below
    -- flags: --sandbox                of the command line (--sandbox, --cap-set LIST)
    -- env: KEY=VALUE                  one a line
    -- files: FOLDER                   its content lies beside the program
    -- stdin: TEXT                     one line of standard input
    -- request: GET /path              mode handle: the lines that the handler prints, then "STATUS BODY"
    -- header: Name: value             of the request above; one a line
    -- body: TEXT                      of the request above
    -- replies: full                   each reply as "STATUS CONTENT-TYPE", its header lines, its body on lines of their own
    -- limits: steps=1000              of an embedding host
    -- exit code: 3                    when it does not follow from the expectations
    -- only BUILD[, BUILD]: why        or -- except BUILD[, BUILD]: why (embedded, native, wasip1, web)
    -- needs CAPABILITY: why           not in this version; it is an error when the case passes nevertheless
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent

ERRORS = {"lexer error": "Lexer error", "parse error": "Parse error", "runtime error": "Runtime error"}

_MARK = re.compile(r"(?:^|(?<=\s))-- expect\b")
_EXPECT = re.compile(
    r"(?: (?P<kind>log|stderr|lexer error|parse error|runtime error))?"
    r"(?: in (?P<file>\S+))?"
    r"(?: at (?:line (?P<whole_line>\d+)|(?:(?P<line>\d+):)?(?P<column>\d+))| (?P<unplaced>without place))?"
    r"(?P<like> like)?:(?: (?P<text>.*))?"
)
_DIRECTIVE = re.compile(
    r"-- (?P<name>mode|flags|env|files|stdin|request|header|body|replies|limits|exit code|"
    r"(?:only|except|needs) (?P<whom>[\w, .-]+)):"
    r"(?: (?P<value>.*))?"
)


class BadCase(Exception):
    """The case itself is wrong: an expectation or a directive that cannot be read."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """One expected line: of output, of the error stream, or the error that ends the program."""

    kind: str
    text: str
    like: bool
    written_at: int
    file: str | None
    line: int | None
    column: int | None
    placed: bool

    def matches(self, text: str) -> bool:
        """Whether ``text`` is this line (for errors: the message without category and place)."""
        if not self.like:
            return text.rstrip(" \t") == self.text
        pattern = ".*".join(re.escape(piece) for piece in self.text.split("…"))
        return re.fullmatch(pattern, text, re.DOTALL) is not None


@dataclass(slots=True)
class CaseRequest:
    """One HTTP request of a case."""

    method: str
    target: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A program, how to run it and what must come out."""

    path: Path
    data: bytes
    expectations: tuple[Expectation, ...]
    expected_text: str | None
    mode: str = "run"
    flags: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    stdin: str | None = None
    requests: tuple[CaseRequest, ...] = ()
    full_replies: bool = False
    limits: dict[str, int] = field(default_factory=dict)
    exit_code: int | None = None
    only: dict[str, str] = field(default_factory=dict)
    excepted: dict[str, str] = field(default_factory=dict)
    needs: str | None = None

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def error(self) -> Expectation | None:
        return next((e for e in self.expectations if e.kind in ERRORS), None)

    @property
    def expected_exit(self) -> int:
        """The exit code: the directive, else 1 after an error or a failing test, else 0."""
        if self.exit_code is not None:
            return self.exit_code
        failing = self.mode == "test" and any(e.kind == "output" and e.text.startswith("✗ ") for e in self.expectations)
        return 1 if self.error or failing else 0

    def excluded(self, build: str) -> str | None:
        """Why the case does not run in that build, or ``None``."""
        if build in self.excepted:
            return self.excepted[build]
        if build == "wasip1" and self.mode == "handle":
            return "a command does not answer requests, and there are no sockets to serve on"
        if self.only and build not in self.only:
            return next(iter(self.only.values()))
        return None


def find(paths: list[Path] | None = None) -> list[Path]:
    """The case files under ``paths`` (files, areas or the whole folder), sorted."""
    found: set[Path] = set()
    for path in [p.resolve() for p in paths or [ROOT]]:
        if path.is_file():
            found.add(path)
        elif path == ROOT:
            found.update(ROOT.glob("*/*.lang"))
        else:
            found.update(path.glob("*.lang"))
    return sorted(found)


def load(path: Path) -> Case:
    """Reads one case; raises :class:`BadCase` when it expects nothing or something unreadable."""
    data = path.read_bytes()
    lines = re.split(r"\r\n|\r|\n", data.decode("utf-8", errors="replace").removeprefix("\ufeff"))
    expectations = tuple(_expectations(lines, path))
    beside = path.with_suffix(".expected")
    case = Case(
        path=path,
        data=data,
        expectations=expectations,
        expected_text=beside.read_bytes().decode("utf-8") if beside.exists() else None,
        **_directives(lines, path),
    )
    if not expectations and case.expected_text is None and case.exit_code is None:
        raise BadCase(f"{path}: expects nothing")
    if sum(e.kind in ERRORS for e in expectations) > 1:
        raise BadCase(f"{path}: a program ends with one error at most")
    if case.expected_text is not None and any(e.kind == "output" for e in expectations):
        raise BadCase(f"{path}: output is expected both in comments and in {beside.name}")
    return case


def _expectations(lines: list[str], path: Path) -> Iterator[Expectation]:
    for number, line in enumerate(lines, 1):
        for piece in _MARK.split(line)[1:]:
            found = _EXPECT.fullmatch(piece.rstrip(" \t"))
            if not found:
                raise BadCase(f"{path}:{number}: unreadable expectation: -- expect{piece}")
            kind = found["kind"] or "output"
            here = found["line"] or found["whole_line"]
            if kind not in ERRORS and (here or found["column"] or found["unplaced"] or found["file"]):
                raise BadCase(f"{path}:{number}: only errors have a place")
            yield Expectation(
                kind=kind,
                text=("[LOG] " if kind == "log" else "") + (found["text"] or ""),
                like=bool(found["like"]),
                written_at=number,
                file=found["file"],
                line=int(here) if here else number,
                column=int(found["column"]) if found["column"] else None,
                placed=not found["unplaced"],
            )


def _directives(lines: list[str], path: Path) -> dict[str, Any]:
    got: dict[str, Any] = {}
    env: dict[str, str] = {}
    files: dict[str, bytes] = {}
    stdin: list[str] = []
    requests: list[CaseRequest] = []
    for line in lines:
        if not line.startswith("--"):
            break
        found = _DIRECTIVE.fullmatch(line.rstrip())
        if not found:
            continue
        name, value = found["name"], found["value"] or ""
        if name == "mode":
            if value not in ("test", "handle"):
                raise BadCase(f"{path}: unknown mode {value!r}")
            got["mode"] = value
        elif name == "flags":
            got["flags"] = tuple(value.split())
        elif name == "env":
            key, _, setting = value.partition("=")
            env[key] = setting
        elif name == "files":
            folder = path.parent / value
            if not folder.is_dir():
                raise BadCase(f"{path}: no folder {value!r}")
            files.update({f.relative_to(folder).as_posix(): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()})
        elif name == "stdin":
            stdin.append(value)
        elif name == "request":
            method, _, target = value.partition(" ")
            requests.append(CaseRequest(method, target))
        elif name in ("header", "body"):
            if not requests:
                raise BadCase(f"{path}: a {name} without a request")
            if name == "body":
                requests[-1].body = value
            else:
                field_name, _, field_value = value.partition(":")
                requests[-1].headers.append((field_name, field_value.strip()))
        elif name == "replies":
            if value != "full":
                raise BadCase(f"{path}: unknown form of replies {value!r}")
            got["full_replies"] = True
        elif name == "limits":
            got["limits"] = {key: int(number) for key, _, number in (item.partition("=") for item in value.split(","))}
        elif name == "exit code":
            got["exit_code"] = int(value)
        elif not value:
            raise BadCase(f"{path}: a reason is missing after {name!r}")
        elif name.startswith("needs"):
            got["needs"] = f"{found['whom']}: {value}"
        else:
            key = "only" if name.startswith("only") else "excepted"
            got[key] = {profile.strip(): value for profile in found["whom"].split(",")}
    for key, content in (("env", env), ("files", files), ("requests", tuple(requests))):
        if content:
            got[key] = content
    if stdin:
        got["stdin"] = "".join(text + "\n" for text in stdin)
    return got
