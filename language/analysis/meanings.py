"""What a name surely means: the one definition that a variable can hold, in this file or in the module behind an alias.

Only what no other place can change counts: a variable that is bound once and that nothing sets. Everything else is unknown.
"""

from __future__ import annotations

from typing import Any

from language import library
from language.analysis.checker import Checked, CheckedFile
from language.analysis.resolutions import resolutions_of
from language.compiler.kinds import Kinds
from language.compiler.resolution import Ref, Resolution, Variable
from language.registry import Builtin
from language.syntax import nodes

#: What a name can surely mean: a definition, the expression that a ``let`` gives, or a builtin.
Meaning = nodes.Task | nodes.TypeDef | nodes.EnumDef | nodes.Use | nodes.Expr | Builtin


class Meanings:
    """The meanings in all files of a checked program."""

    def __init__(self, checked: Checked) -> None:
        self._resolutions = resolutions_of(checked)
        self.files = {key: FileMeanings(self, key, unit, self._resolutions[key]) for key, unit in checked.units.items()}
        #: words of statements that could not be read: nothing is sure of what they name
        self.unread = frozenset().union(*(unit.unread for unit in checked.units.values()))
        #: variables of the entry file and of modules that another file sets
        self.set_elsewhere: set[str] = set()
        for file in self.files.values():
            self.set_elsewhere |= file.sets_elsewhere()

    def entry_global(self, name: str) -> Variable | None:
        """The variable of the entry file that a name of a module means when nothing nearer has it."""
        entry = self._resolutions.get("")
        return None if entry is None else entry.top.names.get(name)


class FileMeanings:
    """The meanings of names in one file."""

    def __init__(self, all_files: Meanings, key: str, unit: CheckedFile, resolution: Resolution) -> None:
        self._all = all_files
        self.key = key
        self.unit = unit
        self.resolution = resolution
        self.index = unit.index
        self._definitions = self._defined()
        self._kinds: Kinds | None = None

    def _defined(self) -> dict[int, Any]:
        """By the ``id`` of a variable the last node that binds it."""
        found: dict[int, Any] = {}
        bound = self.resolution.bound
        for node in self.index.of(nodes.Let, nodes.Task, nodes.TypeDef, nodes.EnumDef, nodes.Use):
            match node:
                case nodes.Let(name=name) | nodes.Task(name=name) | nodes.TypeDef(name=name) | nodes.EnumDef(name=name):
                    variable = bound.get((id(node), name))
                case nodes.Use(alias=alias):
                    variable = bound.get((id(node), alias))
                case _:
                    continue
            if variable is not None:
                found[id(variable)] = node
        return found

    def sets_elsewhere(self) -> set[str]:
        """Names of variables that this file sets in another one: globals of the entry file, exports behind an alias."""
        found: set[str] = set()
        for node in self.index.of(nodes.Set):
            target = node.target
            while isinstance(target, (nodes.Field, nodes.Index, nodes.Of)):
                if isinstance(target, (nodes.Field, nodes.Of)):
                    found.add(target.name)
                target = target.obj
            ref = self.resolution.refs.get(id(target))
            if isinstance(target, nodes.Name) and ref is not None and ref.outside == "entry":
                found.add(target.id)
        return found

    def ref(self, name: nodes.Name) -> Ref | None:
        """How the compiler resolves a name; ``None`` where it does not look at it."""
        return self.resolution.refs.get(id(name))

    def is_undefined(self, name: str, ref: Ref) -> bool:
        """Whether no file of the program binds the name where it could be seen, and no builtin has it."""
        if ref.variables or name in self._all.unread:
            return False
        return ref.outside == "undefined" or (ref.outside == "entry" and self._all.entry_global(name) is None)

    def of(self, node: nodes.Expr) -> Meaning | None:
        """What an expression surely means; ``None`` when that is not known. A literal means itself."""
        for _ in range(8):  # `let a be b`, `let b be c`: followed so far
            match node:
                case nodes.Name():
                    found = self._name(node)
                case nodes.Field(obj=obj, name=name) | nodes.Of(obj=obj, name=name):
                    return self._member(self.of(obj), name)
                case _:
                    return node
            if not isinstance(found, nodes.Name):
                return found
            node = found
        return None

    def _name(self, node: nodes.Name) -> Meaning | None:
        ref = self.ref(node)
        if ref is None:
            return None
        if not ref.variables:
            return library().all_builtins().get(node.id) if ref.outside == "builtin" else None
        if len(ref.variables) > 1 or ref.outside not in ("none", "undefined"):
            return None
        return self.constant(ref.variables[0])

    def constant(self, variable: Variable) -> Meaning | None:
        """What a variable holds whenever it is bound."""
        if len(variable.values) != 1 or variable.is_param or variable.name in self._all.unread:
            return None
        if variable.scope.parent is None and variable.name in self._all.set_elsewhere:
            return None
        definition = self._definitions.get(id(variable))
        return definition.value if isinstance(definition, nodes.Let) else definition

    def _member(self, owner: Meaning | None, name: str) -> Meaning | None:
        if not isinstance(owner, nodes.Use):
            return None
        module = self.module(owner)
        variable = None if module is None else module.resolution.top.names.get(name)
        if module is None or variable is None:
            return None
        found = module.constant(variable)
        # an expression of another file means what it means there
        return found if isinstance(found, (nodes.Task, nodes.TypeDef, nodes.EnumDef, nodes.Lambda)) else None

    def module(self, use: nodes.Use) -> FileMeanings | None:
        """The file behind a ``use``; ``None`` where it could not be read."""
        real = self.unit.imports.get(use.alias)
        module = None if real is None else self._all.files.get(real)
        return module if module is not None and module.key else None

    def kind(self, node: nodes.Expr) -> str | None:
        """The kind of an expression's value, as ``language.compiler.kinds`` has it."""
        if self._kinds is None:
            several = len(self._all.files) > 1 or bool(self.key) or self.resolution.uses_modules
            self._kinds = Kinds(self.resolution, open_globals=several, builtins=library().all_builtins())
        return self._kinds.of(node)
