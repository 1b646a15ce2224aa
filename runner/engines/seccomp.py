"""The system calls that a program in the process engine may not make, as a seccomp filter in the kernel's own form (BPF).

What is refused is what Docker's default profile refuses, and a few more: namespaces and mounts, other processes' memory, keys,
programs of the kernel, its modules, its clock, sockets that are not TCP, UDP or Unix. ``EPERM`` answers them. Calls newer than
this table answer ``ENOSYS``, as on an older kernel: what they can do is not known. A call by the rules of another architecture
(32 bits on an x86_64 machine) ends the process, because its numbers mean other calls.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator

#: Name: number on x86_64, number on aarch64; ``None`` where that architecture has no such call.
DENIED: dict[str, tuple[int | None, int | None]] = {
    # namespaces, mounts, roots
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "fanotify_init": (300, 262),
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # keys, memory that outlives its process
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    # programs inside of the kernel, and ways around the checks of single calls
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "uselib": (134, None),
    # the machine: modules, its clock, its log, its power
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "create_module": (174, None),
    "get_kernel_syms": (177, None),
    "query_module": (178, None),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "syslog": (103, 116),
    "acct": (163, 89),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "nfsservctl": (180, 42),
    "lookup_dcookie": (212, 18),
    "sysfs": (139, None),
    "_sysctl": (156, None),
    "ustat": (136, None),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    # where memory lies on a machine with several nodes
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "get_mempolicy": (239, 236),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}  # fmt: skip
#: The newest call that this table knows of; the same number on both architectures.
NEWEST = 462
#: The kernel's name of an architecture, ``clone``, ``clone3``, ``socket``, ``socketpair``, ``personality``, ``ioctl``, column.
ARCHITECTURES = {
    "x86_64": (0xC000003E, 56, 435, 41, 53, 135, 16, 0),
    "aarch64": (0xC00000B7, 220, 435, 198, 199, 92, 29, 1),
}
#: The bits of ``clone`` that make a namespace: mounts, cgroups, names, IPC, users, processes, network.
NAMESPACE_FLAGS = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
#: AF_UNIX, AF_INET, AF_INET6; SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET behind ``SOCK_TYPE``.
FAMILIES, TYPES, SOCK_TYPE = (1, 2, 10), (1, 2, 5), 0xF
#: Linux itself, what is set now, and the two that change nothing but what `uname` answers.
PERSONALITIES = (0, 0xFFFFFFFF, 0x0008, 0x20000, 0x20008)
#: TIOCSTI, TIOCLINUX: letters put into a terminal as if a person had written them.
TERMINAL_REQUESTS = (0x5412, 0x541C)

ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE, UNKNOWN = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS

# Instructions of classic BPF: load a word of the call's data, "and" a constant, jump if equal / at least / any bit, answer.
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _ANSWER = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)


def _load_argument(index: int) -> bytes:
    """The low half of an argument, on machines whose low half stands first (both of ours)."""
    return _step(_LOAD, _ARGUMENTS + 8 * index)


def _when(number: int, *body: bytes) -> Iterator[bytes]:
    """What is done for one call; the number stands in the accumulator before, and is of no use behind a body that was run."""
    yield _step(_EQUAL, number, 0, len(body))
    yield from body


def _only(values: tuple[int, ...]) -> Iterator[bytes]:
    """Refuses any other value in the accumulator."""
    for index, value in enumerate(values):
        yield _step(_EQUAL, value, len(values) - index, 0)
    yield _step(_ANSWER, REFUSE)


def seccomp_filter(machine: str) -> bytes:
    """The filter for a machine, as `bwrap --seccomp` reads it.

    Arguments:
        machine: ``x86_64`` or ``aarch64``, as ``platform.machine()`` says.

    Raises:
        KeyError: there is no table of that architecture's calls.
    """
    audit, clone, clone3, socket, socketpair, personality, ioctl, column = ARCHITECTURES[machine]
    allow = _step(_ANSWER, ALLOW)
    steps = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, audit, 1, 0),
        _step(_ANSWER, KILL),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, NEWEST + 1, 0, 1),  # the calls of the x32 rules among them
        _step(_ANSWER, UNKNOWN),
        # Its flags lie in memory, where a filter cannot look: the C library then uses `clone`.
        *_when(clone3, _step(_ANSWER, UNKNOWN)),
        *_when(clone, _load_argument(0), _step(_ANY_BIT, NAMESPACE_FLAGS, 0, 1), _step(_ANSWER, REFUSE), allow),
        *_when(
            socket,
            _load_argument(0),
            *_only(FAMILIES),
            _load_argument(1),
            _step(_AND, SOCK_TYPE),
            *_only(TYPES),
            allow,
        ),
        *_when(socketpair, _load_argument(0), *_only(FAMILIES[:1]), allow),
        *_when(personality, _load_argument(0), *_only(PERSONALITIES), allow),
        *_when(
            ioctl,
            _load_argument(1),
            *(_step(_EQUAL, request, len(TERMINAL_REQUESTS) - index, 0) for index, request in enumerate(TERMINAL_REQUESTS)),
            allow,
            _step(_ANSWER, REFUSE),
        ),
    ]
    for numbers in DENIED.values():
        number = numbers[column]
        if number is not None:
            steps += _when(number, _step(_ANSWER, REFUSE))
    return b"".join([*steps, allow])
