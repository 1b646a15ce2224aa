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


class Mark:
    """A Python value that no program can hold, known by its identity; ``repr`` is its name."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


#: The default of a slot whose ``nothing`` means something (``reduce``'s ``init``, the default of a total variant).
MISSING: Any = Mark("MISSING")
#: The default of a parameter without one that stands behind parameters with one.
REQUIRED: Any = Mark("REQUIRED")


class Facts:
    """What the compiler may rely on in every call of a builtin that does not fail. The defaults promise nothing.

    ``result`` is the kind of its value: ``int``, ``num``, ``str``, ``bool``, ``list``, ``list of str``, ``map``; with
    ``falls_back`` only in calls of one argument, because a further one may be the result. ``fresh``: the value is a container
    that nothing else holds. ``keeps``: what of its arguments lives on after the call, ``anything``, the ``items`` of the first
    one, or ``nothing``. ``pure``: it calls nothing of the program and does nothing outside, so that evaluating it twice is
    evaluating it once. ``method``: the method of Python's texts that does the same for texts alone. ``names_tasks``: it finds
    tasks by their names while the program runs. ``reply``: what giving its value makes of a reply: the form that an interface
    description names, ``typed`` and the media type where none is given, ``failure``, or ``wraps`` and the status that its first
    argument gets.
    """

    __slots__ = ("falls_back", "fresh", "keeps", "method", "names_tasks", "pure", "reply", "result")

    def __init__(
        self,
        *,
        result: str | None = None,
        falls_back: bool = False,
        fresh: bool = False,
        keeps: str = "anything",
        pure: bool = False,
        method: str | None = None,
        names_tasks: bool = False,
        reply: str | None = None,
    ) -> None:
        self.result = result
        self.falls_back = falls_back
        self.fresh = fresh
        self.keeps = keeps
        self.pure = pure
        self.method = method
        self.names_tasks = names_tasks
        self.reply = reply


class Builtin:
    """The declaration of one builtin.

    ``signature`` is as the manual shows it: ``slice(c, start?, end?)``, ``print(v...)``. ``named`` are the parameters that may
    also be given by name. ``too_few`` replaces the ordinary text when arguments are missing. ``context`` says that the
    function's first Python parameter is the running program's context. ``alias_of`` is set on deprecated names. ``facts``
    are for the compiler.
    """

    __slots__ = (
        *("alias_of", "capability", "context", "facts", "family", "function"),
        *("name", "named", "profile", "signature", "too_few"),
    )

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
        facts: Facts,
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
        self.facts = facts

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
    """The builtins of one module, in the order of their declaration; ``constants`` are plain values (``pi``).

    In a ``pure`` family every builtin is, but those that take the context.
    """

    __slots__ = ("_pure", "builtins", "constants", "name", "title")

    def __init__(self, name: str, title: str, *, pure: bool = False) -> None:
        self._pure = pure
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
        **facts: Any,
    ) -> Callable[[Function], Function]:
        """Declares the decorated plain function as the builtin of that signature.

        The function takes language values by position (the context first when ``context``), optional ones with a default of
        ``None`` (``nothing`` equals omitted) or ``MISSING``, returns a language value and raises ``RuntimeFault``. Its
        docstring is the manual's entry. ``aliases`` are deprecated names of the same builtin. All other arguments are
        :class:`Facts`.
        """
        known = Facts(pure=facts.pop("pure", self._pure) and not context, **facts)

        def declare(function: Function) -> Function:
            name = signature[: signature.index("(")]
            self._add(name, signature, function, named, capability, profile, context, too_few, None, known)
            for alias in aliases:
                raw: Any = function
                copy = FunctionType(raw.__code__, raw.__globals__, raw.__name__, raw.__defaults__, raw.__closure__)
                copy.__kwdefaults__ = raw.__kwdefaults__
                copy.__doc__ = raw.__doc__
                written = alias + signature[len(name) :]
                self._add(alias, written, copy, named, capability, profile, context, too_few, name, known)
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
        facts: Facts,
    ) -> None:
        # The qualified name is what Python's own arity errors carry; the translation of errors reads it back.
        function.__qualname__ = ("builtin* " if context else "builtin ") + name
        function.builtin = self.builtins[name] = Builtin(
            name, signature, self.name, function, named, capability, profile, context, too_few, alias_of, facts
        )
