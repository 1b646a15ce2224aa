/* The web build. WASI calls are implemented in the module itself, so that a host provides only three functions. */
#include "boot.h"
#include "memory.h"
#include "watch.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMPORT(name) __attribute__((import_module("platform_host"), import_name(#name))) extern
#define EXPORT(name) __attribute__((export_name(name)))

IMPORT(host_call) uint32_t host_call(const char *kind, uint32_t kind_length, const char *payload, uint32_t payload_length);
IMPORT(host_random_fill) int32_t host_random_fill(void *bytes, uint32_t length);
IMPORT(host_now_ms) double host_now_ms(void);

/* ---- the module _lang_host: calls of the host ---------------------------------------------------------------------------- */

double lang_now_ms(void) {
    double now = lang_live ? host_now_ms() : 1e12;
    return now >= 0 && now < 9e15 ? now : 0; /* any answer of a host becomes a valid time */
}

/* The blocks that the host has allocated since it was called. A valid answer is in one of them. */
static uint32_t lent_places[16];
static unsigned lent_count = 0;

/* The text of a packed buffer; None if it is not valid text or was not allocated by the host. */
static PyObject *unpacked(uint32_t place) {
    char *buffer = NULL;
    for (unsigned at = 0; at < lent_count && at < 16; at++)
        if (lent_places[at] == place)
            buffer = (char *)(uintptr_t)place;
    uint32_t length;
    if (!buffer || malloc_usable_size(buffer) < 4)
        Py_RETURN_NONE;
    memcpy(&length, buffer, 4);
    PyObject *text = NULL;
    if (length <= malloc_usable_size(buffer) - 4)
        text = PyUnicode_DecodeUTF8(buffer + 4, length, "strict");
    free(buffer);
    if (!text && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    return text;
}

static PyObject *call(PyObject *self, PyObject *arguments) {
    const char *kind, *payload;
    Py_ssize_t kind_length, payload_length;
    if (!PyArg_ParseTuple(arguments, "s#s#", &kind, &kind_length, &payload, &payload_length))
        return NULL;
    lent_count = 0;
    uint32_t place = host_call(kind, (uint32_t)kind_length, payload, (uint32_t)payload_length);
    lang_watch_soon(); /* the call may have taken long */
    if (!place)
        Py_RETURN_NONE;
    return unpacked(place);
}

/* Whether the host takes log lines, to which panics are written. */
static int log_lent = 0;

static PyObject *lend_log(PyObject *self, PyObject *lent) {
    log_lent = PyObject_IsTrue(lent);
    Py_RETURN_NONE;
}

static PyObject *look_soon(PyObject *self, PyObject *unused) {
    lang_watch_soon();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"call", call, METH_VARARGS, "call(kind, payload) -> text or None"},
    {"lend_log", lend_log, METH_O, "lend_log(lent): whether the host takes log lines"},
    {"look_soon", look_soon, METH_NOARGS, "look_soon(): the watch looks at the next step"},
    {"watch", lang_watch, METH_VARARGS, "watch(time_ms, memory_bytes, time_error, memory_error, limit_error); 0: no limit"},
    {"unwatch", lang_unwatch, METH_VARARGS, "unwatch(kind, error, traceback): the __exit__ of a watch"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_lang_host", .m_size = -1, .m_methods = methods};

static PyObject *host_module(void) { return PyModule_Create(&definition); }

void lang_add_modules(void) { PyImport_AppendInittab("_lang_host", host_module); }

int32_t lang_random_fill(void *bytes, uint32_t length) { return host_random_fill(bytes, length); }

/* ---- panics ----------------------------------------------------------------------------------------------------------------- */

/* The last output to standard error: the message of the interpreter before it aborts. */
static char last_words[512];
static size_t last_length = 0;

void lang_stderr(const char *bytes, size_t length) {
    if (length >= sizeof last_words) {
        bytes += length - sizeof last_words;
        length = sizeof last_words;
    }
    if (last_length + length > sizeof last_words) {
        size_t kept = sizeof last_words - length;
        memmove(last_words, last_words + last_length - kept, kept);
        last_length = kept;
    }
    memcpy(last_words + last_length, bytes, length);
    last_length += length;
}

_Noreturn void lang_panic(void) {
    static char line[sizeof last_words * 6 + 64];
    static int begun = 0;
    if (lang_live && log_lent && !begun) {
        begun = 1;
        size_t at = 0;
        const char *start = "{\"line\": \"lang-wasm: panic: ";
        memcpy(line, start, strlen(start));
        at = strlen(start);
        for (size_t byte = 0; byte < last_length; byte++) {
            unsigned char c = (unsigned char)last_words[byte];
            if (c < 32 || c > 126)
                c = c == '\n' ? ' ' : '?';
            if (c == '"' || c == '\\')
                line[at++] = '\\';
            line[at++] = (char)c;
        }
        memcpy(line + at, "\"}", 2);
        host_call("log", 3, line, (uint32_t)at + 2);
    }
    __builtin_trap();
}

_Noreturn void __wrap_abort(void) { lang_panic(); }

/* ---- exports ---------------------------------------------------------------------------------------------------------------- */

extern void __wasm_call_ctors(void);

EXPORT("wizer-initialize") void wizer_initialize(void) {
    __wasm_call_ctors();
    lang_boot("wasm_abi.guest.web");
    lang_clear_stack();
}

EXPORT("platform_alloc") void *platform_alloc(uint32_t length) {
    void *place = lang_memory_for_host(length);
    lent_places[lent_count++ % 16] = (uint32_t)(uintptr_t)place;
    return place;
}

/* The answer if there is not even enough memory for an answer. */
static char spare[512];

EXPORT("platform_free") void platform_free(void *place, uint32_t length) {
    if (place != spare)
        free(place);
}

/* A packed copy of `length` bytes; NULL without memory. */
static char *packed(const char *bytes, size_t length) {
    char *buffer = lang_memory_for_host(4 + length);
    if (buffer) {
        uint32_t count = (uint32_t)length;
        memcpy(buffer, &count, 4);
        memcpy(buffer + 4, bytes, length);
    }
    return buffer;
}

static char *packed_error(const char *text) {
    const char *form = "{\"ok\": false, \"output\": [], \"errors\": [\"%s\"], \"audit\": []}";
    uint32_t length = (uint32_t)snprintf(spare + 4, sizeof spare - 4, form, text);
    memcpy(spare, &length, 4);
    char *buffer = packed(spare + 4, length);
    return buffer ? buffer : spare;
}

EXPORT("platform_call") char *platform_call(const char *request, uint32_t length) {
    /* Stays set after a trap, and after an exception of the host that was thrown through this call. */
    static int busy = 0;
    if (busy)
        return packed_error("one call at a time: this instance is in a call, or one ended in a trap");
    busy = 1;
    lang_live = 1;
    lang_limit_recursion();
    PyObject *text = PyUnicode_DecodeUTF8(request, length, "replace");
    PyObject *answer = text ? PyObject_CallOneArg(lang_entry, text) : NULL;
    Py_XDECREF(text);
    Py_ssize_t size = 0;
    const char *bytes = answer ? PyUnicode_AsUTF8AndSize(answer, &size) : NULL;
    char *buffer = bytes ? packed(bytes, (size_t)size) : NULL;
    if (!buffer) {
        const char *reason = !answer && !PyErr_ExceptionMatches(PyExc_MemoryError) ? "Runtime error: internal error"
                                                                                     : "Runtime error: out of memory";
        PyErr_Clear();
        PyGC_Collect();
        buffer = packed_error(reason);
    }
    Py_XDECREF(answer);
    last_length = 0;
    busy = 0;
    return buffer;
}
