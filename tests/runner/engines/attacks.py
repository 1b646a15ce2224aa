"""Runs inside of a sandbox and tries to get out. Each attack is one line of JSON: its name, and what it got hold of.

``""``: it got nothing. Native calls go through the C library's ``syscall``, as a child of ``exec`` could make them.

    python attacks.py surroundings '{"folders": [...], "port": 1234, "abstract": "...", "marker": "..."}'
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import platform
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator

LIBRARY = ctypes.CDLL(None, use_errno=True)
#: x86_64, aarch64.
NUMBERS = {
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "ptrace": (101, 117), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "init_module": (175, 105), "finit_module": (313, 273), "kexec_load": (246, 104), "reboot": (169, 142),
    "swapon": (167, 224), "settimeofday": (164, 170), "open_by_handle_at": (304, 265), "process_vm_readv": (310, 270),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "clone": (56, 220), "clone3": (435, 435), "syslog": (103, 116),
    "fsopen": (430, 430), "open_tree": (428, 428), "move_mount": (429, 429), "shmget": (29, 194), "acct": (163, 89),
    "sethostname": (170, 161), "quotactl": (179, 60), "fanotify_init": (300, 262), "kcmp": (312, 272), "mbind": (237, 235),
    "personality": (135, 92),
}  # fmt: skip
COLUMN = 0 if platform.machine() == "x86_64" else 1
NAMESPACES = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000, "pid": 0x20000000,
              "net": 0x40000000, "time": 0x80}  # fmt: skip

#: What must not be there, or be empty; what must not be written.
CLOSED = (
    "/etc/shadow", "/etc/ssl/private", "/home", "/boot", "/var/lib/docker", "/proc/kcore",
    "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket",
)  # fmt: skip
READ_ONLY = (
    "/x", "/app/x", "/usr/x", "/etc/x", "/etc/passwd", "/run/lang/x", "/run/lang/host.sock", "/var/cache/lang/x", "/dev/x",
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger",
    "/sys/kernel/uevent_helper", "/sys/fs/cgroup/x", "/proc/self/uid_map",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/memory.max",
)  # fmt: skip


def call(name: str, *arguments: int | bytes | None) -> str:
    """What a system call got; ``""`` where it was refused."""
    ctypes.set_errno(0)
    words = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in arguments]
    result = LIBRARY.syscall(ctypes.c_long(NUMBERS[name][COLUMN]), *words)
    if result == -1 and ctypes.get_errno() in (errno.EPERM, errno.EACCES, errno.ENOSYS):
        return ""
    return f"{result}, {errno.errorcode.get(ctypes.get_errno(), 'no error')}"


def system_calls() -> Iterator[tuple[str, Callable[[], str]]]:
    for space, flag in NAMESPACES.items():
        yield f"unshare a namespace: {space}", lambda flag=flag: call("unshare", flag)
    yield "clone into a namespace of users", lambda: _cloned(NAMESPACES["user"] | signal.SIGCHLD)
    yield "clone3 into a namespace of users", _cloned_by_the_newer_call
    for name, arguments in {
        "mount": (b"none", b"/tmp", b"tmpfs", 0, None),
        "umount2": (b"/app", 2),
        "pivot_root": (b"/data", b"/data"),
        "chroot": (b"/data",),
        "fsopen": (b"tmpfs", 0),
        "open_tree": (-100, b"/app", 1),
        "bpf": (0, b"\1" * 72, 72),
        "perf_event_open": (b"\0" * 120, 0, -1, -1, 0),
        "userfaultfd": (0,),
        "keyctl": (0, -3, 0),
        "add_key": (b"user", b"x", b"y", 1, -3),
        "request_key": (b"user", b"x", None, -3),
        "init_module": (b"x", 1, b""),
        "kexec_load": (0, 0, None, 0),
        "reboot": (0x12345678,),
        "swapon": (b"/data/x", 0),
        "settimeofday": (b"\0" * 16, None),
        "open_by_handle_at": (-100, b"\10\0\0\0\1\0\0\0" + b"\0" * 8, 0),
        "syslog": (3, b"\0" * 64, 64),
        "acct": (b"/data/x",),
        "sethostname": (b"x", 1),
        "quotactl": (0x80000200 - (1 << 32), b"/dev/vda", 0, None),
        "fanotify_init": (0, 0),
        "mbind": (0, 4096, 1, None, 0, 0),
    }.items():
        yield f"system call: {name}", lambda name=name, arguments=arguments: call(name, *arguments)
    yield "the groups and users of root", _became_root


def closer_calls() -> Iterator[tuple[str, Callable[[], str]]]:
    """Refused in the process engine; Docker's profile lets a program do these to its own processes."""
    for name, arguments in {
        "ptrace": (16, 1, 0, 0),
        "io_uring_setup": (1, b"\0" * 120),
        "process_vm_readv": (1, b"\0" * 16, 1, b"\0" * 16, 1, 0),
        "kcmp": (1, 1, 0, 0, 0),
        "shmget": (0, 4096, 0o1600),
        "personality": (0x40000,),
    }.items():
        yield f"system call: {name}", lambda name=name, arguments=arguments: call(name, *arguments)
    yield "a descriptor of another process", _taken_descriptor
    yield "netlink", lambda: opened_socket(16, socket.SOCK_RAW, 0)
    yield "kernel's ciphers", lambda: opened_socket(38, 5, 0)


def _cloned(flags: int) -> str:
    ctypes.set_errno(0)
    pid = LIBRARY.syscall(ctypes.c_long(NUMBERS["clone"][COLUMN]), ctypes.c_long(flags), None, None, None, None)
    if pid == 0:
        os._exit(0)
    return "" if pid < 0 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS) else f"{pid}"


def _cloned_by_the_newer_call() -> str:
    arguments = struct.pack("=11Q", NAMESPACES["user"], 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    ctypes.set_errno(0)
    pid = LIBRARY.syscall(ctypes.c_long(435), ctypes.c_char_p(arguments), ctypes.c_long(len(arguments)))
    if pid == 0:
        os._exit(0)
    return "" if pid < 0 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS) else f"{pid}"


def _taken_descriptor() -> str:
    descriptor = os.pidfd_open(os.getppid())
    return call("pidfd_getfd", descriptor, 1, 0)


def _became_root() -> str:
    for act in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.setresuid(0, 0, 0)):
        try:
            act()
        except OSError:
            continue
        return "done"
    return ""


def tried(act: Callable[[], object]) -> str:
    """What an act got; ``""`` where it failed."""
    try:
        return repr(act())[:200]
    except OSError:
        return ""


def read(path: str) -> str:
    def act() -> object:
        if os.path.isdir(path):
            return os.listdir(path)
        with open(path, "rb") as file:
            return file.read(64)

    return tried(act)


def write(path: str, data: bytes = b"x") -> str:
    def act() -> object:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            return os.write(descriptor, data)
        finally:
            os.close(descriptor)

    return tried(act)


def files(told: dict[str, object]) -> Iterator[tuple[str, Callable[[], str]]]:
    folders = told["folders"]
    assert isinstance(folders, list)
    for folder in folders:
        yield f"read {folder}", lambda folder=folder: read(folder)
        yield f"read {folder} through a link", lambda folder=folder: _through_link(folder)
        yield f"read {folder} from the root of process 1", lambda folder=folder: read(f"/proc/1/root{folder}")
        yield f"read {folder} from the parent's folder", lambda folder=folder: read(f"/proc/{os.getppid()}/cwd/../..{folder}")
    for path in CLOSED:
        yield f"read {path}", lambda path=path: "" if read(path) in ("", "[]", "b''") else read(path)
    for path in READ_ONLY:
        yield f"write {path}", lambda path=path: write(path, b"0")
    for process in ("self", "1"):
        path = f"/proc/{process}/oom_score_adj"
        yield f"never to be ended for want of memory: {process}", lambda path=path: write(path, b"-1000")
    yield "a socket in the place of the runner's", lambda: tried(lambda: os.rename("/data", "/run/lang"))
    yield "unlink the runner's socket", lambda: tried(lambda: os.unlink("/run/lang/host.sock"))
    for folder in ("/data", "/tmp", "/dev/shm"):
        for kind, number in (("disk", os.makedev(254, 0)), ("disk", os.makedev(8, 0)), ("memory", os.makedev(1, 1))):
            mode = 0o60600 if kind == "disk" else 0o20600
            name = f"a device node in {folder}: {kind} {number}"
            yield name, lambda f=folder, m=mode, n=number: tried(lambda: os.mknod(f"{f}/node{n}", m, n))
    for path in (
        "/dev/mem",
        "/dev/kmsg",
        "/dev/vda",
        "/dev/sda",
        "/dev/nvme0n1",
        "/dev/kvm",
        "/dev/fuse",
        "/dev/net/tun",
        "/dev/loop0",
    ):
        yield f"open {path}", lambda path=path: tried(lambda: os.open(path, os.O_RDONLY))
    yield "a program that runs as its owner", _rights_of_a_file
    marker = str(told["marker"])[::-1]  # as it is, it stands in the command line of this script
    yield "the runner's environment", lambda: _environments(marker)
    yield "processes of others", _others
    yield "signals to others", _signalled


def _through_link(target: str) -> str:
    link = f"/data/link{time.monotonic_ns()}"
    os.symlink(target, link)
    return read(link)


def _rights_of_a_file() -> str:
    with open("/proc/self/status", encoding="ascii") as status:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    held = {name: fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(fields[name], 16)}
    if fields["NoNewPrivs"] != "1" or held or fields["Seccomp"] != "2":
        return f"{held} {fields['NoNewPrivs']} {fields['Seccomp']}"
    return "" if set(fields["Uid"].split()) == {"10001"} else fields["Uid"]


def _environments(marker: str) -> str:
    for process in filter(str.isdigit, os.listdir("/proc")):
        for file in ("environ", "cmdline"):
            if marker.encode() in read_bytes(f"/proc/{process}/{file}"):
                return f"/proc/{process}/{file}"
    return ""


def read_bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _others() -> str:
    """What runs here is this start's own: its first process, perhaps the engine's helper, this one."""
    found = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    return "" if found[-1] < 50 and len(found) <= 4 else str(found)


def _signalled() -> str:
    mine = {1, os.getpid(), os.getppid()}
    reached = [pid for pid in range(2, 70_000) if pid not in mine and tried(lambda pid=pid: os.kill(pid, 0))]
    return str(reached) if reached else ""


def opened_socket(family: int, kind: int, protocol: int) -> str:
    try:
        socket.socket(family, kind, protocol).close()
    except OSError:
        return ""
    return "opened"


def network(told: dict[str, object]) -> Iterator[tuple[str, Callable[[], str]]]:
    port = int(str(told["port"]))
    for host, number in (("127.0.0.1", port), ("169.254.169.254", 80), ("1.1.1.1", 53), ("172.17.0.1", 2375), ("10.0.0.1", 80)):
        yield f"connect to {host}:{number}", lambda host=host, number=number: _connected(host, number)
    yield "a datagram to 1.1.1.1", lambda: tried(lambda: socket.socket(2, 2).sendto(b"x", ("1.1.1.1", 53)))
    yield "a socket of the machine without a file", lambda: _connected_abstract(str(told["abstract"]))
    yield "a raw socket", lambda: opened_socket(2, 3, 1)
    yield "frames of the wire", lambda: opened_socket(17, 3, 0x300)
    yield "a socket to the machine below", lambda: _connected_below()
    yield "other interfaces", _interfaces


def _connected(host: str, port: int) -> str:
    with socket.socket() as client:
        client.settimeout(5)
        return tried(lambda: client.connect((host, port)))


def _connected_abstract(name: str) -> str:
    with socket.socket(socket.AF_UNIX) as client:
        return tried(lambda: client.connect("\0" + name))


def _connected_below() -> str:
    try:
        with socket.socket(40, socket.SOCK_STREAM) as client:
            client.settimeout(1)
            client.connect((2, 1024))
    except OSError:
        return ""
    return "connected"


def _interfaces() -> str:
    with open("/proc/net/dev", encoding="ascii") as table:
        names = [line.partition(":")[0].strip() for line in table if ":" in line]
    return "" if set(names) <= {"lo"} else str(names)


def surroundings(text: str) -> None:
    told = json.loads(text)
    attacks = [*files(told), *network(told), *system_calls()]
    if told["closer"]:
        attacks += closer_calls()
    for name, attack in attacks:
        print(json.dumps([name, attack()]), flush=True)
    print(json.dumps(["all", "tried"]), flush=True)


def outward(text: str) -> None:
    """As a process beside the program: the network alone."""
    for name, attack in network(json.loads(text)):
        print(json.dumps([name, attack()]), flush=True)


def native(*words: str) -> None:
    """A program in C, as it was packed: it is copied to where it may be run."""
    with open("/app/native", "rb") as packed:
        code = packed.read()
    descriptor = os.open("/data/native", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o700)
    with os.fdopen(descriptor, "wb") as copy:
        copy.write(code)
    os.execv("/data/native", ["/data/native", *words])


def the_interpreter() -> None:
    """As a command of the program: what the process that runs the program holds, and what it says to the runner."""
    own = os.getpid()
    found = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != own]
    interpreters = [pid for pid in found if b"\0language\0" in read_bytes(f"/proc/{pid}/cmdline")]
    got = {}
    for pid in interpreters:
        piece = ctypes.create_string_buffer(16)
        here, there = struct.pack("=QQ", ctypes.addressof(piece), 8), struct.pack("=QQ", 0x400000, 8)
        got["its calls"] = call("ptrace", 16, pid, 0, 0)
        got["its calls, seized"] = call("ptrace", 0x4206, pid, 0, 0)
        got["its memory"] = call("process_vm_readv", pid, here, 1, there, 1, 0)
        got["its memory as a file"] = tried(lambda pid=pid: os.open(f"/proc/{pid}/mem", os.O_RDWR))
        got["its environment"] = read(f"/proc/{pid}/environ")
        got["its descriptors"] = read(f"/proc/{pid}/fd")
        process = os.pidfd_open(pid)
        for number in range(32):
            got[f"its descriptor {number}"] = call("pidfd_getfd", process, number, 0)
    with socket.socket(socket.AF_UNIX) as link:
        got["a link of its own"] = tried(lambda: link.connect("/run/lang/host.sock"))
    print(json.dumps({"interpreters": len(interpreters), "got": {name: what for name, what in got.items() if what}}))


def bomb_of_processes() -> None:
    """Forks until it is refused; the children detach themselves and stay."""
    count = 0
    while True:
        try:
            if os.fork() == 0:
                os.setsid()
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                while True:
                    signal.pause()
        except OSError:
            break
        count += 1
    print(count, flush=True)
    while True:
        signal.pause()


def bomb_of_memory() -> None:
    held = []
    while True:
        held.append(bytearray(b"x" * (8 << 20)))


def bomb_of_small_memory() -> None:
    """Several processes, each below the limit."""
    for _ in range(8):
        if os.fork() == 0:
            held = bytearray(b"x" * (40 << 20))
            while held:
                signal.pause()
    while True:
        signal.pause()


def full_volume() -> None:
    index = 0
    while True:
        index += 1
        with open(f"/data/file{index}", "wb") as file:
            file.write(b"x" * (1 << 20))
        time.sleep(0.01)


def full_volume_without_names() -> None:
    """Files that no folder shows any more."""
    held = []
    while True:
        held.append(open("/data/file", "wb", buffering=0))  # noqa: SIM115
        os.unlink("/data/file")
        held[-1].write(b"x" * (1 << 20))
        time.sleep(0.01)


def full_volume_below_a_deep_folder() -> None:
    """Folders whose paths are longer than the system takes, so that who measures or removes them by their paths gives up."""
    for _ in range(2500):
        os.mkdir("longer")
        os.chdir("longer")
    os.chmod(".", 0)
    full_volume()


def full_memory_disks() -> None:
    """How many megabytes go into each folder that is no volume, and how large one file of the volume gets."""
    sizes = {}
    for folder in ("/tmp", "/dev/shm", "/data"):
        written = 0
        try:
            with open(f"{folder}/file", "wb", buffering=0) as file:
                while written < 1024:
                    if file.write(b"x" * (1 << 20)) < 1 << 20:
                        break
                    written += 1
        except OSError:
            pass
        os.unlink(f"{folder}/file")
        sizes[folder] = written
    print(json.dumps(sizes), flush=True)


def deaf() -> None:
    """Ignores being asked to end, with a child that has left its group."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
    print("deaf", flush=True)
    while True:
        signal.pause()


def polite() -> None:
    """Ends when it is asked to."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    print("polite", flush=True)
    while True:
        signal.pause()


def loud(count: str) -> None:
    for number in range(int(count)):
        print(f"line {number}")
    sys.stdout.flush()
    sys.stderr.write("last\n")
    sys.exit(7)


def keep(name: str) -> None:
    """Says which files there are, and adds one."""
    print(sorted(os.listdir(".")), flush=True)
    with open(name, "w", encoding="utf-8") as file:
        file.write("kept")


def talk() -> None:
    """Counts on both of its outputs until it is asked to end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    number = 0
    while True:
        os.write(1, b"%d\n" % number)
        os.write(2, b"%d\n" % number)
        number += 1
        if number > 2000:
            time.sleep(0.01)


def neighbour() -> None:
    """Answers what comes over the socket of its link."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect("/run/lang/host.sock")
        while data := link.recv(1024):
            link.sendall(data)


def told_of_files() -> None:
    descriptors = []
    for number in sorted(os.listdir("/proc/self/fd")):
        with contextlib.suppress(FileNotFoundError):  # the one that the list was read from
            # ctypes may hold its library open (libffi maps its own file for closures).
            if "/libffi.so" not in os.readlink(f"/proc/self/fd/{number}"):
                descriptors.append(number)
    print(json.dumps({"environ": dict(os.environ), "folder": os.getcwd(), "descriptors": descriptors}))


ACTS: dict[str, Callable[..., None]] = {
    act.__name__: act
    for act in (
        surroundings,
        outward,
        native,
        the_interpreter,
        bomb_of_processes,
        bomb_of_memory,
        bomb_of_small_memory,
        full_volume,
        full_volume_without_names,
        full_volume_below_a_deep_folder,
        full_memory_disks,
        deaf,
        polite,
        loud,
        talk,
        keep,
        neighbour,
        told_of_files,
    )
}

if __name__ == "__main__":
    ACTS[sys.argv[1]](*sys.argv[2:])
