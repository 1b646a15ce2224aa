/* Starting the interpreter inside a module, once, before its memory is written out as the module that ships. */
#ifndef LANG_BOOT_H
#define LANG_BOOT_H

#include <Python.h>
#include <stdint.h>

/* Written by the build: the marshalled modules of a build and where each lies in them. */
extern struct _frozen lang_frozen[];
extern unsigned char lang_frozen_bytes[];
extern const unsigned lang_frozen_length;

/* Whether a host is there. Until then none of its functions may be called: clock and randomness answer fixed values. */
extern int lang_live;

/* Starts the interpreter, loads every frozen module, runs `prepare()` of `entry` and keeps its other functions at hand. */
void lang_boot(const char *entry);

/* The function of the entry module that answers a call. */
extern PyObject *lang_entry;

/* What the interpreter may nest in C (callbacks of builtins, deep values) before it raises RecursionError. */
void lang_limit_recursion(void);

/* Clears the part of the C stack that is not in use, so that the snapshot is not full of it. */
void lang_clear_stack(void);

/* Modules of each build besides the interpreter's own. */
void lang_add_modules(void);

/* A bad but repeatable source of bytes for the time before a host is there. */
void lang_fixed_bytes(void *bytes, size_t length);

#endif
