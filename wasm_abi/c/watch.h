/* Limits without threads: the interpreter counts down at every loop iteration and call, and checks clock and memory at zero. */
#ifndef LANG_WATCH_H
#define LANG_WATCH_H

#include <Python.h>

/* Unix time in milliseconds, as the host tells it. */
double lang_now_ms(void);

/* Makes the interpreter check as soon as possible. */
void lang_watch_soon(void);

/* Functions of the module `_lang_host`: watch(time_ms, memory_bytes, time_error, memory_error, limit_error) and
 * unwatch(kind, error, traceback). */
PyObject *lang_watch(PyObject *self, PyObject *arguments);
PyObject *lang_unwatch(PyObject *self, PyObject *arguments);

#endif
