/* Starts the interpreter inside a module, once, before the snapshot of its memory is taken that becomes the shipped module. */
#ifndef LANG_BOOT_H
#define LANG_BOOT_H

#include <Python.h>
#include <stdint.h>

/* Written by the build script: the marshalled modules of a build, and the offset of each. */
extern struct _frozen lang_frozen[];
extern unsigned char lang_frozen_bytes[];
extern const unsigned lang_frozen_length;

/* Whether there is a host. Until then none of its functions may be called, and clock and randomness return fixed values. */
extern int lang_live;

/* Starts the interpreter, loads every frozen module, and runs `prepare()` of the module `entry`. */
void lang_boot(const char *entry);

/* The function of the entry module that answers a call. */
extern PyObject *lang_entry;

/* Limits the nesting of C calls (callbacks of builtins, deep values), beyond which the interpreter raises RecursionError. */
void lang_limit_recursion(void);

/* Clears the unused part of the C stack, so that the snapshot compresses well. */
void lang_clear_stack(void);

/* Modules of each build besides the interpreter's own. */
void lang_add_modules(void);

/* A deterministic, weak source of random bytes until there is a host. */
void lang_fixed_bytes(void *bytes, size_t length);

#endif
