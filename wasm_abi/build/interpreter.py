"""CPython twice: for this machine, to compile our modules, and as a library for WebAssembly."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from wasm_abi.build import cpython_changes, pins, sources
from wasm_abi.build.tools import Tools
from wasm_abi.build.workshop import HERE, ROOT, Workshop, key_of, tell

#: The recorded results of configure about the compiler and its C library, which otherwise take a minute. They depend only on
#: the sources, the compiler and the options, whose key is in the first line; with a different key the file is not used.
RECORDED = HERE / "configure.site"

#: C modules that are left out: those for threads, processes and sockets, and those of libraries that are not available.
DISABLED = [
    "_asyncio", "_lsprof", "_interpreters", "_interpchannels", "_interpqueues", "_queue", "_csv", "pyexpat",
    "_elementtree", "_codecs_cn", "_codecs_hk", "_codecs_iso2022", "_codecs_jp", "_codecs_kr", "_codecs_tw",
    "_multibytecodec", "fcntl", "grp", "mmap", "_posixsubprocess", "resource", "select", "_socket", "syslog", "termios",
    "_posixshmem", "_multiprocessing", "_ctypes", "_curses", "_curses_panel", "_sqlite3", "_ssl", "_hashlib", "_uuid",
    "_tkinter", "zlib", "_bz2", "_lzma", "_dbm", "_gdbm", "readline", "xxsubtype", "pwd", "_tracemalloc", "_scproxy",
    "ossaudiodev", "nis", "spwd",
]  # fmt: skip

CONFIGURE = (
    "--without-ensurepip",
    "--disable-test-modules",
    "--without-doc-strings",
    "--with-pymalloc",
    "--disable-shared",
    "--disable-ipv6",
    "--prefix=/usr",
)

#: Results that configure cannot determine by running programs, or that would be wrong because the compiler's C library declares
#: what WASI lacks.
ANSWERS = {
    **{f"ac_cv_lib_{library}_pthread_create": "no" for library in ("pthreads", "c_r", "cma")},
    "ac_cv_lib_pthread___pthread_create_system": "no",
    "ac_cv_func_pthread_detach": "no",
    "ac_cv_func_dlopen": "no",
    "ac_cv_lib_dl_dlopen": "no",
    "ac_cv_func_mmap": "no",
    "ac_cv_header_sys_mman_h": "no",
    "ac_cv_func_setgroups": "no",
    "ac_cv_func_timerfd_create": "no",
    "ac_cv_header_sys_timerfd_h": "no",
    "ac_cv_header_libintl_h": "no",
    # Libraries of this machine must not be found.
    "PKG_CONFIG_LIBDIR": "/nonexistent",
    "PKG_CONFIG_PATH": "",
}

#: Relative to the build folder beside the sources, because an absolute path would become a part of the interpreter.
_CONFIGURE_SCRIPT = f"../{pins.CPYTHON.folder}/configure"

OPTIMISED = "-DNDEBUG -O2 -g0 -fwrapv -fomit-frame-pointer -Wno-date-time"


@dataclass(frozen=True, slots=True)
class Library:
    """CPython for WebAssembly: its sources and its build folder."""

    sources: Path
    build: Path

    @property
    def archives(self) -> list[Path]:
        return [self.build / name for name in ARCHIVES]


ARCHIVES = ("libpython3.13.a", "Modules/_decimal/libmpdec/libmpdec.a", "Modules/_hacl/libHacl_Hash_SHA2.a")


def native_python(shop: Workshop, tools: Tools) -> Path:
    """A Python of the same version for this machine: an installed one, else one built from the same sources.

    The version must be exactly the same, because another release of 3.13 may compile a module to different bytes.
    """
    found = subprocess.run([ROOT / ".ci" / "python", pins.PYTHON], capture_output=True, text=True, check=False)
    if found.returncode == 0:
        python = Path(found.stdout.strip())
        version = shop.run([python, "-I", "-c", "import platform; print(platform.python_version())"]).strip()
        if pins.CPYTHON.folder == f"Python-{version}":
            return python
    return built_python(shop, tools)


_NATIVE = "-DNDEBUG -O0 -g0 -fwrapv -Wno-date-time"


def built_python(shop: Workshop, tools: Tools) -> Path:
    """Python for this machine, built from the same sources: not optimised, since it runs for seconds.

    It is built by the C compiler of the machine if there is one, which takes half the time of ours. The bytecode is the same.
    """
    settings = (_CONFIGURE_SCRIPT, CONFIGURE, _NATIVE, _absent_natively())
    folder = shop.folder(f"native-{key_of(pins.CPYTHON, HERE / 'requirements.txt', *settings)}")
    python = folder / "build" / "python"
    if not (folder / "complete").exists():
        tell(f"building Python {pins.PYTHON} for this machine")
        shutil.rmtree(folder)
        folder.mkdir()
        sources.unpacked(shop, pins.CPYTHON, folder)
        build = folder / "build"
        build.mkdir()
        ours = {
            "CC": str(tools.bin / "ncc"),
            "CXX": str(tools.bin / "ncxx"),
            "AR": str(tools.bin / "war"),
            "RANLIB": str(tools.bin / "wranlib"),
            "OPT": f"{_NATIVE} -fno-sanitize=all",
        }
        extra = {
            **({"OPT": _NATIVE} if all(map(shutil.which, ("gcc", "g++", "ar"))) else ours),
            "MODULE_BUILDTYPE": "static",
            "PKG_CONFIG_LIBDIR": "/nonexistent",
        }
        (build / "Modules").mkdir()
        (build / "Modules" / "Setup.local").write_text("*disabled*\n" + "\n".join(_absent_natively()) + "\n")
        shop.run([_CONFIGURE_SCRIPT, *CONFIGURE], cwd=build, extra=extra)
        shop.run(["make", f"-j{shop.jobs}", "python"], cwd=build, extra=extra)
        (folder / "complete").touch()
    return python


def _absent_natively() -> list[str]:
    needed = {"_posixsubprocess", "select", "fcntl", "_csv"}
    return [name for name in DISABLED if name not in needed]


def library(shop: Workshop, tools: Tools, python: Path) -> Library:
    """CPython for WebAssembly, from the work folder if none of its inputs has changed."""
    key = library_key()
    folder = shop.folder(f"cpython-{key}")
    build = folder / "build"
    tree = folder / pins.CPYTHON.folder
    if not (folder / "complete").exists():
        tell(f"building CPython for {pins.TARGET}")
        shutil.rmtree(folder)
        folder.mkdir()
        sources.unpacked(shop, pins.CPYTHON, folder)
        sources.change(tree, cpython_changes.CHANGES)
        (build / "Modules").mkdir(parents=True)
        (build / "Modules" / "Setup.local").write_text("*disabled*\n" + "\n".join(DISABLED) + "\n")
        sites = [tree / "Tools" / "wasm" / "config.site-wasm32-wasi"]
        if not shop.asks_configure and recorded_key() == key:
            sites.append(Path(shutil.copy(RECORDED, folder)))
        extra = {
            **ANSWERS,
            "PATH": f"{tools.bin}:{shop.environment()['PATH']}",
            # Relative, because configure splits the list at spaces.
            "CONFIG_SITE": " ".join(os.path.relpath(site, build) for site in sites),
            "CC": "wcc",
            "CXX": "wcxx",
            "CPP": "wcc -E",
            "AR": "war",
            "RANLIB": "wranlib",
            "OPT": f"{OPTIMISED} -ffile-prefix-map={folder}=.",
        }
        hosts = ("--host=wasm32-wasip1", "--build=x86_64-pc-linux-gnu", f"--with-build-python={python}")
        shop.run([_CONFIGURE_SCRIPT, *hosts, *CONFIGURE], cwd=build, extra=extra)
        tell("configured" if len(sites) > 1 else "configured, every question asked")
        shop.run(["make", f"-j{shop.jobs}", *ARCHIVES], cwd=build, extra=extra)
        (folder / "complete").touch()
    return Library(tree, build)


def library_key() -> str:
    """A hash of all inputs of CPython for WebAssembly."""
    settings = (_CONFIGURE_SCRIPT, DISABLED, CONFIGURE, ANSWERS, OPTIMISED, ARCHIVES)
    return key_of(pins.CPYTHON, Path(cpython_changes.__file__), HERE / "requirements.txt", HERE / "tools.py", *settings)


def recorded_key() -> str:
    """The key of the sources, compiler and options whose results are in ``RECORDED``."""
    return RECORDED.read_text().partition("\n")[0].rpartition(" ")[2] if RECORDED.exists() else ""


#: Not recorded: the paths of tools, the requested settings, results that configure derives from others, and those that it uses
#: only when it determines them itself.
_NOT_RECORDED = (
    "ac_cv_env_", "ac_cv_path_", "ac_cv_prog_", "ac_cv_build", "ac_cv_host", "py_cv_module_", "ac_cv_wl_no_as_needed",
)  # fmt: skip


def record(library: Library) -> None:
    """Writes the results of configure to ``RECORDED``, from its log of the build of ``library``."""
    log = (library.build / "config.log").read_text()
    section = log.partition("## Cache variables. ##")[2].partition("## Output variables. ##")[0]
    known = re.findall(r"^((?:ac|py)_cv_\w+)=(.*)$", section, re.M)
    lines = [f"{name}={value}" for name, value in known if not name.startswith(_NOT_RECORDED)]
    title = f"# What configure of {pins.CPYTHON.folder} finds out for {pins.TARGET}, by python -m wasm_abi.build --record."
    RECORDED.write_text("\n".join((f"# Valid for the key {library_key()}", title, *lines, "")))
