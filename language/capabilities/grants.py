"""The grants of a running program under its ceiling, and the decision on each request.

Everything is denied by default. A program holds a capability only when its own source requires it (or the runtime grants it
implicitly) and the ceiling, if any, covers it. Every decision makes one audit record, if an audit is kept.
"""

from __future__ import annotations

from language.capabilities import (
    ABOVE_CEILING,
    IMPLICIT,
    IMPLICIT_SERVED,
    INERT_NAMES,
    NAMES,
    Capability,
    canonical_name,
    declared,
    unknown_name,
)
from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from language.audit.records import Audit
    from language.capabilities import Ceiling
    from language.capabilities.commands import AskedCommand
    from language.capabilities.scopes import DbTarget, GrantedPath, NetTarget

#: A ceiling of more characters is not repeated in a refusal.
LONGEST_LISTED = 200
NO_GRANT = "No matching grant found"
LINK_LEAVES = "symbolic link leaves the granted path"
#: The end of a refusal, after the kind of address.
BY_NAME_ALONE = "must be granted literally"

#: The global of a compiled file that holds the declarations of its tasks, by ``name@line``.
DECLARED_SETS = "·declared"
#: Its key for all secrets that the file names anywhere.
ALL_SECRETS = ""

#: How many granted requests are cached, so that a repeated one needs a single lookup.
MOST_REMEMBERED = 1024


#: The depth of nested calls that leaving a bound needs, with a margin.
_ROOM = 16


class CapabilitySet:
    """The grants of one context of a running program: the program itself, a worker, a request, an agent.

    ``implicit`` are the capabilities that programs need not declare. ``ceiling`` and ``denials`` come from the host and apply
    to every context of the process. ``audit`` is ``None`` when no audit is kept. ``protected_path(real, writing)`` returns the
    protected file or folder of the ``lang`` command that contains a real path, if any: no grant covers these. ``on_disk`` says
    whether paths are resolved on the file system, which is not so where the program's files are passed by an embedder.
    ``deployed`` says that a platform derived the ceiling from the deployed ``require`` lines; the remedy that a refusal
    suggests depends on that.
    """

    def __init__(
        self,
        ceiling: Ceiling | None,
        audit: Audit | None = None,
        *,
        context: str = "program",
        on_disk: bool = True,
        implicit: tuple[str, ...] = IMPLICIT,
        deployed: bool = False,
    ) -> None:
        self.ceiling = ceiling
        self.deployed = deployed
        self.on_disk = on_disk
        self.audit = audit
        self.context = context
        self.grants: list[Capability] = []
        #: the grants that the runtime gave, without a declaration of the program
        self.ambient: tuple[Capability, ...] = ()
        self.denials: list[Capability] = []
        self.protected_path: Callable[[str, bool], str | None] | None = None
        #: called with a request that no grant covers; a true result grants it (``lang run --learn``)
        self.learner: Callable[[Capability], bool] | None = None
        self._rejected: list[Capability] = []
        self._declared: dict[tuple[str, str | None], None] = {}
        #: the capabilities kept by each open ``sandbox`` or ``call_tool``, outermost first: a request must be covered by each
        #: of them
        self._bounds: list[tuple[Capability, ...]] = []
        #: what opened each of them, for the help of a refusal
        self._openers: list[Any] = []
        #: the secrets that the source names, for all contexts of the program
        self._secrets: set[str] = set()
        self._inherited = 0
        self._begun_with = (0, 0, 0)
        self._frozen = False
        self._output_recorded = False
        #: granted requests → the reason, one map for each bound
        self._known: dict[tuple[str, str | None], str] = {}
        self._outer_known: list[dict[tuple[str, str | None], str]] = []
        for item in () if ceiling is None else ceiling.items:
            item.locate()
        for name in implicit:
            usual = Capability(name, None)
            if ceiling is None or ceiling.covers(usual):
                self.grants.append(usual)
                if ceiling is not None:
                    self._record(usual, True, "runtime", "auto-granted by the runtime", "ambient")
            else:
                self._record(usual, False, "runtime", ABOVE_CEILING, "ambient")
        self.ambient = tuple(self.grants)

    @property
    def depth(self) -> int:
        """How many ``sandbox`` blocks and tool calls are open."""
        return len(self._bounds)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The decisions so far as maps with the six fields of an audit record; empty when no audit is kept."""
        return [] if self.audit is None else self.audit.records

    # ---- grants ---------------------------------------------------------------------------------------------------------

    def require(self, name: str, scope: str | None) -> bool:
        """Executes a ``require`` line: grants the capability if one ceiling item covers all of it. Inside a bound it grants
        nothing.

        Returns whether the context did not have it before.
        """
        self.name_secrets(((name, scope),))
        if self._frozen or len(self._bounds) > self._inherited or (name, scope) in self._declared:
            return False
        self._declared[name, scope] = None
        if name in INERT_NAMES:
            return False
        capability = declared(name, scope)
        if self.audit is not None and self.audit.uses is not None:
            self.audit.uses.declare(capability)
        capability.locate()
        if self.ceiling is None or self.ceiling.covers(capability):
            self.grants.append(capability)
        else:
            self._rejected.append(capability)
            self._record(capability, False, "program", ABOVE_CEILING, "ceiling")
        return True

    def name_secrets(self, declared_there: Iterable[tuple[str, str | None]]) -> None:
        """Records the secrets among the declarations of a file; a declaration of all secrets names none."""
        self._secrets.update(scope for name, scope in declared_there if name == "secret" and scope not in (None, "*"))

    def named_secrets(self) -> list[Capability]:
        """The secrets that the source of the program names, whether or not a line was executed or granted anything."""
        return [Capability("secret", scope) for scope in list(self._secrets)]

    @property
    def declared_memory(self) -> str | None:
        """The name of the memory that a ``require`` line declares, granted or not."""
        return next((scope for name, scope in self._declared if name == "memory" and scope is not None), None)

    def refuse(self, name: str, text: str, cure: str) -> RuntimeFault:
        """Records and returns the refusal of an operation whose declaration, the line ``cure``, is missing."""
        fault = self._refused(Capability(name, None), NO_GRANT, text)
        fault.cure = cure
        return fault

    def deny(self, name: str, scope: str | None) -> None:
        """Denies a capability explicitly, by the host, before the program runs. It overrides every grant, in every context made
        from this.
        """
        self.denials.append(declared(name, scope))
        self._known.clear()

    def enter(self, kept: tuple[Capability, ...], opener: Any = None) -> None:
        """Opens a bound: until :meth:`leave` only what ``kept`` covers is granted, and ``require`` adds nothing.

        ``opener`` is for the help of a refusal: the task of a tool, or the line of a ``sandbox`` and whether it has ``under``.
        Raises ``RecursionError`` if calls are nested so deeply that :meth:`leave` could not be called.
        """
        _need_room(_ROOM)
        self._outer_known.append(self._known)
        self._known = {}
        self._bounds.append(kept)
        self._openers.append(opener)

    def leave(self) -> None:
        self._bounds.pop()
        self._openers.pop()
        self._known = self._outer_known.pop()

    def held(self, wanted: Iterable[tuple[str, str | None]]) -> tuple[Capability, ...]:
        """Those declared capabilities of a tool that this context covers completely. Records one decision for each."""
        kept = []
        for name, scope in wanted:
            if name in INERT_NAMES:
                continue
            capability = declared(name, scope)
            try:
                self._granting(capability, "tool-scope")
            except RuntimeFault:
                continue  # the tool runs without it: its use will be refused
            self._record(capability, True, "program", f"Granted by {self._covering(capability)[0]}", "tool-scope")
            kept.append(capability)
        return tuple(kept)

    def fork(
        self, context: str = "worker", *, grants: Iterable[Capability] | None = None, frozen: bool = True
    ) -> CapabilitySet:
        """The grants of a context that this one starts, with the same bounds, denials, ceiling and audit.

        A worker holds exactly the grants of its starter, whatever it requires. Other contexts begin with ``grants`` and,
        unless ``frozen``, add what their own ``require`` lines name. None exceeds the bounds.
        """
        copy = object.__new__(CapabilitySet)
        copy.ceiling, copy.denials, copy.ambient, copy.deployed = self.ceiling, self.denials, self.ambient, self.deployed
        copy.on_disk, copy.protected_path, copy.learner = self.on_disk, self.protected_path, self.learner
        copy.audit, copy._output_recorded = self.audit, self._output_recorded
        copy._secrets = self._secrets
        copy.context = context
        copy.grants = list(self.grants if grants is None else grants)
        copy._rejected = list(self._rejected)
        copy._declared = self._declared.copy() if grants is None else {}
        copy._bounds, copy._openers = list(self._bounds), list(self._openers)
        copy._inherited = len(copy._bounds)
        copy._known = {}
        copy._outer_known = [{} for _ in copy._bounds]
        copy._frozen = frozen
        copy._begun_with = len(copy.grants), len(copy._declared), len(copy._rejected)
        return copy

    def is_bounded_as(self, other: CapabilitySet) -> bool:
        """Whether every ``sandbox`` and tool call that is open in ``other`` bounds this context too."""
        return self._bounds[: len(other._bounds)] == other._bounds

    def covers(self, name: str, scope: str | None) -> bool:
        """Whether a grant covers all of a declared capability. Makes no record."""
        return bool(self._covering(declared(name, scope)))

    @property
    def changed(self) -> bool:
        """Whether anything was granted since the context began, or a bound is still open."""
        now = len(self.grants), len(self._declared), len(self._rejected)
        return now != self._begun_with or len(self._bounds) != self._inherited

    def bundled(self, path: str) -> None:
        """Records the reading of a file that is part of the program and needs no capability."""
        self._record(Capability("file.read", path), True, "runtime", "bundled asset (part of the program)")

    # ---- the check ------------------------------------------------------------------------------------------------------

    def check(self, name: str, scope: str | None) -> None:
        """Grants or refuses one request with a canonical scope, and records the decision. Raises ``RuntimeFault``, without a
        position, for a refused one.
        """
        why = self._known.get((name, scope))
        if why is None:
            grant = self._granting(Capability(name, scope))[-1][0]
            why = f"Granted by {grant}"
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known[name, scope] = why
        if self.audit is not None:
            self.audit.add(name, scope, True, "program", why, self.context, None)

    def check_operation(self, name: str, source: str) -> None:
        """:meth:`check` for an operation of the language that is not a builtin. The record names it as ``source``."""
        request = Capability(name, None)
        grant = self._granting(request, source)[-1][0]
        self._record(request, True, "program", f"Granted by {grant}", source)

    def note_use(self, name: str, what: str, source: str) -> None:
        """Records the outcome of a granted operation. The record does not count as a further use."""
        if self.audit is not None:
            self.audit.add(name, None, True, "runtime", what, self.context, source, counted=False)

    def check_output(self, name: str) -> None:
        """Checks ``stdout`` or ``stdin``, which are always granted except where the ceiling lacks them."""
        if self.ceiling is None:
            return
        request = Capability(name, None)
        self._refuse_denied(request)
        if not self.ceiling.covers(request):
            if any(rejected.covers(request) for rejected in self._rejected):
                raise self._above(request, None)
            raise self._undeclared_above(request, None)
        if self._output_recorded and name == "stdout":
            return
        self._record(request, True, "program", f"Granted by {name}")
        if name == "stdout":
            self._output_recorded = True

    def check_path(self, name: str, path: str) -> GrantedPath:
        """Checks a file operation, with symbolic links resolved. ``name`` is ``file.read`` or ``file.write``."""
        from language.capabilities.scopes import normal_path

        return self._check_normal_path(name, normal_path(path))

    def check_db(self, target: DbTarget) -> GrantedPath | None:
        """Checks a database. Returns where a file must lie, ``None`` for a database without a file."""
        if target.path is None or target.path == ":memory:":
            self.check("db", target.scope)
            return None
        return self._check_normal_path("db", target.path)

    def check_command(self, command: AskedCommand) -> None:
        """Checks the start of a command, by its name or by its resolved file."""
        grant = self._granting(command)[-1][0]
        self._record(command, True, "program", f"Granted by {grant}")

    def check_net(self, target: NetTarget) -> None:
        self.check("net", target.scope)

    def check_address(self, address: str, port: int) -> None:
        """Refuses a reserved address that no grant names literally: the name of a granted host may resolve to it."""
        from language.capabilities.scopes import bracketed

        if not self.granted_literally("net", f"{bracketed(address)}:{port}"):
            raise self._refused_address(Capability("net", address), address)

    def check_db_address(self, target: DbTarget, address: str) -> None:
        """The same for a database server: the host of its grant must be the address."""
        from language.capabilities.scopes import bracketed

        database = "" if target.database is None else "/" + target.database.lower()
        request = Capability("db", f"{target.scheme}://{bracketed(address)}{database}")
        if not any(_names_host(grant.scope) for grant in self._covering(request)):
            raise self._refused_address(request, address)

    def hides(self, name: str, path: str) -> bool:
        """Whether a listing must leave out this path, because it is denied whatever grant covers it. Makes no record."""
        from language.capabilities.scopes import normal_path

        request = Capability(name, normal_path(path))
        return any(denial.covers(request) for denial in self.denials) or self._own_file(request) is not None

    def withholds(self, real: str) -> bool:
        """Whether a real path is, or is inside of, a path protected from all programs, whatever the grants. Makes no record."""
        return (self.protected_path is not None and self.protected_path(real, False) is not None) or bool(_process_folder(real))

    def granted_literally(self, name: str, scope: str) -> bool:
        """Whether a grant names exactly this scope, without a pattern (a grant of a host includes its ports)."""
        request = Capability(name, scope)
        literal = [g for g in self._covering(request) if g.scope is not None and not any(c in g.scope for c in "*?")]
        return bool(literal)

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def _levels(self, request: Capability) -> list[list[Capability]]:
        """The capabilities that cover the request, one list for the grants and one for each bound. The last list is empty if
        its level does not cover the request.
        """
        levels = [[grant for grant in self.grants if grant.covers(request)]]
        for bound in self._bounds:
            if not levels[-1]:
                break
            levels.append([item for item in bound if item.covers(request)])
        return levels

    def _covering(self, request: Capability) -> list[Capability]:
        return self._levels(request)[-1]

    def _granting(self, request: Capability, source: str | None = None) -> list[list[Capability]]:
        """For each level, the capabilities that cover the request. If a level does not cover it, records the refusal and raises
        it.
        """
        self._refuse_denied(request, source)
        levels = self._levels(request)
        if self.ceiling is not None and not self.ceiling.covers(request):
            if levels[-1] or (not self._bounds and any(rejected.covers(request) for rejected in self._rejected)):
                raise self._above(request, source)
            raise self._undeclared_above(request, source)
        if levels[-1]:
            return levels
        if self.learner is not None and not self._bounds and self.learner(request):
            self.grants.append(request)
            return [[request]]
        wider = next((rejected for rejected in self._rejected if rejected.covers(request)), None)
        if wider is not None and not self._bounds:
            fault = self._refused(request, NO_GRANT, _too_wide(request, wider, deployed=self.deployed), source)
            fault.help = f"write `{request.require_line}` in place of `{wider.require_line}`"
            raise fault
        fault = self._refused(request, NO_GRANT, _no_grant(request), source)
        if self._bounds:
            self._explain_bounds(fault, request)
        elif request.name == "exec" and request.locate() is None:
            from language.capabilities.commands import written_apart

            fault.help = written_apart(request.scope or "")
        raise fault

    def _explain_bounds(self, fault: RuntimeFault, request: Capability) -> None:
        """Says in the help which ``sandbox`` or tool took the capability away."""
        from language.capabilities.narrowing import help_inside

        granted = any(grant.covers(request) for grant in self.grants)
        covering = [any(item.covers(request) for item in bound) for bound in self._bounds]
        fault.help = help_inside(request, granted, list(zip(self._openers, covering)))
        if granted:
            fault.cure = ""

    def _check_normal_path(self, name: str, path: str) -> GrantedPath:
        from language.capabilities.scopes import GrantedPath

        request = Capability(name, path)
        own = self._own_file(request)
        if own is not None:
            # A client of a service may see the message, so the full path on the host is only in the audit.
            denial = Capability("file", _from_here(own) or path)
            text = f"Capability not granted: {request.written} — explicitly denied by {denial.written}"
            raise self._refused(request, f"Explicitly denied by {Capability('file', own)}", text)
        levels = self._granting(request)
        if self.ceiling is not None:
            levels.append([item for item in self.ceiling.items if item.covers(request)])
        within = _confined(path, levels) if self.on_disk else None
        if within is _LEAVES:
            raise self._refused(request, LINK_LEAVES, f"Capability not granted: {request.written} — {LINK_LEAVES}")
        shown = levels[len(self._bounds)][0]
        self._record(request, True, "program", f"Granted by {shown}")
        return GrantedPath(path, within)

    def _own_file(self, request: Capability) -> str | None:
        """The protected file or folder of the ``lang`` command that contains the path of a request."""
        if self.protected_path is None or request.scope is None:
            return None
        from language.capabilities.scopes import real_path

        real = real_path(request.scope)
        return self.protected_path(real, request.name != "file.read") or _process_folder(real)

    def _refuse_denied(self, request: Capability, source: str | None = None) -> None:
        for denial in self.denials:
            if denial.covers(request):
                text = f"Capability not granted: {request.written} — explicitly denied by {denial.written}"
                raise self._refused(request, f"Explicitly denied by {denial}", text, source)

    def _above(self, request: Capability, source: str | None) -> RuntimeFault:
        if self.deployed:
            return self._withheld(request, ABOVE_CEILING, source)
        return self._refused(
            request,
            ABOVE_CEILING,
            f"Capability not granted: {request.written} — declared but above the host ceiling (--sandbox/--cap-set); "
            "the host must widen the ceiling",
            source,
            code="E0502",
            help=f"whoever starts the program sets its ceiling: {self._wider_ceiling(request)}",
        )

    def _withheld(self, request: Capability, why: str, source: str | None) -> RuntimeFault:
        """The refusal of a request that the deployed declarations cover, but that was withheld from the deployment's
        ceiling.
        """
        text = (
            f"Capability not granted: {request.written} — above the ceiling of this deploy: the plan, the owner of the project "
            "or a rehearsal withholds it"
        )
        cure = "`lang status` shows the ceiling, and `lang deploy` tells what the plan does not allow"
        return self._refused(request, why, text, source, code="E0502", help=cure)

    def _undeclared_above(self, request: Capability, source: str | None) -> RuntimeFault:
        """The refusal of a request that the program does not declare and that the ceiling would not cover either."""
        if self.deployed:
            if request.name in IMPLICIT_SERVED or any(rejected.covers(request) for rejected in self._rejected):
                return self._withheld(request, NO_GRANT, source)
            text = f"Capability not granted: {request.written} — no `require` line of the deployed program covers it"
            cure = f"add `{request.require_line}` at the top of the program, and deploy it again"
            return self._refused(request, NO_GRANT, text, source, code="E0502", help=cure)
        text = (
            f"Capability not granted: {request.written} — no grant covers it, and it is above the host ceiling "
            "(--sandbox/--cap-set): the host must widen the ceiling before a `require` line can grant it"
        )
        told = f"two changes: add `{request.require_line}` at the top of the program; {self._wider_ceiling(request)}"
        return self._refused(request, NO_GRANT, text, source, code="E0502", help=told)

    def _wider_ceiling(self, request: Capability) -> str:
        """The help on how to start the command with a ceiling that covers the request too."""
        from language.capabilities import Ceiling

        items = () if self.ceiling is None else self.ceiling.items
        listed = str(Ceiling((*items, request)))
        if len(listed) > LONGEST_LISTED:
            listed = f"...,{Ceiling((request,))}"
        return f"start it with `--cap-set {listed}`"

    def _refused_address(self, request: Capability, address: str) -> RuntimeFault:
        from language.capabilities.reserved_addresses import LINK_LOCAL, reserved_address

        why = f"{reserved_address(address) or LINK_LOCAL} {BY_NAME_ALONE}"
        return self._refused(
            request, why, f"Capability not granted: {request.written} — {why}: add `{request.require_line}`", code="E0503"
        )

    def _refused(
        self, request: Capability, why: str, text: str, source: str | None = None, *, code: str = "", help: str = ""
    ) -> RuntimeFault:
        self._record(request, False, "program", why, source)
        fault = RuntimeFault(text, kind="capability", code=code, help=help)
        if fault.code != "E0502" and (why == NO_GRANT or why.endswith(BY_NAME_ALONE)):
            fault.cure = request.require_line
        return fault

    def _record(self, capability: Capability, granted: bool, origin: str, why: str, source: str | None = None) -> None:
        if self.audit is not None:
            self.audit.add(capability.name, capability.scope, granted, origin, why, self.context, source)


def declared_set(task: Any) -> tuple[tuple[str, str | None], ...]:
    """The declarations of the leading ``require`` lines of a task; empty for a lambda, a constructor or a builtin."""
    code = getattr(task, "__code__", None)
    if code is None:
        return ()
    name: str = code.co_name
    sets: dict[str, tuple[tuple[str, str | None], ...]] = task.__globals__.get(DECLARED_SETS, {})
    return sets.get(f"{name.partition('·')[0]}@{code.co_firstlineno}", ())


def kept_by(caps: Any) -> tuple[Capability, ...]:
    """The capabilities in the map of ``sandbox under``: name → one scope, a list of scopes, or ``true`` for every scope.

    Raises ``RuntimeFault`` for anything else.
    """
    from language.values import Bool, as_map, type_of
    from language.values.display import display

    entries = as_map(caps)
    if entries is None:
        raise RuntimeFault(f"sandbox under expects a map of capabilities, got {type_of(caps)}", kind="type")
    kept = []
    for name, value in entries.items():
        if canonical_name(name) not in NAMES and name not in INERT_NAMES:
            message, help_ = unknown_name(name)
            raise RuntimeFault(message, help=help_)
        for scope in value if type(value) is list else [value]:
            if type(scope) is Bool and scope:
                kept.append(declared(name, None))
            elif type(scope) is str or type(scope) is int:
                try:
                    kept.append(declared(name, display(scope)))
                except ValueError as error:
                    raise RuntimeFault(f"sandbox under: {error}") from None
            else:
                expected = "a scope as text or integer, a list of them, or true"
                raise RuntimeFault(
                    f"sandbox under: the value of '{name}' must be {expected}, got {type_of(scope)}", kind="type"
                )
    return tuple(kept)


def _from_here(real: str) -> str | None:
    """A real path relative to the working directory; ``None`` for one outside of it."""
    from language.capabilities.scopes import is_inside, real_path

    here = real_path(".")
    return real[len(here) :].lstrip("/") or "." if is_inside(real, here) else None


def _process_folder(real: str) -> str | None:
    """The folder of a process in ``/proc`` that contains a real path. Such a folder gives access to descriptors, memory and
    environment, and so to secrets.
    """
    segments = real.split("/", 3)
    return "/proc/" + segments[2] if segments[:2] == ["", "proc"] and len(segments) > 2 and segments[2].isdigit() else None


_LEAVES = "\0"


def _confined(path: str, levels: list[list[Capability]]) -> str | None:
    """The real folder that a file must lie in; ``None`` without a restriction, ``_LEAVES`` when a link leads out of it.

    Each level must have a grant whose folder contains the real path: what one level allows, another may not.
    """
    from language.capabilities.scopes import fixed_prefix, is_inside, real_path

    real: str | None = None
    within: str | None = None
    for level in levels:
        prefixes = [None if grant.scope is None else fixed_prefix(grant.scope) for grant in level]
        if None in prefixes:
            continue
        if real is None:
            real = real_path(path)
        roots = [root for root in (real_path(prefix) for prefix in prefixes if prefix is not None) if is_inside(real, root)]
        if not roots:
            return _LEAVES
        widest = min(roots, key=len)
        if within is None or len(widest) > len(within):
            within = widest
    return within


def _names_host(scope: str | None) -> bool:
    """Whether a scope of ``db`` has a host without a wildcard."""
    host = (scope or "").partition("://")[2].partition("/")[0]
    return bool(host) and not any(wildcard in host for wildcard in "*?")


def _too_wide(request: Capability, wider: Capability, *, deployed: bool) -> str:
    """The message for a ``require`` line that covers the request but grants nothing, because the ceiling covers only a part of
    the line.
    """
    ceiling = "ceiling of this deploy" if deployed else "host ceiling (--sandbox/--cap-set)"
    return (
        f"Capability not granted: {request.written} — `{wider.require_line}` grants nothing, because it is wider than the "
        f"{ceiling}: write `{request.require_line}` in place of `{wider.require_line}`"
    )


def _no_grant(request: Capability) -> str:
    name, scope, written = request.name, request.scope, request.written
    if name in ("env", "secret") and scope is not None:
        head, underscore, _ = scope.partition("_")
        prefix = f' (or a prefix: `require {name}("{head}_*")`)' if underscore and head else ""
        add = f"add `{request.require_line}`{prefix}"
        return f"Capability not granted: {written} — {written} not permitted: missing capability — {add}"
    if name == "serve" and scope is not None:
        return (
            f"Capability not granted: {written} — serve on {scope} is not permitted: missing capability serve({scope}). "
            f"Add `require serve({scope})`"
        )
    if name == "reveal":
        return (
            f"reveal() not permitted: Capability not granted: {written} — add `{request.require_line}` "
            "(every reveal is audited)"
        )
    return (
        f"Capability not granted: {written} — add `{request.require_line}` at the top of the program "
        "(the file that is started, for code in a module)"
    )


def _need_room(calls: int) -> None:
    """Raises ``RecursionError`` unless ``calls`` more calls can be nested here."""
    if calls:
        _need_room(calls - 1)
