"""The changes to CPython, with their reasons. Everything else is as released."""

from __future__ import annotations

from wasm_abi.build.sources import Change

CHANGES = (
    # Freed small blocks are cleared while the interpreter boots: a snapshot full of dead bytes compresses badly.
    Change(
        "Objects/obmalloc.c",
        "    assert(pool->ref.count > 0);            /* else it was empty */\n    pymem_block *lastfree = pool->freeblock;\n",
        "    assert(pool->ref.count > 0);            /* else it was empty */\n"
        "    if (lang_clear_freed) {\n"
        "        memset(p, 0, INDEX2SIZE(pool->szidx));\n"
        "    }\n"
        "    pymem_block *lastfree = pool->freeblock;\n",
    ),
    Change(
        "Objects/obmalloc.c",
        '#include "Python.h"\n',
        '#include "Python.h"\n\nextern int lang_clear_freed; /* wasm_abi/c/memory.c */\n',
    ),
    # There is no watchdog thread here that could cancel a program: the interpreter itself checks, at the point where builds for
    # browsers check for signals.
    Change(
        "Include/internal/pycore_emscripten_signal.h",
        "#if defined(__EMSCRIPTEN__)\n",
        "#if defined(__wasi__) /* wasm_abi/c/watch.c */\n"
        "\n"
        "extern int Py_EMSCRIPTEN_SIGNAL_HANDLING;\n"
        "extern int _Py_emscripten_signal_clock;\n"
        "void lang_watch_look(void);\n"
        "#define _Py_CHECK_EMSCRIPTEN_SIGNALS()\n"
        "#define _Py_CHECK_EMSCRIPTEN_SIGNALS_PERIODICALLY() \\\n"
        "    do { \\\n"
        "        if (Py_EMSCRIPTEN_SIGNAL_HANDLING) { \\\n"
        "            if (_Py_emscripten_signal_clock == 0) { \\\n"
        "                lang_watch_look(); \\\n"
        "            } \\\n"
        "            else { \\\n"
        "                _Py_emscripten_signal_clock--; \\\n"
        "            } \\\n"
        "        } \\\n"
        "    } while (0)\n"
        "\n"
        "#elif defined(__EMSCRIPTEN__)\n",
    ),
    Change(
        "Python/generated_cases.c.h",
        "            #if defined(__EMSCRIPTEN__)\n            DEOPT_IF(_Py_emscripten_signal_clock == 0, RESUME);\n",
        "            #if defined(__wasi__)\n            DEOPT_IF(_Py_emscripten_signal_clock == 0, RESUME);\n",
    ),
    # Compiling a tree uses far less stack for each level than a call, and the parser already limits the depth.
    Change(
        "Python/bltinmodule.c",
        "    int is_ast;\n    int start[]",
        "    int is_ast = 0;\n    extern int lang_compile_recursion; /* wasm_abi/c/boot.c */\n    int start[]",
    ),
    Change(
        "Python/bltinmodule.c",
        "    is_ast = PyAST_Check(source);\n    if (is_ast == -1)\n        goto error;\n    if (is_ast) {\n",
        "    is_ast = PyAST_Check(source);\n    if (is_ast == -1)\n        goto error;\n    if (is_ast) {\n"
        "        _PyThreadState_GET()->c_recursion_remaining += lang_compile_recursion;\n",
    ),
    Change(
        "Python/bltinmodule.c",
        "error:\n    result = NULL;\nfinally:\n    Py_DECREF(filename);\n    return result;\n}\n\n"
        "/* AC: cannot convert yet, as needs PEP 457 group support in inspect */\nstatic PyObject *\nbuiltin_dir(",
        "error:\n    result = NULL;\nfinally:\n"
        "    if (is_ast > 0) {\n        _PyThreadState_GET()->c_recursion_remaining -= lang_compile_recursion;\n    }\n"
        "    Py_DECREF(filename);\n    return result;\n}\n\n"
        "/* AC: cannot convert yet, as needs PEP 457 group support in inspect */\nstatic PyObject *\nbuiltin_dir(",
    ),
    # The names in compiled code would never be freed: the memory of an instance that answers many programs must not grow.
    Change(
        "Objects/codeobject.c",
        "        _PyUnicode_InternImmortal(interp, &_PyTuple_ITEMS(tuple)[i]);\n",
        "        _PyUnicode_InternMortal(interp, &_PyTuple_ITEMS(tuple)[i]);\n",
    ),
    # When a closure could not be allocated, its code was released twice.
    Change(
        "Python/generated_cases.c.h",
        "            PyFunction_New(codeobj, GLOBALS());\n            Py_DECREF(codeobj);\n"
        "            if (func_obj == NULL) {\n                goto error;\n            }\n",
        "            PyFunction_New(codeobj, GLOBALS());\n"
        "            if (func_obj == NULL) {\n                goto error;\n            }\n            Py_DECREF(codeobj);\n",
    ),
)
