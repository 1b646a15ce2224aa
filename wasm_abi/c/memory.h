/* An allocator with a counter and a limit for all blocks of the C library. Python's small blocks count as whole arenas. */
#ifndef LANG_MEMORY_H
#define LANG_MEMORY_H

#include <stddef.h>

/* Bytes in use; arenas of small blocks count as a whole. */
extern size_t lang_memory_used;

/* A request beyond this limit ends the program at its next step: `lang_memory_refused` is set, and the watch raises the error.
 * A small request is granted nevertheless, because the interpreter does not handle the failure of a small allocation
 * everywhere, least of all in its compiler, which may then read a freed block. 0: no limit except the size of the memory. */
extern size_t lang_memory_bound;
extern int lang_memory_refused;

/* A request beyond the limit is granted up to this size. */
#define LANG_MEMORY_SMALL (1u << 20)

/* The total that is granted beyond the limit: for the work until the next step, and for handling the error (exceptions,
 * unwinding of frames, the answer). */
#define LANG_MEMORY_SPARE (16u << 20)

/* Whether freed blocks are cleared. Python's allocator of small blocks reads this too. */
extern int lang_clear_freed;

/* Allocate beyond the limit, for data of the host. */
void *lang_memory_for_host(size_t length);

#endif
