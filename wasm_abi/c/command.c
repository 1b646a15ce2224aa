/* The wasip1 build: a command over WASI preview 1. */
#include "boot.h"
#include "watch.h"

#include <stdlib.h>
#include <string.h>
#include <wasi/libc-environ.h>

#define WASI_IMPORT(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name))) extern
#define EXPORT(name) __attribute__((export_name(name)))

WASI_IMPORT(random_get) int32_t real_random_get(int32_t place, int32_t length);
WASI_IMPORT(clock_time_get) int32_t real_clock_time_get(int32_t clock, int64_t precision, int32_t place);

/* Both answer fixed values while the snapshot is made: it must not hold anything of the machine that made it. */
int32_t __imported_wasi_snapshot_preview1_random_get(int32_t place, int32_t length) {
    if (lang_live)
        return real_random_get(place, length);
    lang_fixed_bytes((void *)place, (size_t)length);
    return 0;
}

int32_t __imported_wasi_snapshot_preview1_clock_time_get(int32_t clock, int64_t precision, int32_t place) {
    if (lang_live)
        return real_clock_time_get(clock, precision, place);
    *(uint64_t *)place = 1000000000000000000u;
    return 0;
}

/* Nothing is watched here: who runs a command ends it from outside. */
double lang_now_ms(void) { return 0; }

void lang_add_modules(void) {}

void __wasilibc_reset_preopens(void);
extern void __wasm_call_ctors(void);
extern void __wasm_call_dtors(void);
extern int __main_void(void);

EXPORT("wizer-initialize") void wizer_initialize(void) {
    __wasm_call_ctors();
    lang_boot("wasm_abi.guest.command");
    lang_clear_stack();
    /* Folders and environment are those of the machine that runs the module, not of the one that makes it. */
    __wasilibc_deinitialize_environ();
    __wasilibc_reset_preopens();
}

/* Takes the place of _start in the snapshot: constructors must not run again. */
EXPORT("wizer.resume") void wizer_resume(void) {
    int code = __main_void();
    __wasm_call_dtors();
    if (code)
        exit(code);
}

extern char **environ;

static PyObject *environment(void) {
    (void)getenv("PATH"); /* reads the environment of this process */
    PyObject *list = PyList_New(0);
    for (char **entry = environ; list && entry && *entry; entry++) {
        PyObject *bytes = PyBytes_FromString(*entry);
        if (!bytes || PyList_Append(list, bytes) < 0)
            Py_CLEAR(list);
        Py_XDECREF(bytes);
    }
    return list;
}

int main(int count, char **words) {
    lang_live = 1;
    lang_limit_recursion();
    PyObject *arguments = PyList_New(0);
    for (int at = 1; arguments && at < count; at++) {
        PyObject *word = PyUnicode_DecodeFSDefault(words[at]);
        if (!word || PyList_Append(arguments, word) < 0)
            Py_CLEAR(arguments);
        Py_XDECREF(word);
    }
    PyObject *variables = arguments ? environment() : NULL;
    PyObject *answer = variables ? PyObject_CallFunctionObjArgs(lang_entry, arguments, variables, NULL) : NULL;
    long code = answer ? PyLong_AsLong(answer) : -1;
    if (PyErr_Occurred()) {
        PyErr_Print();
        return 70;
    }
    return (int)code;
}
