"""How a builtin is declared: one decorator gives its name, parameters, capability, profile and documentation.

A family (one module of ``stdlib``) holds its builtins in a :class:`Family`. Everything else is read off the declaration: arity
errors, named arguments, ``lang docs``, the manual, the refusal texts of the WebAssembly profile.

Nothing here imports anything heavy: the module lies on the way of every program's start.
"""

from __future__ import annotations

from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])


class _Mark:
    """A default that is no value of the language."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


#: The default of a slot whose ``nothing`` means something (``reduce``'s ``init``, the default of a total variant).
MISSING: Any = _Mark("MISSING")
#: The default of a parameter without one that stands behind parameters with one.
REQUIRED: Any = _Mark("REQUIRED")


class Builtin:
    """The declaration of one builtin.

    ``signature`` is as the manual shows it: ``slice(c, start?, end?)``, ``print(v...)``. ``named`` are the parameters that may
    also be given by name. ``too_few`` replaces the ordinary text when arguments are missing. ``context`` says that the
    function's first Python parameter is the running program's context. ``alias_of`` is set on deprecated names.
    """

    __slots__ = ("alias_of", "capability", "context", "family", "function", "name", "named", "profile", "signature", "too_few")

    def __init__(
        self,
        name: str,
        signature: str,
        family: str,
        function: Callable[..., Any],
        named: tuple[str, ...],
        capability: str | None,
        profile: str,
        context: bool,
        too_few: str | None,
        alias_of: str | None,
    ) -> None:
        self.name = name
        self.signature = signature
        self.family = family
        self.function = function
        self.named = named
        self.capability = capability
        self.profile = profile
        self.context = context
        self.too_few = too_few
        self.alias_of = alias_of

    @property
    def params(self) -> tuple[str, ...]:
        """Names of the positional parameters as the signature shows them, marks (``?``, ``...``) kept."""
        inside = self.signature[self.signature.index("(") + 1 : self.signature.rindex(")")]
        return tuple(
            part.strip().split(" = ")[0] + ("?" if " = " in part else "") for part in inside.split(",") if part.strip()
        )

    @property
    def required(self) -> int:
        """How many arguments a call must give."""
        return sum(1 for p in self.params if not p.endswith(("?", "...")))

    @property
    def most(self) -> int | None:
        """How many positional arguments a call may give; ``None`` when there is no bound."""
        params = self.params
        return None if params and params[-1].endswith("...") else len(params)

    @property
    def doc(self) -> str:
        """The text of the manual: the function's docstring, indentation removed."""
        lines = (self.function.__doc__ or "").strip().splitlines()
        return "\n".join(line.strip() for line in lines)


class Family:
    """The builtins of one module, in the order of their declaration; ``constants`` are plain values (``pi``)."""

    __slots__ = ("builtins", "constants", "name", "title")

    def __init__(self, name: str, title: str) -> None:
        self.name = name
        self.title = title
        self.builtins: dict[str, Builtin] = {}
        self.constants: dict[str, Any] = {}

    def builtin(
        self,
        signature: str,
        *,
        named: tuple[str, ...] = (),
        capability: str | None = None,
        profile: str = "everywhere",
        context: bool = False,
        too_few: str | None = None,
        aliases: tuple[str, ...] = (),
    ) -> Callable[[Function], Function]:
        """Declares the decorated plain function as the builtin of that signature.

        The function takes language values by position (the context first when ``context``), optional ones with a default of
        ``None`` (``nothing`` equals omitted) or ``MISSING``, returns a language value and raises ``RuntimeFault``. Its
        docstring is the manual's entry. ``aliases`` are deprecated names of the same builtin.
        """

        def declare(function: Function) -> Function:
            name = signature[: signature.index("(")]
            self._add(name, signature, function, named, capability, profile, context, too_few, None)
            for alias in aliases:
                raw: Any = function
                copy = FunctionType(raw.__code__, raw.__globals__, raw.__name__, raw.__defaults__, raw.__closure__)
                copy.__kwdefaults__ = raw.__kwdefaults__
                copy.__doc__ = raw.__doc__
                self._add(alias, alias + signature[len(name) :], copy, named, capability, profile, context, too_few, name)
            return function

        return declare

    def _add(
        self,
        name: str,
        signature: str,
        function: Any,
        named: tuple[str, ...],
        capability: str | None,
        profile: str,
        context: bool,
        too_few: str | None,
        alias_of: str | None,
    ) -> None:
        # The qualified name is what Python's own arity errors carry; the translation of errors reads it back.
        function.__qualname__ = ("builtin* " if context else "builtin ") + name
        function.builtin = self.builtins[name] = Builtin(
            name, signature, self.name, function, named, capability, profile, context, too_few, alias_of
        )
