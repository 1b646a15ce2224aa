"""The declaration of builtins: one decorator gives name, parameters, capability, profile and documentation.

A family (one module of ``stdlib``) holds its builtins in a :class:`Family`. Everything else is derived from the declaration:
arity errors, named arguments, ``lang docs``, the manual, the error texts of the WebAssembly profile.

This module imports nothing slow, because every start of a program imports it.
"""

from __future__ import annotations

from types import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])


class Mark:
    """A unique Python value that no program can hold. ``repr`` gives its name."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


#: The default of a parameter for which ``nothing`` is a meaningful value (``reduce``'s ``init``, the default of a total
#: variant).
MISSING: Any = Mark("MISSING")
#: Marks a required parameter that follows parameters with defaults.
REQUIRED: Any = Mark("REQUIRED")


class Facts:
    """What the compiler may assume about every successful call of a builtin. The defaults assume nothing.

    ``result`` is the kind of its value: ``int``, ``num``, ``str``, ``bool``, ``list``, ``list of str``, ``map``. With
    ``falls_back`` that holds for calls with one argument only, because a further argument may be the result. ``fresh``: the
    result is a new container, which nothing else holds. ``keeps``: which references to its arguments exist after the call:
    ``anything``, the ``items`` of the first argument, or ``nothing``. ``pure``: it calls nothing of the program and has no
    effect, so evaluating it twice equals evaluating it once. ``method``: the equivalent method of Python's ``str``.
    ``names_tasks``: it finds tasks by name at run time. ``reply``: the form of the reply when a route gives its value, for
    interface descriptions: a form, ``typed`` with the media type where none is given, ``failure``, or ``wraps`` with the
    status of its first argument. ``seeded``: from so many arguments on it needs no capability.
    """

    __slots__ = ("falls_back", "fresh", "keeps", "method", "names_tasks", "pure", "reply", "result", "seeded")

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
        seeded: int | None = None,
    ) -> None:
        self.result = result
        self.falls_back = falls_back
        self.fresh = fresh
        self.keeps = keeps
        self.pure = pure
        self.method = method
        self.names_tasks = names_tasks
        self.reply = reply
        self.seeded = seeded


class Builtin:
    """The declaration of one builtin.

    ``signature`` is as the manual shows it: ``slice(c, start?, end?)``, ``print(v...)``. ``named`` are the parameters that
    may also be given by name. ``too_few`` replaces the usual error text for missing arguments. ``context`` says that the
    function's first Python parameter is the context of the running program. ``alias_of`` is set on deprecated names.
    ``facts`` are for the compiler.
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
        """Names of the positional parameters as in the signature, with their marks (``?``, ``...``)."""
        inside = self.signature[self.signature.index("(") + 1 : self.signature.rindex(")")]
        return tuple(
            part.strip().split(" = ")[0] + ("?" if " = " in part else "") for part in inside.split(",") if part.strip()
        )

    @property
    def required(self) -> int:
        """The least number of arguments of a call."""
        return sum(1 for p in self.params if not p.endswith(("?", "...")))

    @property
    def most(self) -> int | None:
        """The greatest number of positional arguments of a call; ``None`` when there is no limit."""
        params = self.params
        return None if params and params[-1].endswith("...") else len(params)

    @property
    def doc(self) -> str:
        """The text of the manual: the function's docstring without indentation."""
        lines = (self.function.__doc__ or "").strip().splitlines()
        return "\n".join(line.strip() for line in lines)


class Family:
    """The builtins of one module, in the order of declaration; ``constants`` are plain values (``pi``).

    In a ``pure`` family every builtin is pure, except those that take the context.
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
        # Python's own arity errors contain the qualified name; ``language.runtime.python_errors`` reads it from there.
        function.__qualname__ = ("builtin* " if context else "builtin ") + name
        function.builtin = self.builtins[name] = Builtin(
            name, signature, self.name, function, named, capability, profile, context, too_few, alias_of, facts
        )
