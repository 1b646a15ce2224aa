/* Argon2 (RFC 9106) from the reference implementation: the module `_argon2` of the WebAssembly builds. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <argon2.h>

PyDoc_STRVAR(raw_doc,
             "raw(kind, version, memory, time, lanes, password, salt, length) -> bytes\n\n"
             "The raw hash. kind: 0, 1, 2 for d, i, id; memory in KiB. Raises ValueError with the reason.");

static PyObject *raw(PyObject *self, PyObject *arguments) {
    unsigned int kind, version, memory, time, lanes;
    Py_buffer password, salt;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "IIIIIy*y*n", &kind, &version, &memory, &time, &lanes, &password, &salt, &length))
        return NULL;
    PyObject *hash = length < 0 ? NULL : PyBytes_FromStringAndSize(NULL, length);
    if (hash) {
        argon2_context context = {
            .out = (uint8_t *)PyBytes_AS_STRING(hash),
            .outlen = (uint32_t)length,
            .pwd = password.buf,
            .pwdlen = (uint32_t)password.len,
            .salt = salt.buf,
            .saltlen = (uint32_t)salt.len,
            .t_cost = time,
            .m_cost = memory,
            .lanes = lanes,
            .threads = 1,
            .version = version,
            .flags = ARGON2_DEFAULT_FLAGS,
        };
        int failure = argon2_ctx(&context, (argon2_type)kind);
        if (failure != ARGON2_OK) {
            PyErr_SetString(PyExc_ValueError, argon2_error_message(failure));
            Py_CLEAR(hash);
        }
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "the length is negative");
    }
    PyBuffer_Release(&password);
    PyBuffer_Release(&salt);
    return hash;
}

static PyMethodDef methods[] = {{"raw", raw, METH_VARARGS, raw_doc}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_argon2", .m_size = -1, .m_methods = methods};

PyObject *_argon2_module(void) { return PyModule_Create(&definition); }
