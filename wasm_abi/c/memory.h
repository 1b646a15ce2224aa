/* The allocator with a count and a bound: every block of the C library goes through here, Python's small ones by the arena. */
#ifndef LANG_MEMORY_H
#define LANG_MEMORY_H

#include <stddef.h>

/* Bytes in use, arenas of small blocks counted whole. */
extern size_t lang_memory_used;

/* Above this a request is refused, and `lang_memory_refused` set; 0: no bound but the memory's own. */
extern size_t lang_memory_bound;
extern int lang_memory_refused;

/* Room for whatever a refusal sets in motion: exceptions, frames that are left, the answer. */
#define LANG_MEMORY_SPARE (4u << 20)

/* Whether freed blocks are cleared. Python's allocator of small blocks looks here too. */
extern int lang_clear_freed;

/* Past the bound, for what belongs to the host. */
void *lang_memory_for_host(size_t length);

#endif
