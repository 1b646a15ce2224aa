#include "watch.h"
#include "memory.h"

/* Names of the interpreter, from its check for signals in browsers (Include/internal/pycore_emscripten_signal.h). */
int Py_EMSCRIPTEN_SIGNAL_HANDLING = 0; /* whether anything is watched */
int _Py_emscripten_signal_clock = 1;   /* loop iterations and calls until the next check */

/* Loop iterations and calls between two checks. After a limit was exceeded, the same between two attempts to raise the error,
 * because it may have been raised where code of the runtime discarded it. */
#define EVERY 1024
#define AGAIN 64

static double deadline;
static PyObject *time_error, *memory_error; /* classes to raise */
static PyObject *limit_error;               /* their base, the error of every limit */
static PyObject *raised;

static void raise_in_program(PyObject *error) {
    PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), error);
    lang_memory_refused = 0;
    raised = error;
}

void lang_watch_look(void) {
    if (!raised) {
        if (lang_memory_refused && memory_error)
            raise_in_program(memory_error);
        else if (time_error && lang_now_ms() >= deadline)
            raise_in_program(time_error);
    } else {
        raise_in_program(raised);
    }
    _Py_emscripten_signal_clock = raised ? AGAIN : EVERY;
}

void lang_watch_soon(void) {
    if (Py_EMSCRIPTEN_SIGNAL_HANDLING)
        _Py_emscripten_signal_clock = 0;
}

PyObject *lang_watch(PyObject *self, PyObject *arguments) {
    double time_ms;
    unsigned long long memory;
    PyObject *when_late, *when_full, *base;
    if (!PyArg_ParseTuple(arguments, "dKOOO", &time_ms, &memory, &when_late, &when_full, &base))
        return NULL;
    Py_XSETREF(limit_error, Py_NewRef(base));
    deadline = lang_now_ms() + time_ms;
    time_error = time_ms > 0 ? Py_NewRef(when_late) : NULL;
    memory_error = memory ? Py_NewRef(when_full) : NULL;
    raised = NULL;
    lang_memory_refused = 0;
    lang_memory_bound = 0;
    if (memory && memory < SIZE_MAX - lang_memory_used)
        lang_memory_bound = lang_memory_used + (size_t)memory;
    _Py_emscripten_signal_clock = EVERY;
    Py_EMSCRIPTEN_SIGNAL_HANDLING = time_error || memory_error;
    Py_RETURN_NONE;
}

/* Ends the watch, as the `__exit__` of a context manager; afterwards the watch raises nothing. Raises the error of the watch,
 * or the memory error after a refused request, unless the error of a limit is already being raised. This is a C function,
 * because the error could be raised at the beginning of a Python function, before the watch has ended, and the watch would
 * continue. */
PyObject *lang_unwatch(PyObject *self, PyObject *arguments) {
    Py_EMSCRIPTEN_SIGNAL_HANDLING = 0;
    _Py_emscripten_signal_clock = 1;
    PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), NULL);
    PyObject *found = raised ? raised : lang_memory_refused ? memory_error : NULL;
    Py_XINCREF(found);
    lang_memory_bound = 0;
    lang_memory_refused = 0;
    raised = NULL;
    Py_CLEAR(time_error);
    Py_CLEAR(memory_error);
    PyObject *kind, *error, *traceback;
    int known = PyArg_ParseTuple(arguments, "OOO", &kind, &error, &traceback);
    if (known && found && !(PyType_Check(kind) && PyType_IsSubtype((PyTypeObject *)kind, (PyTypeObject *)limit_error)))
        PyErr_SetNone(found);
    Py_XDECREF(found);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}
