"""What is changed in CPython, and why. Everything else is as it was released."""

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
    # There are no threads here that could end a program: the interpreter itself looks, where in browsers it looks for signals.
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
)
