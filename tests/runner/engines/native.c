/* What attacks.py tries, by a program without an interpreter: system calls as the kernel takes them, those of 32 bits among
 * them. Each attack is one line of JSON, its name and what it got hold of; "" means nothing.
 *
 *     native PORT ABSTRACT CLOSER
 *
 * PORT: of TCP and UDP on 127.0.0.1 and ::1 of the machine. ABSTRACT: a Unix socket of the machine without a file.
 * CLOSER: 1 where calls on the own processes are refused as well.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int tried;

static void got(const char *name, int is_reached, const char *what) {
    tried++;
    printf("[\"native: %s\", \"%s\"]\n", name, is_reached ? what : "");
    fflush(stdout);
}

/* Refused is what the kernel answers to who may not, or has no such call. */
static int refused(long result) { return result == -1 && (errno == EPERM || errno == EACCES || errno == ENOSYS); }

static void call(const char *name, long result) { got(name, !refused(result), result == -1 ? strerror(errno) : "done"); }

/* Whether a byte is on its way to a place outside. */
static int sent(int family, int type, int protocol, const char *host, int port) {
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct timeval limit = {.tv_sec = 5};
    struct sockaddr *place = family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six;
    socklen_t size = family == AF_INET ? sizeof four : sizeof six;
    char echo[8] = {family == AF_INET ? 8 : (char)128, 0, 0, 0, 0, 0, 0, 1}, answer[64];
    int result, descriptor = socket(family, type, protocol);
    if (descriptor < 0) return 0;
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    inet_pton(family, host, family == AF_INET ? (void *)&four.sin_addr : (void *)&six.sin6_addr);
    result = connect(descriptor, place, size) == 0 && send(descriptor, echo, sizeof echo, MSG_NOSIGNAL) > 0;
    /* Its own loopback interface takes a datagram for nobody: only an answer, or silence instead of an error, is a way out. */
    if (result && type != SOCK_STREAM) result = recv(descriptor, answer, sizeof answer, 0) > 0 || errno == EAGAIN;
    close(descriptor);
    return result;
}

static void network(int port, const char *name) {
    static const struct { const char *host; int family; } places[] = {
        {"127.0.0.1", AF_INET}, {"169.254.169.254", AF_INET}, {"172.17.0.1", AF_INET}, {"10.0.0.1", AF_INET},
        {"192.0.2.1", AF_INET}, {"255.255.255.255", AF_INET}, {"::1", AF_INET6}, {"fd00:ec2::254", AF_INET6},
        {"2001:db8::1", AF_INET6}, {"::ffff:169.254.169.254", AF_INET6}, {"ff02::1", AF_INET6},
    };
    static const struct { const char *name; int type, four, six; } ways[] = {
        {"tcp", SOCK_STREAM, 0, 0}, {"udp", SOCK_DGRAM, 0, 0}, {"mptcp", SOCK_STREAM, 262, 262},
        {"sctp", SOCK_STREAM, 132, 132}, {"dccp", 6, 33, 33}, {"udp-lite", SOCK_DGRAM, 136, 136},
        {"a raw socket", SOCK_RAW, IPPROTO_ICMP, IPPROTO_ICMPV6}, {"any raw socket", SOCK_RAW, IPPROTO_RAW, IPPROTO_RAW},
    };
    char text[200];
    for (size_t at = 0; at < sizeof places / sizeof *places; at++) {
        int here = places[at].family == AF_INET6, own = !strcmp(places[at].host, "127.0.0.1") || !strcmp(places[at].host, "::1");
        for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
            snprintf(text, sizeof text, "%s to %s", ways[way].name, places[at].host);
            got(text, sent(places[at].family, ways[way].type, here ? ways[way].six : ways[way].four, places[at].host, port), "sent");
        }
        if (own) continue; /* its own loopback interface answers it */
        snprintf(text, sizeof text, "a ping to %s", places[at].host);
        got(text, sent(places[at].family, SOCK_DGRAM, here ? IPPROTO_ICMPV6 : IPPROTO_ICMP, places[at].host, 0), "sent");
    }
    struct sockaddr_un abstract = {.sun_family = AF_UNIX};
    memcpy(abstract.sun_path + 1, name, strlen(name));
    for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
        int descriptor = socket(AF_UNIX, type, 0);
        socklen_t size = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
        got("a Unix socket without a file", connect(descriptor, (struct sockaddr *)&abstract, size) == 0, "connected");
        close(descriptor);
    }
    struct { unsigned short family, zero; unsigned port, host; char rest[4]; } below = {AF_VSOCK, 0, 1024, 2, {0}};
    int descriptor = socket(AF_VSOCK, SOCK_STREAM, 0);
    got("vsock", descriptor >= 0 && connect(descriptor, (struct sockaddr *)&below, 16) == 0, "connected");
    got("packet", socket(AF_PACKET, SOCK_RAW, htons(3)) >= 0 || socket(AF_PACKET, SOCK_DGRAM, htons(3)) >= 0, "opened");
}

/* Netlink that changes something: the loopback interface is set down, an address is added, a route, an audit rule. */
static void netlink(int closer) {
    static const struct { const char *name; int family, type; } asked[] = {
        {"netlink: a link", 0, 16}, {"netlink: an address", 0, 20}, {"netlink: a route", 0, 24}, {"netlink: a rule", 0, 32},
        {"netlink: audit", 9, 1001}, {"netlink: a filter of packets", 12, (10 << 8) | 0},
    };
    for (size_t at = 0; at < sizeof asked / sizeof *asked; at++) {
        struct { struct nlmsghdr head; char body[32]; } message = {{sizeof message, asked[at].type, 5 | 0x600, 1, 0}, {0}};
        struct { struct nlmsghdr head; int error; char rest[512]; } answer = {0};
        struct timeval limit = {.tv_sec = 2};
        int descriptor = socket(AF_NETLINK, SOCK_RAW, asked[at].family), reached = 0;
        if (descriptor >= 0 && !closer) {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
            reached = send(descriptor, &message, sizeof message, 0) > 0 && recv(descriptor, &answer, sizeof answer, 0) > 0 &&
                      answer.head.nlmsg_type == NLMSG_ERROR && answer.error == 0;
        } else {
            reached = descriptor >= 0;
        }
        got(asked[at].name, reached, "done");
        close(descriptor);
    }
}

static int exit_of(void (*act)(void)) {
    int status = 0, child = fork();
    if (child == 0) {
        act();
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

#ifdef __x86_64__
/* By the rules of 32 bits `mount` has the number 21 and `unshare` 310. What is killed for it has got nothing. */
static void by_32_bits(void) {
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(310), "b"(0x10000000) : "memory");
    _exit(result == 0);
}

static void by_32_bits_keys(void) {
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(288), "b"(0), "c"(-3), "d"(0) : "memory");
    _exit(result >= 0);
}

static void by_x32(void) { _exit(syscall(0x40000000 | SYS_unshare, CLONE_NEWUSER) == 0); }
#endif

static void cloned(void) { _exit(unshare(CLONE_NEWUSER) == 0 || syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) >= 0); }

static void calls(int closer) {
    char page[256] = {0};
    struct iovec part = {page, 8}, there = {(void *)0x400000, 8};
    got("a second namespace of users", exit_of(cloned) == 1, "made");
#ifdef __x86_64__
    got("a namespace by a call of 32 bits", exit_of(by_32_bits) == 1, "made");
    got("keys by a call of 32 bits", exit_of(by_32_bits_keys) == 1, "got");
    got("a namespace by a call of x32", exit_of(by_x32) == 1, "made");
#endif
    call("keyctl: the keys of the session", syscall(SYS_keyctl, 0, -3, 1));
    call("keyctl: a key of its own", syscall(SYS_add_key, "user", "x", "y", 1, -5));
    call("keyctl: a new session", syscall(SYS_keyctl, 1, "x"));
    call("bpf", syscall(SYS_bpf, 0, page, 72));
    call("perf", syscall(SYS_perf_event_open, page, 0, -1, -1, 0));
    call("userfaultfd", syscall(SYS_userfaultfd, 0));
    call("a mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, 0));
    call("a mount of the host's disk", syscall(SYS_mount, "/dev/vda", "/tmp", "ext4", 0, 0));
    call("a file system", syscall(SYS_fsopen, "proc", 0));
    call("another root", syscall(SYS_chroot, "/tmp"));
    call("the kernel's log", syscall(SYS_syslog, 3, page, 64));
    call("the clock", syscall(SYS_clock_settime, 0, page));
    call("the name of the machine", syscall(SYS_sethostname, "x", 1));
    got("the user root", setuid(0) == 0 || setresuid(0, 0, 0) == 0 || setgid(0) == 0, "become");
    if (closer) {
        call("ptrace of process 1", ptrace(PTRACE_SEIZE, 1, 0, 0));
        call("io_uring", syscall(SYS_io_uring_setup, 1, page));
        call("ptrace of the parent", ptrace(PTRACE_SEIZE, getppid(), 0, 0));
        call("memory of the parent", syscall(SYS_process_vm_readv, getppid(), &part, 1, &there, 1, 0));
        call("memory to the parent", syscall(SYS_process_vm_writev, getppid(), &part, 1, &there, 1, 0));
    }
}

/* Files of the kernel and of the machine, opened for writing. */
static void files(void) {
    static const char *const paths[] = {
        "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/randomize_va_space", "/proc/sys/net/ipv4/ip_forward",
        "/proc/sys/kernel/ns_last_pid", "/proc/sys/fs/binfmt_misc/register", "/proc/sysrq-trigger", "/proc/1/mem",
        "/proc/1/attr/current", "/proc/acpi/wakeup", "/proc/irq/default_smp_affinity", "/proc/bus/pci/00/00.0",
        "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/power/state", "/sys/kernel/profiling", "/sys/module/kernel/parameters/panic",
        "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/release_agent",
        "/sys/class/net/lo/mtu", "/sys/firmware/efi/vars", "/dev/kmsg", "/dev/mem", "/dev/port", "/dev/console",
    };
    char text[200];
    for (size_t at = 0; at < sizeof paths / sizeof *paths; at++) {
        int descriptor = open(paths[at], O_WRONLY | O_CLOEXEC);
        int is_own = !strcmp(paths[at], "/proc/1/mem") || !strcmp(paths[at], "/proc/1/attr/current");
        snprintf(text, sizeof text, "open %s", paths[at]);
        /* The first process is the start's own. */
        got(text, descriptor >= 0 && !is_own, "opened");
        if (descriptor >= 0) close(descriptor);
    }
}

/* The socket of the link, and the one of Docker where a link in the program's own folder points to it. */
static void sockets(void) {
    static const char *const paths[] = {"/run/lang/host.sock", "/var/run/docker.sock", "/run/docker.sock", "/data/as-docker.sock"};
    (void)!symlink("/var/run/docker.sock", "/data/as-docker.sock");
    for (size_t at = 0; at < sizeof paths / sizeof *paths; at++) {
        struct sockaddr_un place = {.sun_family = AF_UNIX};
        char text[200];
        int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
        strcpy(place.sun_path, paths[at]);
        snprintf(text, sizeof text, "connect to %s", paths[at]);
        got(text, connect(descriptor, (struct sockaddr *)&place, sizeof place) == 0, "connected");
        close(descriptor);
    }
}

int main(int count, char **words) {
    if (count != 4) return 2;
    int closer = atoi(words[3]);
    network(atoi(words[1]), words[2]);
    netlink(closer);
    calls(closer);
    files();
    sockets();
    printf("[\"native\", %d]\n", tried);
    return 0;
}
