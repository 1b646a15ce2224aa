"""What one running program may do: its grants under the ceiling, and the decision over each request.

Deny by default. A program holds a capability only when its own source requires it (or the runtime grants it implicitly) and the
ceiling, when there is one, covers it. Every decision makes one record, where somebody listens.
"""

from __future__ import annotations

from language.capabilities import (
    ABOVE_CEILING,
    IMPLICIT,
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

NO_GRANT = "No matching grant found"
LINK_LEAVES = "symbolic link leaves the granted path"
#: After what the address is.
BY_NAME_ALONE = "must be granted literally"

#: The global of a compiled file that holds what its tasks declare, by ``name@line``.
DECLARED_SETS = "·declared"
#: The key in it under which all secrets stand that the file names anywhere.
ALL_SECRETS = ""

#: Granted requests that are remembered, so that a repeated one costs one look.
MOST_REMEMBERED = 1024


#: Calls that closing a bound may nest, and some more.
_ROOM = 16


class CapabilitySet:
    """The grants of one context of a running program: the program itself, a worker, a request, an agent.

    ``implicit`` says whether it holds what programs need not declare. ``ceiling`` and ``denials`` come from the host and hold
    for every context of the process; ``audit`` is ``None`` when nobody listens. ``protected_path(real,
    writing)`` answers which file or folder of the command that runs the program a real path touches, if any: no grant covers
    these.
    ``on_disk`` says whether paths are looked up on the disk; where the program's files are given to it, nothing there matters.
    """

    def __init__(
        self,
        ceiling: Ceiling | None,
        audit: Audit | None = None,
        *,
        context: str = "program",
        on_disk: bool = True,
        implicit: bool = True,
    ) -> None:
        self.ceiling = ceiling
        self.on_disk = on_disk
        self.audit = audit
        self.context = context
        self.grants: list[Capability] = []
        self.denials: list[Capability] = []
        self.protected_path: Callable[[str, bool], str | None] | None = None
        #: asked about a request that no grant covers; a true answer grants it (``lang run --learn``)
        self.learner: Callable[[Capability], bool] | None = None
        self._rejected: list[Capability] = []
        self._declared: dict[tuple[str, str | None], None] = {}
        #: what each open ``sandbox`` or ``call_tool`` leaves, the outermost first: a request must pass them all
        self._bounds: list[tuple[Capability, ...]] = []
        #: the secrets that the source names, for all contexts of the program
        self._secrets: set[str] = set()
        self._inherited = 0
        self._begun_with = (0, 0, 0)
        self._frozen = False
        self._output_recorded = False
        #: granted requests → why, one map for each bound
        self._known: dict[tuple[str, str | None], str] = {}
        self._outer_known: list[dict[tuple[str, str | None], str]] = []
        for item in () if ceiling is None else ceiling.items:
            item.locate()
        for name in IMPLICIT if implicit else ():
            usual = Capability(name, None)
            if ceiling is None or ceiling.covers(usual):
                self.grants.append(usual)
                if ceiling is not None:
                    self._record(usual, True, "runtime", "auto-granted by the runtime", "ambient")
            else:
                self._record(usual, False, "runtime", ABOVE_CEILING, "ambient")

    @property
    def depth(self) -> int:
        """How many ``sandbox`` blocks and tool calls are open."""
        return len(self._bounds)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The decisions so far as maps with the six fields of an audit item; empty when nobody listens."""
        return [] if self.audit is None else self.audit.records

    # ---- grants ---------------------------------------------------------------------------------------------------------

    def require(self, name: str, scope: str | None) -> bool:
        """Executes a ``require`` line: a grant if one ceiling item covers it as a whole; nothing inside a bound.

        Answers whether it is one that the context did not have before.
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
        """Notes the secrets among what a file of the program declares; one for all of them names none."""
        self._secrets.update(scope for name, scope in declared_there if name == "secret" and scope not in (None, "*"))

    def named_secrets(self) -> list[Capability]:
        """The secrets that the source of the program names, whether or not a line was reached or granted anything."""
        return [Capability("secret", scope) for scope in list(self._secrets)]

    @property
    def declared_memory(self) -> str | None:
        """The name of the memory that a ``require`` line declares, granted or not."""
        return next((scope for name, scope in self._declared if name == "memory" and scope is not None), None)

    def refuse(self, name: str, text: str) -> RuntimeFault:
        """The refusal, recorded, of what needs a declaration that the program does not have."""
        return self._refused(Capability(name, None), NO_GRANT, text)

    def deny(self, name: str, scope: str | None) -> None:
        """An explicit denial by the host, before the program runs: it beats every grant, in every context made from this."""
        self.denials.append(declared(name, scope))
        self._known.clear()

    def enter(self, kept: tuple[Capability, ...]) -> None:
        """Opens a bound: until :meth:`leave` only what ``kept`` covers can be granted, and no ``require`` adds to it.

        Raises ``RecursionError`` where calls nest so deep that :meth:`leave` could not be called any more.
        """
        _need_room(_ROOM)
        self._outer_known.append(self._known)
        self._known = {}
        self._bounds.append(kept)

    def leave(self) -> None:
        self._bounds.pop()
        self._known = self._outer_known.pop()

    def held(self, wanted: Iterable[tuple[str, str | None]]) -> tuple[Capability, ...]:
        """Those of the declared capabilities of a tool that this context covers, each as a whole; one record for each."""
        kept = []
        for name, scope in wanted:
            if name in INERT_NAMES:
                continue
            capability = declared(name, scope)
            try:
                self._granting(capability, "tool-scope")
            except RuntimeFault:
                continue  # the tool does without: its own use of it will be refused
            self._record(capability, True, "program", f"Granted by {self._covering(capability)[0]}", "tool-scope")
            kept.append(capability)
        return tuple(kept)

    def fork(
        self, context: str = "worker", *, grants: Iterable[Capability] | None = None, frozen: bool = True
    ) -> CapabilitySet:
        """The set of a context that this one starts: inside the same bounds, with the same denials, ceiling and audit.

        A worker holds exactly the grants of its starter, whatever it requires. Others begin with the ``grants`` given and,
        where not ``frozen``, add what their own ``require`` lines name; neither reaches beyond the bounds.
        """
        copy = object.__new__(CapabilitySet)
        copy.ceiling, copy.denials = self.ceiling, self.denials
        copy.on_disk, copy.protected_path, copy.learner = self.on_disk, self.protected_path, self.learner
        copy.audit, copy._output_recorded = self.audit, self._output_recorded
        copy._secrets = self._secrets
        copy.context = context
        copy.grants = list(self.grants if grants is None else grants)
        copy._rejected = list(self._rejected)
        copy._declared = self._declared.copy() if grants is None else {}
        copy._bounds = list(self._bounds)
        copy._inherited = len(copy._bounds)
        copy._known = {}
        copy._outer_known = [{} for _ in copy._bounds]
        copy._frozen = frozen
        copy._begun_with = len(copy.grants), len(copy._declared), len(copy._rejected)
        return copy

    @property
    def changed(self) -> bool:
        """Whether anything was added since the context began, or a bound is still open."""
        now = len(self.grants), len(self._declared), len(self._rejected)
        return now != self._begun_with or len(self._bounds) != self._inherited

    def bundled(self, path: str) -> None:
        """Records the reading of a file that is part of the program, which needs no capability."""
        self._record(Capability("file.read", path), True, "runtime", "bundled asset (part of the program)")

    # ---- the check ------------------------------------------------------------------------------------------------------

    def check(self, name: str, scope: str | None) -> None:
        """Grants or refuses one request, its scope canonical, and records it. Raises ``RuntimeFault`` without a place."""
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
        """The same for an operation of the language that is no builtin; the record says which."""
        request = Capability(name, None)
        grant = self._granting(request, source)[-1][0]
        self._record(request, True, "program", f"Granted by {grant}", source)

    def check_output(self, name: str) -> None:
        """The gate of ``stdout`` and ``stdin``: only under a ceiling, and open inside a bound as far as the ceiling is."""
        if self.ceiling is None:
            return
        request = Capability(name, None)
        self._refuse_denied(request)
        if not self.ceiling.covers(request):
            if any(rejected.covers(request) for rejected in self._rejected):
                raise self._above(request, None)
            raise self._refused(request, NO_GRANT, _no_grant(request))
        if self._output_recorded and name == "stdout":
            return
        self._record(request, True, "program", f"Granted by {name}")
        if name == "stdout":
            self._output_recorded = True

    def check_path(self, name: str, path: str) -> GrantedPath:
        """The check of a file operation, symbolic links included. ``name`` is ``file.read`` or ``file.write``."""
        from language.capabilities.scopes import normal_path

        return self._check_normal_path(name, normal_path(path))

    def check_db(self, target: DbTarget) -> GrantedPath | None:
        """The check of a database: for a file where it must lie, ``None`` for what is no file."""
        if target.path is None or target.path == ":memory:":
            self.check("db", target.scope)
            return None
        return self._check_normal_path("db", target.path)

    def check_command(self, command: AskedCommand) -> None:
        """The check of what a command starts, by its name or by the file it was found to be."""
        grant = self._granting(command)[-1][0]
        self._record(command, True, "program", f"Granted by {grant}")

    def check_net(self, target: NetTarget) -> None:
        self.check("net", target.scope)

    def check_address(self, address: str, port: int) -> None:
        """Refuses a reserved address that no grant names literally: the name of a host that was granted may lead there."""
        from language.capabilities.scopes import bracketed

        if not self.granted_literally("net", f"{bracketed(address)}:{port}"):
            raise self._refused_address(Capability("net", address), address)

    def check_db_address(self, target: DbTarget, address: str) -> None:
        """The same for a database server: its grant must name the address in the place of the host."""
        from language.capabilities.scopes import bracketed

        database = "" if target.database is None else "/" + target.database.lower()
        request = Capability("db", f"{target.scheme}://{bracketed(address)}{database}")
        if not any(_names_host(grant.scope) for grant in self._covering(request)):
            raise self._refused_address(request, address)

    def hides(self, name: str, path: str) -> bool:
        """Whether a walk has to pass over this path: it is denied, whatever grant covers it. Makes no record."""
        from language.capabilities.scopes import normal_path

        request = Capability(name, normal_path(path))
        return any(denial.covers(request) for denial in self.denials) or self._own_file(request) is not None

    def withholds(self, real: str) -> bool:
        """Whether a real path is or lies in what no program touches, whatever it was granted. Makes no record."""
        return (self.protected_path is not None and self.protected_path(real, False) is not None) or bool(_process_folder(real))

    def granted_literally(self, name: str, scope: str) -> bool:
        """Whether a grant names exactly this scope, without a pattern (a grant of a host holds for its ports)."""
        request = Capability(name, scope)
        literal = [g for g in self._covering(request) if g.scope is not None and not any(c in g.scope for c in "*?")]
        return bool(literal)

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def _levels(self, request: Capability) -> list[list[Capability]]:
        """What covers the request among the grants and in each bound; ends at the first level where nothing does."""
        levels = [[grant for grant in self.grants if grant.covers(request)]]
        for bound in self._bounds:
            if not levels[-1]:
                break
            levels.append([item for item in bound if item.covers(request)])
        return levels

    def _covering(self, request: Capability) -> list[Capability]:
        return self._levels(request)[-1]

    def _granting(self, request: Capability, source: str | None = None) -> list[list[Capability]]:
        """The levels of what covers the request; the refusal, recorded, when it is not granted (3.5 of the manual)."""
        self._refuse_denied(request, source)
        levels = self._levels(request)
        if self.ceiling is not None and not self.ceiling.covers(request):
            if levels[-1] or (not self._bounds and any(rejected.covers(request) for rejected in self._rejected)):
                raise self._above(request, source)
        elif levels[-1]:
            return levels
        elif self.learner is not None and not self._bounds and self.learner(request):
            self.grants.append(request)
            return [[request]]
        raise self._refused(request, NO_GRANT, _no_grant(request), source)

    def _check_normal_path(self, name: str, path: str) -> GrantedPath:
        from language.capabilities.scopes import GrantedPath

        request = Capability(name, path)
        own = self._own_file(request)
        if own is not None:
            # The message may come as far as a client of a service; where on the host the file lies stands in the audit alone.
            denial = Capability("file", _from_here(own) or path)
            text = f"Capability not granted: {request} — explicitly denied by {denial}"
            raise self._refused(request, f"Explicitly denied by {Capability('file', own)}", text)
        levels = self._granting(request)
        if self.ceiling is not None:
            levels.append([item for item in self.ceiling.items if item.covers(request)])
        within = _confined(path, levels) if self.on_disk else None
        if within is _LEAVES:
            raise self._refused(request, LINK_LEAVES, f"Capability not granted: {request} — {LINK_LEAVES}")
        shown = levels[len(self._bounds)][0]
        self._record(request, True, "program", f"Granted by {shown}")
        return GrantedPath(path, within)

    def _own_file(self, request: Capability) -> str | None:
        """The file or folder of the command that the path of a request would touch."""
        if self.protected_path is None or request.scope is None:
            return None
        from language.capabilities.scopes import real_path

        real = real_path(request.scope)
        return self.protected_path(real, request.name != "file.read") or _process_folder(real)

    def _refuse_denied(self, request: Capability, source: str | None = None) -> None:
        for denial in self.denials:
            if denial.covers(request):
                text = f"Capability not granted: {request} — explicitly denied by {denial}"
                raise self._refused(request, f"Explicitly denied by {denial}", text, source)

    def _above(self, request: Capability, source: str | None) -> RuntimeFault:
        return self._refused(
            request,
            ABOVE_CEILING,
            f"Capability not granted: {request} — declared but above the host ceiling (--sandbox/--cap-set); "
            "the host must widen the ceiling",
            source,
        )

    def _refused_address(self, request: Capability, address: str) -> RuntimeFault:
        from language.capabilities.reserved_addresses import LINK_LOCAL, reserved_address

        why = f"{reserved_address(address) or LINK_LOCAL} {BY_NAME_ALONE}"
        return self._refused(request, why, f"Capability not granted: {request} — {why}: add `{request.require_line}`")

    def _refused(self, request: Capability, why: str, text: str, source: str | None = None) -> RuntimeFault:
        self._record(request, False, "program", why, source)
        fault = RuntimeFault(text, kind="capability")
        if why == NO_GRANT or why.endswith(BY_NAME_ALONE):
            fault.cure = request.require_line
        return fault

    def _record(self, capability: Capability, granted: bool, origin: str, why: str, source: str | None = None) -> None:
        if self.audit is not None:
            self.audit.add(capability.name, capability.scope, granted, origin, why, self.context, source)


def declared_set(task: Any) -> tuple[tuple[str, str | None], ...]:
    """What the leading ``require`` lines of a task declare; nothing for a lambda, a constructor or a builtin."""
    code = getattr(task, "__code__", None)
    if code is None:
        return ()
    name: str = code.co_name
    sets: dict[str, tuple[tuple[str, str | None], ...]] = task.__globals__.get(DECLARED_SETS, {})
    return sets.get(f"{name.partition('·')[0]}@{code.co_firstlineno}", ())


def kept_by(caps: Any) -> tuple[Capability, ...]:
    """What the map of ``sandbox under`` keeps: name → one scope, a list of scopes, or ``true`` for every scope.

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
            raise RuntimeFault(unknown_name(name))
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
    """A real path relative to the working directory; ``None`` for one that does not lie in it."""
    from language.capabilities.scopes import is_inside, real_path

    here = real_path(".")
    return real[len(here) :].lstrip("/") or "." if is_inside(real, here) else None


def _process_folder(real: str) -> str | None:
    """The folder of a process that a real path lies in: descriptors, memory and environment, secrets and audit among them."""
    segments = real.split("/", 3)
    return "/proc/" + segments[2] if segments[:2] == ["", "proc"] and len(segments) > 2 and segments[2].isdigit() else None


_LEAVES = "\0"


def _confined(path: str, levels: list[list[Capability]]) -> str | None:
    """The real folder that a file must lie in; ``None`` without such a bound, ``_LEAVES`` when a link leads out of it.

    Each level must have a grant whose folder the path really lies in: what one level allows, another may not.
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


def _no_grant(request: Capability) -> str:
    name, scope = request.name, request.scope
    if name in ("env", "secret") and scope is not None:
        head, underscore, _ = scope.partition("_")
        prefix = f' (or a prefix: `require {name}("{head}_*")`)' if underscore and head else ""
        add = f"add `{request.require_line}`{prefix}"
        return f"Capability not granted: {request} — {request} not permitted: missing capability — {add}"
    if name == "serve" and scope is not None:
        return (
            f"Capability not granted: {request} — serve on {scope} is not permitted: missing capability serve({scope}). "
            f"Add `require serve({scope})`"
        )
    if name == "reveal":
        return (
            f"reveal() not permitted: Capability not granted: {request} — add `{request.require_line}` "
            "(every reveal is audited)"
        )
    return (
        f"Capability not granted: {request} — add `{request.require_line}` at the top of the program "
        "(the importing file, for code in a module)"
    )


def _need_room(calls: int) -> None:
    """Raises ``RecursionError`` unless so many calls more can nest here."""
    if calls:
        _need_room(calls - 1)
