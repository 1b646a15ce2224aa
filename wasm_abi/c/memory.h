/* The allocator with a count and a bound: every block of the C library goes through here, Python's small ones by the arena. */
#ifndef LANG_MEMORY_H
#define LANG_MEMORY_H

#include <stddef.h>

/* Bytes in use, arenas of small blocks counted whole. */
extern size_t lang_memory_used;

/* A request that passes this bound ends the program at its next step: `lang_memory_refused` is set, the watch raises the error. It
 * is granted all the same if it is small: the interpreter does not survive a small request refused at every place, its compiler
 * above all (it may read a freed block, requests later). 0: no bound but the memory's own. */
extern size_t lang_memory_bound;
extern int lang_memory_refused;

/* Up to this a request that passes the bound is granted. */
#define LANG_MEMORY_SMALL (1u << 20)

/* What is granted beyond the bound in all: for what goes on until the next step, and for what the error sets in motion, which is
 * exceptions, frames that are left, the answer. */
#define LANG_MEMORY_SPARE (16u << 20)

/* Whether freed blocks are cleared. Python's allocator of small blocks looks here too. */
extern int lang_clear_freed;

/* Past the bound, for what belongs to the host. */
void *lang_memory_for_host(size_t length);

#endif
