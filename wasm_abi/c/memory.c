#include "memory.h"
#include "watch.h"

#include <malloc.h>
#include <stdint.h>
#include <string.h>

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void __real_free(void *);

size_t lang_memory_used = 0;
size_t lang_memory_bound = 0;
int lang_memory_refused = 0;
int lang_clear_freed = 0;

/* Larger requests are refused: for nearly 4 GiB the C library's size computation overflows and it returns a small block. */
#define MOST 0x7fffffffu

static int refused(size_t more) {
    if (more > MOST)
        return 1;
    if (!lang_memory_bound || (lang_memory_used <= lang_memory_bound && more <= lang_memory_bound - lang_memory_used))
        return 0;
    if (lang_memory_refused)
        return 1;
    lang_memory_refused = 1;
    lang_watch_soon();
    lang_memory_bound = lang_memory_used + LANG_MEMORY_SPARE;
    return more > LANG_MEMORY_SMALL;
}

static void *counted(void *block) {
    if (block)
        lang_memory_used += malloc_usable_size(block);
    return block;
}

void *__wrap_malloc(size_t length) { return refused(length) ? NULL : counted(__real_malloc(length)); }

void *__wrap_calloc(size_t count, size_t length) {
    size_t total;
    if (__builtin_mul_overflow(count, length, &total) || refused(total))
        return NULL;
    return counted(__real_calloc(count, length));
}

void *__wrap_realloc(void *block, size_t length) {
    size_t before = block ? malloc_usable_size(block) : 0;
    if (length > before && refused(length - before))
        return NULL;
    void *moved;
    if (lang_clear_freed && block && length > before) {
        /* The old block must be cleared too. */
        moved = __real_malloc(length);
        if (moved) {
            memcpy(moved, block, before);
            memset(block, 0, before);
            __real_free(block);
        }
    } else {
        moved = __real_realloc(block, length);
    }
    if (moved)
        lang_memory_used += malloc_usable_size(moved) - before;
    return moved;
}

void __wrap_free(void *block) {
    if (!block)
        return;
    size_t length = malloc_usable_size(block);
    lang_memory_used -= length;
    if (lang_clear_freed)
        memset(block, 0, length);
    __real_free(block);
}

void *lang_memory_for_host(size_t length) {
    return length > MOST ? NULL : counted(__real_malloc(length ? length : 1));
}
