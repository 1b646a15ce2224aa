/* WASI preview 1 for the web build: no files, no sockets, no arguments; clock and randomness are the host's. */
#include "boot.h"
#include "watch.h"

#include <string.h>
#include <wasi/api.h>

#define WASI(name) __imported_wasi_snapshot_preview1_##name
typedef int32_t i32;
typedef int64_t i64;

int32_t lang_random_fill(void *bytes, uint32_t length);
void lang_stderr(const char *bytes, size_t length);
_Noreturn void lang_panic(void);

static const i32 no_file = __WASI_ERRNO_BADF, no_entry = __WASI_ERRNO_NOENT, no_system = __WASI_ERRNO_NOSYS;

static i32 none(i32 count, i32 size) {
    *(uint32_t *)count = 0;
    *(uint32_t *)size = 0;
    return 0;
}

i32 WASI(args_get)(i32 a, i32 b) { return 0; }
i32 WASI(args_sizes_get)(i32 count, i32 size) { return none(count, size); }
i32 WASI(environ_get)(i32 a, i32 b) { return 0; }
i32 WASI(environ_sizes_get)(i32 count, i32 size) { return none(count, size); }

i32 WASI(clock_res_get)(i32 clock, i32 place) {
    *(uint64_t *)place = 1000000;
    return 0;
}

i32 WASI(clock_time_get)(i32 clock, i64 precision, i32 place) {
    *(uint64_t *)place = (uint64_t)(lang_now_ms() * 1e6);
    return 0;
}

i32 WASI(random_get)(i32 place, i32 length) {
    if (lang_live)
        return lang_random_fill((void *)place, (uint32_t)length) ? __WASI_ERRNO_IO : 0;
    lang_fixed_bytes((void *)place, (size_t)length);
    return 0;
}

i32 WASI(fd_write)(i32 fd, i32 vectors, i32 count, i32 written) {
    if (fd != 1 && fd != 2)
        return no_file;
    const __wasi_ciovec_t *piece = (const void *)vectors;
    uint32_t total = 0;
    for (i32 at = 0; at < count; at++) {
        if (fd == 2)
            lang_stderr((const char *)piece[at].buf, piece[at].buf_len);
        total += piece[at].buf_len;
    }
    *(uint32_t *)written = total;
    return 0;
}

i32 WASI(fd_read)(i32 fd, i32 vectors, i32 count, i32 got) {
    *(uint32_t *)got = 0;
    return fd == 0 ? 0 : no_file;
}

i32 WASI(fd_close)(i32 fd) { return fd > 2 ? no_file : 0; }

/* zig's C library imports this one under its bare name. */
i32 zig_fd_close(i32 fd) __asm__("fd_close|wasi_snapshot_preview1");
i32 zig_fd_close(i32 fd) { return WASI(fd_close)(fd); }

i32 WASI(fd_fdstat_get)(i32 fd, i32 place) {
    if (fd < 0 || fd > 2)
        return no_file;
    __wasi_fdstat_t *found = (void *)place;
    memset(found, 0, sizeof *found);
    found->fs_filetype = __WASI_FILETYPE_CHARACTER_DEVICE;
    found->fs_rights_base = fd == 0 ? __WASI_RIGHTS_FD_READ : __WASI_RIGHTS_FD_WRITE;
    return 0;
}

i32 WASI(fd_filestat_get)(i32 fd, i32 place) {
    if (fd < 0 || fd > 2)
        return no_file;
    __wasi_filestat_t *found = (void *)place;
    memset(found, 0, sizeof *found);
    found->filetype = __WASI_FILETYPE_CHARACTER_DEVICE;
    return 0;
}

_Noreturn void WASI(proc_exit)(i32 code) { lang_panic(); }
i32 WASI(sched_yield)(void) { return 0; }
i32 WASI(poll_oneoff)(i32 a, i32 b, i32 c, i32 d) { return no_system; }

i32 WASI(fd_advise)(i32 a, i64 b, i64 c, i32 d) { return no_file; }
i32 WASI(fd_allocate)(i32 a, i64 b, i64 c) { return no_file; }
i32 WASI(fd_datasync)(i32 a) { return no_file; }
i32 WASI(fd_fdstat_set_flags)(i32 a, i32 b) { return no_file; }
i32 WASI(fd_fdstat_set_rights)(i32 a, i64 b, i64 c) { return no_file; }
i32 WASI(fd_filestat_set_size)(i32 a, i64 b) { return no_file; }
i32 WASI(fd_filestat_set_times)(i32 a, i64 b, i64 c, i32 d) { return no_file; }
i32 WASI(fd_pread)(i32 a, i32 b, i32 c, i64 d, i32 e) { return no_file; }
i32 WASI(fd_prestat_get)(i32 a, i32 b) { return no_file; }
i32 WASI(fd_prestat_dir_name)(i32 a, i32 b, i32 c) { return no_file; }
i32 WASI(fd_pwrite)(i32 a, i32 b, i32 c, i64 d, i32 e) { return no_file; }
i32 WASI(fd_readdir)(i32 a, i32 b, i32 c, i64 d, i32 e) { return no_file; }
i32 WASI(fd_renumber)(i32 a, i32 b) { return no_file; }
i32 WASI(fd_seek)(i32 a, i64 b, i32 c, i32 d) { return __WASI_ERRNO_SPIPE; }
i32 WASI(fd_sync)(i32 a) { return no_file; }
i32 WASI(fd_tell)(i32 a, i32 b) { return __WASI_ERRNO_SPIPE; }

i32 WASI(path_create_directory)(i32 a, i32 b, i32 c) { return no_entry; }
i32 WASI(path_filestat_get)(i32 a, i32 b, i32 c, i32 d, i32 e) { return no_entry; }
i32 WASI(path_filestat_set_times)(i32 a, i32 b, i32 c, i32 d, i64 e, i64 f, i32 g) { return no_entry; }
i32 WASI(path_link)(i32 a, i32 b, i32 c, i32 d, i32 e, i32 f, i32 g) { return no_entry; }
i32 WASI(path_open)(i32 a, i32 b, i32 c, i32 d, i32 e, i64 f, i64 g, i32 h, i32 i) { return no_entry; }
i32 WASI(path_readlink)(i32 a, i32 b, i32 c, i32 d, i32 e, i32 f) { return no_entry; }
i32 WASI(path_remove_directory)(i32 a, i32 b, i32 c) { return no_entry; }
i32 WASI(path_rename)(i32 a, i32 b, i32 c, i32 d, i32 e, i32 f) { return no_entry; }
i32 WASI(path_symlink)(i32 a, i32 b, i32 c, i32 d, i32 e) { return no_entry; }
i32 WASI(path_unlink_file)(i32 a, i32 b, i32 c) { return no_entry; }

i32 WASI(sock_accept)(i32 a, i32 b, i32 c) { return no_system; }
i32 WASI(sock_recv)(i32 a, i32 b, i32 c, i32 d, i32 e, i32 f) { return no_system; }
i32 WASI(sock_send)(i32 a, i32 b, i32 c, i32 d, i32 e) { return no_system; }
i32 WASI(sock_shutdown)(i32 a, i32 b) { return no_system; }
