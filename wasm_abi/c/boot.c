#include "boot.h"
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PyObject *_argon2_module(void);

int lang_live = 0;
PyObject *lang_entry = NULL;

/* ---- a snapshot that compresses well: unused memory is cleared -------------------------------------------------------- */

__attribute__((noinline)) void lang_clear_stack(void) {
    volatile char here;
    uintptr_t end = (uintptr_t)&here - 1024;
    /* The stack is the first region of memory and grows down towards its beginning. */
    for (volatile uint64_t *word = (uint64_t *)1024; (uintptr_t)word < end; word++)
        *word = 0;
}

/* ---- zig 0.17's log2() is wrong for subnormal numbers ------------------------------------------------------------------ */

double __real_log2(double);

double __wrap_log2(double x) {
    return x > 0 && x < 0x1p-1022 ? __real_log2(x * 0x1p54) - 54 : __real_log2(x);
}

/* ---- the interpreter ----------------------------------------------------------------------------------------------------- */

/* A level takes up to 400 bytes of the host's stack, so these fit into the smallest known one, 512 KiB in wasmtime. */
#define C_RECURSION 1000

/* Additional levels while a program is compiled: 200 nested blocks take 900. */
int lang_compile_recursion = 800;

void lang_limit_recursion(void) { PyThreadState_Get()->c_recursion_remaining = C_RECURSION; }

void lang_fixed_bytes(void *bytes, size_t length) {
    static uint32_t state = 0x9e3779b9;
    for (size_t at = 0; at < length; at++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        ((uint8_t *)bytes)[at] = (uint8_t)state;
    }
}

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "lang-wasm: cannot start: %s\n", what);
    if (PyErr_Occurred())
        PyErr_Print();
    fflush(stderr);
    abort();
}

static void check(PyStatus status) {
    if (PyStatus_Exception(status))
        fail(status.err_msg ? status.err_msg : "no memory");
}

static void start_interpreter(void) {
    PyPreConfig before;
    PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1;
    before.configure_locale = 0;
    before.coerce_c_locale = 0;
    check(Py_PreInitialize(&before));

    PyImport_FrozenModules = lang_frozen;
    PyImport_AppendInittab("_argon2", _argon2_module);
    lang_add_modules();

    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    config.install_signal_handlers = 0;
    config.pathconfig_warnings = 0;
    config.parse_argv = 0;
    config.write_bytecode = 0;
    /* A random seed for every instance would be safer, but the texts in the snapshot already contain their hashes. */
    config.use_hash_seed = 1;
    config.hash_seed = 0;
    /* Columns in the errors of programs come from the positions in their compiled code. */
    config.code_debug_ranges = 1;
    config.module_search_paths_set = 1;
    struct {
        wchar_t **where;
        const wchar_t *text;
    } texts[] = {
        {&config.program_name, L"lang"},       {&config.executable, L""},
        {&config.home, L"/"},                  {&config.prefix, L"/"},
        {&config.exec_prefix, L"/"},           {&config.base_prefix, L"/"},
        {&config.base_exec_prefix, L"/"},      {&config.base_executable, L""},
        {&config.stdlib_dir, L""},             {&config.filesystem_encoding, L"utf-8"},
        {&config.filesystem_errors, L"surrogateescape"}, {&config.stdio_encoding, L"utf-8"},
        {&config.stdio_errors, L"surrogateescape"},
    };
    for (size_t at = 0; at < sizeof texts / sizeof *texts; at++)
        check(PyConfig_SetString(&config, texts[at].where, texts[at].text));
    check(Py_InitializeFromConfig(&config));
    PyConfig_Clear(&config);
}

static void clear_bytes_of(const struct _frozen *modules) {
    for (; modules->name; modules++)
        if (modules->code) {
            volatile unsigned char *byte = (unsigned char *)modules->code;
            for (int at = 0; at < modules->size; at++)
                byte[at] = 0;
        }
}

extern const struct _frozen *_PyImport_FrozenBootstrap, *_PyImport_FrozenStdlib, *_PyImport_FrozenTest;

void lang_boot(const char *entry) {
    lang_clear_freed = 1;
    start_interpreter();
    /* Modules that are not loaded now cannot be loaded later, because the bytes of all modules are cleared below. */
    for (struct _frozen *module = lang_frozen; module->name; module++) {
        PyObject *loaded = PyImport_ImportModule(module->name);
        if (!loaded)
            fail(module->name);
        Py_DECREF(loaded);
    }
    PyObject *module = PyImport_ImportModule(entry);
    PyObject *prepared = module ? PyObject_CallMethod(module, "prepare", NULL) : NULL;
    lang_entry = module ? PyObject_GetAttrString(module, "answer") : NULL;
    if (!prepared || !lang_entry)
        fail(entry);
    Py_DECREF(prepared);
    Py_DECREF(module);
    memset(lang_frozen_bytes, 0, lang_frozen_length);
    memset(lang_frozen, 0, sizeof(struct _frozen));
    clear_bytes_of(_PyImport_FrozenBootstrap);
    clear_bytes_of(_PyImport_FrozenStdlib);
    clear_bytes_of(_PyImport_FrozenTest);
    fflush(stdout);
    fflush(stderr);
    lang_clear_freed = 0;
}
