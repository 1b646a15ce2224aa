/* The wasip1 build: a command over WASI preview 1. */
#include "boot.h"
#include "watch.h"

#include <stdlib.h>
#include <string.h>
#include <wasi/api.h>
#include <wasi/libc-environ.h>

#define WASI_IMPORT(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name))) extern
#define EXPORT(name) __attribute__((export_name(name)))

WASI_IMPORT(random_get) int32_t real_random_get(int32_t place, int32_t length);
WASI_IMPORT(clock_time_get) int32_t real_clock_time_get(int32_t clock, int64_t precision, int32_t place);
WASI_IMPORT(poll_oneoff) int32_t real_poll_oneoff(int32_t asked, int32_t events, int32_t count, int32_t happened);
WASI_IMPORT(sched_yield) int32_t real_sched_yield(void);

/* Both return fixed values while the snapshot is made, which must contain nothing of the machine that makes it. */
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

/*
 * A sleep asks for an absolute time of the monotonic clock. Node takes it for wall-clock time and waits forever, so a relative
 * time is requested instead. With a runtime that cannot wait at all, this polls the clock.
 */
int32_t __imported_wasi_snapshot_preview1_poll_oneoff(int32_t asked, int32_t events, int32_t count, int32_t happened) {
    __wasi_subscription_t span = *(const __wasi_subscription_t *)asked;
    if (count != 1 || span.u.tag != __WASI_EVENTTYPE_CLOCK)
        return real_poll_oneoff(asked, events, count, happened);
    __wasi_subscription_clock_t *clock = &span.u.u.clock;
    uint64_t start, now;
    int32_t failed = real_clock_time_get((int32_t)clock->id, 0, (int32_t)&start);
    if (failed)
        return failed;
    if (clock->flags & __WASI_SUBCLOCKFLAGS_SUBSCRIPTION_CLOCK_ABSTIME) {
        clock->timeout = clock->timeout > start ? clock->timeout - start : 0;
        clock->flags = 0;
    }
    failed = real_poll_oneoff((int32_t)&span, events, 1, happened);
    if (failed != __WASI_ERRNO_NOSYS)
        return failed;
    do {
        real_sched_yield();
        failed = real_clock_time_get((int32_t)clock->id, 0, (int32_t)&now);
    } while (!failed && now - start < clock->timeout);
    *(__wasi_event_t *)events = (__wasi_event_t){.userdata = span.userdata, .type = __WASI_EVENTTYPE_CLOCK};
    *(uint32_t *)happened = 1;
    return failed;
}

/* No limits are watched here: whoever runs the command can end it from outside. */
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
    /* Folders and environment must be those of the machine that runs the module, not of the one that made it. */
    __wasilibc_deinitialize_environ();
    __wasilibc_reset_preopens();
}

/* Replaces _start in the snapshot, because constructors must not run again. */
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
