"""From the syntax tree to Python code objects: names are resolved, kinds inferred, and each task becomes a Python function.

``compile_source`` does all steps from the source text. ``python_source`` shows the resulting Python, for measurements.
"""

from __future__ import annotations

import ast
import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType

from language.capabilities.grants import DECLARED_SETS
from language.capabilities.require_lines import declared_sets, startup_refusal
from language.code import Code
from language.compiler import expressions, functions, lifting, statements
from language.compiler import python_ast as py
from language.compiler.blocks import block
from language.compiler.emitter import Emitter
from language.compiler.kinds import Kinds
from language.compiler.python_ast import Py
from language.compiler.resolver import resolve
from language.embedder_calls import uncancellable
from language.locks import Lock
from language.recursion import deep_recursion
from language.syntax import nodes
from language.syntax.walk import descend
from language.values.schemas import DECLARED_TYPES

expressions.install()
statements.install()

MAIN = "main"
#: Python frames that walking a program may need. The parser limits chains and nesting.
COMPILER_DEPTH = 12_000
START = py.NOWHERE


def compile_source(
    source: str,
    filename: str,
    *,
    test: bool = False,
    metered: bool = False,
    interruptible: bool = False,
    module: bool = False,
    session: frozenset[str] = frozenset(),
) -> Code:
    """Compiles a program.

    ``test`` includes its test blocks. ``metered`` counts steps and calls. ``interruptible`` divides operations on huge
    integers, so that they can be cancelled. ``module`` compiles it as a module. ``session`` are names defined outside of it
    (by earlier inputs of a REPL session). Raises ``LexerError`` or ``ParseError``.
    """
    from language.syntax.parser import parse

    with no_collection():
        program = parse(source, filename)
        with deep_recursion(COMPILER_DEPTH):
            return compile_program(
                program, test=test, metered=metered, interruptible=interruptible, module=module, session=session
            )


@contextmanager
def no_collection() -> Iterator[None]:
    """Disables the garbage collector meanwhile: trees grow and live until the end, so it would find nothing."""
    enabled = gc.isenabled()
    try:
        gc.disable()  # inside of ``try``: a cancellation may be delivered as soon as the call has returned
        yield
    finally:
        if enabled:
            gc.enable()


def compile_program(
    program: nodes.Program,
    *,
    test: bool = False,
    metered: bool = False,
    interruptible: bool = False,
    module: bool = False,
    session: frozenset[str] = frozenset(),
) -> Code:
    """Compiles a parsed program; see :func:`compile_source`."""
    tree, em = _python_module(program, test, metered, module, session, interruptible=interruptible)
    try:
        code = _code_object(tree)
    except RecursionError:
        # An expression nested as deep as the parser allows can be too deep for CPython's compiler: every call then gets a
        # statement.
        tree, em = _python_module(program, test, metered, module, session, interruptible=interruptible, flat=True)
        code = _code_object(tree)
    families = {name: em.builtins[name].family for name in em.shared_builtins | em.context_builtins if name in em.builtins}
    own = {variable.name for variable in em.resolution.prebound}
    constants = {name: CONSTANT_FAMILIES()[name] for name in em.shared_builtins if name not in em.builtins}
    return Code(
        code,
        filename="",
        families=families,
        constants=constants,
        context_builtins=tuple(sorted(em.context_builtins)),
        decimals=tuple(em.decimals.items()),
        deprecated=tuple(sorted(n for n in families if em.builtins[n].alias_of is not None and n not in own)),
        metered=metered,
        refusal=startup_refusal(program, module=module),
    )


def python_source(source: str, *, test: bool = False) -> str:
    """The Python code that a program is compiled to, as text."""
    from language.syntax.parser import parse

    tree, _ = _python_module(parse(source, "<source>"), test, False, False, frozenset())
    return ast.unparse(tree)


def CONSTANT_FAMILIES() -> dict[str, str]:
    from language import library

    return {name: family for name, (family, _) in library().all_constants().items()}


_silencing = Lock()


@uncancellable
def _code_object(tree: ast.Module) -> CodeType:
    # Python warns about constants of the program (`1()`). Its filters belong to the process, so only one thread at a time uses
    # them. Their lock belongs to the standard library and is not safe against asynchronous exceptions, so this function is
    # uncancellable.
    with _silencing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(tree, "<program>", "exec", dont_inherit=True)


def _python_module(
    program: nodes.Program,
    test: bool,
    metered: bool,
    module: bool,
    session: frozenset[str],
    *,
    interruptible: bool = False,
    flat: bool = False,
) -> tuple[ast.Module, Emitter]:
    from language import library

    builtins = library().all_builtins()
    constants = frozenset(library().all_constants())
    resolution = resolve(program, module=module, with_tests=test, session=session)
    open_globals = resolution.uses_modules or module or bool(session)
    em = Emitter(
        resolution,
        Kinds(resolution, open_globals=open_globals, builtins=builtins),
        program,
        builtins,
        constants,
        metered=metered,
        interruptible=interruptible,
        is_module=module,
        flat=flat,
    )
    em.preamble = _preamble(program)
    with em.buffer() as body:
        if open_globals or module or resolution.names_tasks:
            _expose_globals(em)
        functions.start_scope(em, resolution.top, START)
        for variable in resolution.prebound:
            em.bind(variable, py.name(em.builtin_name(variable.name), START), START)
        block(em, tuple(s for s in program.statements if not isinstance(s, nodes.Test)), None)
        if test:
            for node in program.statements:
                if isinstance(node, nodes.Test):
                    _test(em, node)
    outer_names = sorted({v.python for v in resolution.main.assigned_outer})
    assert not outer_names
    params = ["·unit", *(name + "·b" for name in sorted(em.context_builtins))]
    main = py.function(MAIN, params, [], body, START)
    lifted = lifting.lift(main, START) if _has_many_functions(em, program) else []
    return ast.Module([_declared_sets(program), *_declared_types(program), *lifted, main], []), em


def _has_many_functions(em: Emitter, program: nodes.Program) -> bool:
    constructors = 0
    for statement in program.statements:
        if isinstance(statement, nodes.TypeDef):
            constructors += 1
        elif isinstance(statement, nodes.EnumDef):
            constructors += len(statement.variants)
    functions_made = len(em.resolution.functions) + constructors
    return functions_made * (len(em.resolution.variables) + constructors) > lifting.WORTH


def _declared_sets(program: nodes.Program) -> ast.stmt:
    """The map that ``call_tool`` reads: by task, the declarations of its leading ``require`` lines."""
    declared = declared_sets(program)
    keys: list[Py | None] = [py.constant(task, START) for task in declared]
    values: list[Py] = [py.constants(tuple(tuple(pair) for pair in pairs), START) for pairs in declared.values()]
    return py.assign(DECLARED_SETS, py.placed(ast.Dict(keys, values), START), START)


def _declared_types(program: nodes.Program) -> list[ast.stmt]:
    """The map that schemas are read from: by ``name@line:column`` of a ``type``, its fields with the types that they name."""
    types = [node for node in descend(program) if isinstance(node, nodes.TypeDef)]
    if not types:
        return []
    keys: list[Py | None] = [py.constant(f"{node.name}@{node.span[0]}:{node.span[1]}", START) for node in types]
    values: list[Py] = [py.constants(tuple(tuple(field) for field in node.fields), START) for node in types]
    return [py.assign(DECLARED_TYPES, py.placed(ast.Dict(keys, values), START), START)]


def _expose_globals(em: Emitter) -> None:
    """A function that closes over every global: through its cells modules, REPL sessions and hosts access globals by name."""
    names = list(em.resolution.top.names.values())
    if not names:
        return
    reads: list[ast.stmt] = [py.expression(py.name(v.python, START), START) for v in names]
    em.emit(py.function("·globals", [], [], reads, START))
    em.emit(py.expression(py.unit_call("expose", [py.name("·globals", START)], START), START))


def _test(em: Emitter, node: nodes.Test) -> None:
    at = node.span[:2]
    identifier = f"·test{at[0]}"

    def body() -> None:
        block(em, node.body, None)

    for statement in functions.define(em, node, identifier, [], [], body, at, is_task=False):
        em.emit(statement)
    arguments: list[Py] = [py.constant(node.name, at), py.name(identifier, at)]
    em.emit(py.expression(py.unit_call("add_test", arguments, at), at))


def _preamble(program: nodes.Program) -> frozenset[int]:
    found: set[int] = set()
    for statement in program.statements:
        if isinstance(statement, nodes.Intent):
            found.add(id(statement))
        elif not isinstance(statement, nodes.Require):
            break
    return frozenset(found)
