"""What a program declares and never uses: variables, tasks, imported modules, ``require`` lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from language import library
from language.analysis.checker import Checked
from language.analysis.manifest import Problem
from language.analysis.meanings import FileMeanings, Meanings
from language.analysis.name_places import SourceText
from language.analysis.needs import SCOPELESS
from language.analysis.shown_texts import names_in_braces
from language.capabilities import IMPLICIT, INERT_NAMES, NAMES, canonical_name
from language.capabilities.require_lines import is_literal, scope_text
from language.compiler.name_lookup import READING_GLOBALS
from language.compiler.resolution import Variable
from language.errors import LexerError, ParseError
from language.hints import did_you_mean
from language.registry import Builtin
from language.syntax import nodes
from language.syntax.walk import descend, holding, leaves

#: What a module may consist of without doing anything when it is loaded.
_DEFINITIONS = (nodes.Task, nodes.TypeDef, nodes.EnumDef, nodes.RouteGroup, nodes.Let, nodes.Use, nodes.Test, nodes.Intent)
#: What asks for a capability without a builtin's name.
_ASKING: dict[type, str] = {
    nodes.Serve: "serve",
    nodes.Proxy: "net",
    nodes.Reason: "llm",
    nodes.Decide: "llm",
    nodes.Analyze: "llm",
    nodes.Generate: "llm",
    nodes.Judge: "llm",
    nodes.Gate: "stdin",
}
#: What builtins may ask for beside the capability of their declaration. A secret that is given to a command, to a database or
#: to a file is revealed.
_REVEALING = frozenset(("exec", "db", "file.write"))
_OF_PROCESSES = {"env", "secret", "file.read"}
_BESIDE = {
    "render": {"file.read"},
    "aes_gcm_encrypt": {"reveal"},
    "zip_extract": {"file.write"},
    "tar_extract": {"file.write"},
    "mcp_connect": {"exec", *_OF_PROCESSES},
}
#: Capabilities that no builtin of this version asks for, or that more than builtins ask for.
_UNFOLLOWED = frozenset((*IMPLICIT, *INERT_NAMES, "wallet", "spend", "sandbox_run", "stdin"))


def unused_of(checked: Checked, meanings: Meanings) -> Iterator[Problem]:
    """Warnings about what nothing uses. A name that begins with ``_`` is left out, and so are whatever could be found by name
    while the program runs, and what a name that stands for nothing was likely to mean. There are none while a statement could
    not be read: it may use what nothing else does."""
    if checked.entry is None or any(unit.unread for unit in checked.units.values()):
        return
    if any(isinstance(error, (LexerError, ParseError)) for error in checked.errors):
        return
    for file in meanings.files.values():
        if any(file.module(node) is None for node in file.index.of(nodes.Use)):
            return  # a module that could not be read may use everything
    read_by_modules = {
        node.id
        for key, file in meanings.files.items()
        if key
        for node in file.index.of(nodes.Name)
        if (ref := file.ref(node)) is not None and ref.outside == "entry"
    }
    for key, file in meanings.files.items():
        yield from _Unused(file, frozenset() if key else frozenset(read_by_modules), meanings).found()
    yield from _requires(meanings)


#: The most undefined names that an unused name is compared with: comparing takes time in the product of the two counts.
MOST_UNDEFINED = 20


class _Unused:
    """Looks through one file."""

    def __init__(self, file: FileMeanings, read_by_modules: frozenset[str], meanings: Meanings) -> None:
        self._file = file
        self._meanings = meanings
        self._text = SourceText(file.unit.file, file.unit.source)
        self._read_by_modules = read_by_modules
        #: texts and names through which something could be found while the program runs
        texts = {node.value for node in file.index.of(nodes.Text)}
        self._words = texts.union(*(names_in_braces(text) for text in texts if "{" in text))
        self._read: set[int] = set()
        self._undefined: set[str] = set()
        self._by_name = False

    def found(self) -> Iterator[Problem]:
        roots = self._written_only()
        refs = self._file.resolution.refs
        builtins_read = set()
        for node in self._file.index.of(nodes.Name, nodes.Spawn, nodes.Judge):
            if isinstance(node, nodes.Name) and id(node) not in roots:
                ref = refs.get(id(node))
                if ref is None:
                    self._words.add(node.id)  # in a construct that the compiler does not look at
                    continue
                self._read.update(id(variable) for variable in ref.variables)
                if self._file.is_undefined(node.id, ref):
                    self._undefined.add(node.id)
                if ref.outside == "builtin" and not ref.variables:
                    builtins_read.add(node.id)
            elif isinstance(node, (nodes.Spawn, nodes.Judge)):
                self._words.update(inner.id for inner in descend(node) if isinstance(inner, nodes.Name))
        self._by_name = READING_GLOBALS in builtins_read
        results: set[int] | None = None
        bound = self._file.resolution.bound
        seen: set[int] = set()
        for node in self._file.index.of(nodes.Let, nodes.Task, nodes.Use):
            match node:
                case nodes.Let(name=name, exported=False) | nodes.Task(name=name, exported=False):
                    variable = bound.get((id(node), name))
                case nodes.Use(alias=name):
                    variable = bound.get((id(node), name))
                case _:
                    continue
            if variable is None or id(variable) in seen or not self._is_unused(variable):
                continue
            if results is None:
                results = self._results()
            if id(node) in results:
                continue
            seen.add(id(variable))
            if name in self._undefined or (len(self._undefined) <= MOST_UNDEFINED and did_you_mean(name, self._undefined)):
                continue
            yield from self._problem(node, name)

    def _problem(self, node: Any, name: str) -> Iterator[Problem]:
        if isinstance(node, nodes.Use):
            module = self._file.module(node)
            if module is not None and all(isinstance(s, _DEFINITIONS) for s in module.unit.program.statements):
                at = self._text.alias(node)
                message = f"nothing uses the module '{name}'"
                yield self._told(at.line, at.column, name, message, "W0103", "Remove the `use` line.")
            return
        place = self._text.defined(node)
        if place is None:
            return
        if isinstance(node, nodes.Task):
            message, code = f"nothing calls the task '{name}'", "W0102"
            told = f"Remove it, call it, or write `export task {name}` here if another file calls it."
        else:
            message, code = f"nothing reads the variable '{name}'", "W0101"
            told = f"Remove it, or rename it `_{name}` if it is kept on purpose."
        yield self._told(place.line, place.column, name, message, code, told)

    def _told(self, line: int, column: int, name: str, message: str, code: str, told: str) -> Problem:
        return Problem(self._file.unit.file, line, column, message, "warning", code, line, column + len(name), told)

    def _is_unused(self, variable: Variable) -> bool:
        name = variable.name
        if id(variable) in self._read or name.startswith("_") or name in self._words:
            return False
        if variable.scope.parent is not None:
            return True
        # `render` reads the globals of the entry file, and so do its modules
        return not self._by_name and name not in self._read_by_modules and name not in self._meanings.set_elsewhere

    def _written_only(self) -> set[int]:
        """Names that ``set`` writes into, not reads."""
        found: set[int] = set()
        for node in self._file.index.of(nodes.Set):
            target = node.target
            while isinstance(target, (nodes.Field, nodes.Index, nodes.Of)):
                target = target.obj
            found.add(id(target))
        return found

    def _results(self) -> set[int]:
        """The last statement of each block inside of tasks, lambdas and loops: its value may be the result."""
        found: set[int] = set()
        without = leaves()
        for node in self._file.unit.all_nodes:
            if node.__class__ in without or node.__class__ is nodes.Program:
                continue
            for name in holding(node.__class__):
                block = getattr(node, name)
                if isinstance(block, tuple) and block:
                    blocks = [block, *(part[1] for part in block if isinstance(part, tuple) and len(part) == 2)]
                    for one in blocks:
                        if isinstance(one, tuple) and one and isinstance(one[-1], nodes.Stmt):
                            found.add(id(one[-1]))
        return found


def _requires(meanings: Meanings) -> Iterator[Problem]:
    """Lines at the top of the entry file that declare what no operation in any file of the program could ask for."""
    entry = meanings.files.get("")
    if entry is None:
        return
    lines = [s for s in entry.unit.program.statements if isinstance(s, nodes.Require)]
    if not lines:
        return
    asked = _asked(meanings)
    for line in lines:
        name = canonical_name(line.capability)
        if name not in NAMES or (line.scope is not None and not is_literal(line.scope)):
            continue  # an error of the line itself is told
        if name in _UNFOLLOWED or name in asked or (name == "file" and asked & {"file.read", "file.write"}):
            continue
        if name in ("file.read", "file.write") and "file" in asked:
            continue
        scope = scope_text(line.scope)
        if name in SCOPELESS and scope is not None:
            continue  # it grants nothing, which is reported already
        shown = line.capability if scope is None else f'{line.capability}("{scope}")'
        message = f"nothing in the program needs `require {shown}`"
        yield Problem(entry.unit.file, *line.span[:2], message, "warning", "W0104", *line.span[2:], "Remove the line.")


def _of_builtin(builtin: Builtin) -> set[str]:
    """What a call of a builtin may ask for: its capability, and what it needs beside that for some arguments."""
    found = set() if builtin.capability is None else {builtin.capability}
    if builtin.capability in _REVEALING:
        found.add("reveal")
    return found | _BESIDE.get(builtin.name, set()) | (_OF_PROCESSES if builtin.capability == "exec" else set())


def _asked(meanings: Meanings) -> set[str]:
    """The names of the capabilities that something in the program may ask for: perhaps too many, never too few."""
    builtins = library().all_builtins()
    asked: set[str] = set()
    for file in meanings.files.values():
        for node in file.unit.all_nodes:
            if isinstance(node, nodes.Name) and node.id in builtins:
                builtin = builtins[node.id]
                asked |= _of_builtin(builtin)
            elif type(node) in _ASKING:
                asked.add(_ASKING[type(node)])
            elif isinstance(node, (nodes.Clause, nodes.Sandbox)):
                asked |= {"net", "file.read", "env", "secret", "db", "serve"}
            elif isinstance(node, nodes.Task):
                asked |= {canonical_name(s.capability) for s in node.body if isinstance(s, nodes.Require)}
    return asked
