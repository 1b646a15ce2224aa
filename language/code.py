"""A compiled program: immutable, shared between threads and runs, stored on disk as marshalled bytes."""

from __future__ import annotations

import marshal
from _weakref import ref
from types import CodeType, FunctionType

from language.errors import FILE_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_loaded: list[ref[Code]] = []


class Code:
    """The compiler's result for one source.

    ``families`` maps each used builtin to the module of ``stdlib`` that declares it, ``constants`` likewise.
    ``context_builtins`` are bound to the context of each run. ``decimals`` are the decimal literals with their Python names.
    ``deprecated`` are the deprecated builtins that the source uses. ``filename`` is the name shown in errors; it is set when
    the code is loaded.
    """

    __slots__ = (
        "__weakref__",
        "_namespace",
        "constants",
        "context_builtins",
        "decimals",
        "deprecated",
        "families",
        "filename",
        "metered",
        "python",
        "refusal",
    )

    def __init__(
        self,
        python: CodeType,
        *,
        filename: str,
        families: dict[str, str],
        constants: dict[str, str],
        context_builtins: tuple[str, ...],
        decimals: tuple[tuple[str, str], ...],
        deprecated: tuple[str, ...],
        metered: bool,
        refusal: tuple[str, int, int, str] | None,
    ) -> None:
        self.python = python
        self.filename = filename
        self.families = families
        self.constants = constants
        self.context_builtins = context_builtins
        self.decimals = decimals
        self.deprecated = deprecated
        self.metered = metered
        #: an error that stops the program before its first statement: message, line, column
        self.refusal = refusal
        self._namespace: dict[str, Any] | None = None

    def dump(self) -> bytes:
        """The code as bytes for :meth:`load` on the same version of Python, without the file name."""
        return marshal.dumps(
            (
                self.python,
                self.families,
                self.constants,
                self.context_builtins,
                self.decimals,
                self.deprecated,
                self.metered,
                self.refusal,
            )
        )

    @classmethod
    def load(cls, data: bytes, filename: str) -> Code:
        """Reads what :meth:`dump` wrote. The bytes must be trusted, because they are code."""
        python, families, constants, context_builtins, decimals, deprecated, metered, refusal = marshal.loads(data)
        return cls(
            python,
            filename=filename,
            families=families,
            constants=constants,
            context_builtins=context_builtins,
            decimals=decimals,
            deprecated=deprecated,
            metered=metered,
            refusal=refusal,
        )

    def named(self, filename: str) -> Code:
        """The same code with another file name."""
        return Code(
            self.python,
            filename=filename,
            families=self.families,
            constants=self.constants,
            context_builtins=self.context_builtins,
            decimals=self.decimals,
            deprecated=self.deprecated,
            metered=self.metered,
            refusal=self.refusal,
        )

    def namespace(self) -> dict[str, Any]:
        """The Python globals of the compiled functions: made once, or for each run when metered."""
        if self._namespace is not None:
            return self._namespace
        from language import library
        from language.runtime.intrinsics import NAMES

        names: dict[str, Any] = dict(NAMES)
        names["__builtins__"] = {}
        names[FILE_MARK] = self.filename
        shared = set(self.families) - set(self.context_builtins)
        for name in shared:
            names[name + "·b"] = library().load_family(self.families[name]).builtins[name].function
        for name, family in self.constants.items():
            names[name + "·b"] = library().load_family(family).constants[name]
        if "sqrt" in self.families:
            from math import sqrt

            names["·sqrt"] = sqrt
        if self.decimals:
            from language.values.decimals import parse

            for text, name in self.decimals:
                names[name] = parse(text)
        exec(self.python, names)
        if not self.metered:
            self._namespace = names
        _remember(self)
        return names

    def main(self, names: dict[str, Any]) -> FunctionType:
        """The function that executes the program's top level, in a namespace made by :meth:`namespace`."""
        function: FunctionType = names["main"]
        return function

    def constructor(self, code_name: str) -> CodeType | None:
        """The Python code of a type or variant constructor, by its code name."""
        pending = [self.python]
        while pending:
            code = pending.pop()
            if code.co_name == code_name:
                return code
            pending.extend(constant for constant in code.co_consts if isinstance(constant, CodeType))
        return None


def _remember(code: Code) -> None:
    if any(known() is code for known in _loaded):
        return
    if len(_loaded) > 64:
        _loaded[:] = [known for known in _loaded if known() is not None]
    _loaded.append(ref(code))


def loaded_codes() -> Iterator[Code]:
    """The code objects that have run in this process and still exist."""
    return (code for known in list(_loaded) if (code := known()) is not None)
