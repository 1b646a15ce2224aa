"""Compiles modules into one blob and a C table of them. Must be run by the Python version whose bytecode is needed, not by that
of the build script::

    python -I -S -X no_debug_ranges freeze.py PLAN.json

The plan: ``own`` (name to file), ``foreign`` (modules of Python to import), ``blocked`` (modules to find missing), ``roots``
(where their files lie: Python's library in its sources, packages), ``data`` (name to file of modules that the build made or
puts in the place of others), ``out`` (base of the products).
"""

import json
import marshal
import os
import sys

#: Modules that Python loads by name when it needs them, without an import statement that could be found.
LATE = ("_pylong", "encodings.aliases", "encodings.ascii", "encodings.latin_1", "encodings.utf_8", "warnings")

#: The frozen modules that the interpreter needs at its start. Its other frozen modules contain docstrings, so they are replaced
#: by ours without.
HELD = {"_frozen_importlib", "_frozen_importlib_external", "importlib._bootstrap", "importlib._bootstrap_external", "zipimport"}


class Blocked:
    """An import hook that reports modules as missing that the target does not have."""

    def __init__(self, names):
        self.names = frozenset(names)

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def foreign_modules(plan):
    """The files of all modules that the wanted ones load, except those that the interpreter itself contains."""
    sys.path.extend(plan["roots"][1:])
    sys.meta_path.insert(0, Blocked(plan["blocked"]))
    for name in plan["blocked"]:
        sys.modules.pop(name, None)
    for name, file in plan["data"].items():
        module = sys.modules[name] = type(sys)(name)
        exec(compile(read(file), file, "exec"), vars(module))
    for name in [*plan["foreign"], *LATE]:
        __import__(name)
    found = {}
    for name in sorted(sys.modules):
        if name not in HELD and name != "__main__":
            bases = [os.path.join(root, *name.split(".")) for root in plan["roots"]]
            files = [file for base in bases for file in (os.path.join(base, "__init__.py"), base + ".py")]
            file = next(filter(os.path.isfile, files), None)
            if file is not None:
                found[name] = file
    return found


def without_annotations(source, name):
    """The code of a module without the annotations of its functions, which nothing reads at run time.

    Annotations of classes stay, because dataclasses and named tuples are made from them.
    """
    import ast

    tree = ast.parse(source, name)
    classes = {id(statement) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for statement in node.body}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign) and id(node) not in classes and isinstance(node.target, ast.Name):
            # With `from __future__ import annotations` annotations are kept as text; 0 is the shortest one.
            node.annotation = ast.copy_location(ast.Constant(0), node.annotation)
    return tree


def without_lines(code, texts):
    """The code without its line table, which is a tenth of its size: errors show only positions in the program."""
    units, last = divmod(len(code.co_code) // 2, 8)
    nowhere = b"\xff" * units + bytes([0xF7 + last] if last else [])  # "no location", for up to eight instructions each
    inner = tuple(without_lines(one, texts) if isinstance(one, type(code)) else settled(one, texts) for one in code.co_consts)
    return code.replace(co_linetable=nowhere, co_consts=inner)


def settled(constant, texts):
    """The constant with only those texts interned that the compiler interns (names), because this process may have interned
    others.
    """
    if isinstance(constant, tuple):
        return tuple(settled(one, texts) for one in constant)
    if not isinstance(constant, str):
        return constant
    if constant not in texts:
        name = constant.isascii() and constant.replace("_", "a").isalnum()
        texts[constant] = (
            sys.intern(constant) if name else constant.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
        )
    return texts[constant]


def parts(thing):
    """All parts of a code object or a constant, itself included."""
    yield thing
    if isinstance(thing, type(parts.__code__)):
        yield from (thing.co_filename, thing.co_name, thing.co_qualname, thing.co_linetable, thing.co_exceptiontable)
        inside = (thing.co_consts, thing.co_names, thing.co_varnames, thing.co_cellvars, thing.co_freevars)
    else:
        inside = thing if isinstance(thing, (tuple, frozenset)) else ()
    for part in inside:
        yield from parts(part)


def marshalled(code):
    """The bytes of a code object, independent of the state of this process.

    ``marshal`` writes objects with one reference differently from objects with several; here every object gets a second
    reference.
    """
    held = list(parts(code))
    data = marshal.dumps(code)
    held.clear()
    return data


def read(file):
    with open(file, "rb") as opened:
        return opened.read()


def main():
    plan = json.loads(read(sys.argv[1]))
    modules = foreign_modules(plan)
    modules.update(plan["own"])
    modules.update(plan["data"])
    blob = bytearray()
    table = []
    for name, file in sorted(modules.items()):
        where = f"<frozen {name}>"
        code = compile(without_annotations(read(file), where), where, "exec", dont_inherit=True, optimize=2)
        data = marshalled(without_lines(code, {}))
        table.append((name, len(blob), len(data), int(os.path.basename(file) == "__init__.py")))
        blob += data
    out = plan["out"]
    with open(out + ".bin", "wb") as product:
        product.write(blob)
    rows = "\n".join(f'    {{"{name}", lang_frozen_bytes + {at}, {size}, {package}}},' for name, at, size, package in table)
    with open(out + ".c", "w") as product:
        product.write(
            '#include "boot.h"\n\n'
            f"const unsigned lang_frozen_length = {len(blob)};\n"
            "/* Not constant: cleared when everything is loaded. */\n"
            f'unsigned char lang_frozen_bytes[{len(blob)}] = {{\n#embed "{os.path.basename(out)}.bin"\n}};\n'
            f"struct _frozen lang_frozen[] = {{\n{rows}\n    {{0, 0, 0, 0}},\n}};\n"
        )
    json.dump([[name, size] for name, _, size, _ in table], sys.stdout)


if __name__ == "__main__":
    main()
