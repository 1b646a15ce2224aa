"""What a run knows of the memory of its process, and how it asks."""

from __future__ import annotations

import gc
import mmap
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from language.errors import LimitExceeded
from language.runtime.resident_memory import ResidentMemory
from language.values.allowance import SMALL, Allowance, refuse_beyond, set_memory_limit

SIZE = 64 << 20


@pytest.fixture
def no_garbage() -> Iterator[None]:
    """What tests before left behind is not freed meanwhile: memories of WebAssembly instances have 64 MB each."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
def test_the_growth_of_the_process_is_known_until_it_is_closed(no_garbage: None) -> None:
    memory = ResidentMemory()
    taken = mmap.mmap(-1, SIZE)
    for start in range(0, SIZE, mmap.PAGESIZE):
        taken[start] = 1
    assert SIZE // 2 < memory.grown() < 4 * SIZE
    taken.close()
    assert memory.grown() < SIZE // 2
    memory.close()
    assert memory.grown() == 0


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
def test_memory_that_the_host_frees_is_not_the_programs(no_garbage: None) -> None:
    host = mmap.mmap(-1, SIZE)
    host.write(b"x" * SIZE)
    memory = ResidentMemory()
    host.close()
    assert memory.grown() < SIZE // 2
    taken = mmap.mmap(-1, SIZE)
    taken.write(b"x" * SIZE)
    assert SIZE // 2 < memory.grown() < 2 * SIZE
    taken.close()
    memory.close()


#: Leaves about 55 MB in the C library's heap, free but resident: freeing one large block makes it keep so much.
FREED = """
import language

block = bytes(31_000_000)
del block
blocks = [bytes(1000) for _ in range(57_000)]
del blocks
source = 'let k be "x"\\nwhile length(k) < 2000000\\n    set k to k + k\\nlet a be `' + "{k}" * 24 + '`\\nlet b be a + "y"'
answer = language.Program(source, limits={"memory_bytes": 90_000_000}).run()
print(answer.get("limit"), answer["errors"])
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
def test_memory_that_was_free_before_a_run_counts_once_the_program_takes_it() -> None:
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.startswith("memory_bytes "), done.stdout + done.stderr


def test_a_value_is_refused_that_has_no_room_beside_what_is_taken() -> None:
    set_memory_limit(Allowance(10 * SMALL, lambda: 6 * SMALL))
    try:
        refuse_beyond(4 * SMALL)
        with pytest.raises(LimitExceeded, match=f"memory_bytes \\({10 * SMALL}\\)"):
            refuse_beyond(4 * SMALL + 1)
    finally:
        set_memory_limit(None)


CHILD = """
import sys
from _thread import get_ident

import language

language.run("print(1)")
main, seen = get_ident(), []
sys.addaudithook(lambda event, _: event in ("open", "import") and get_ident() != main and seen.append(event))
answer = language.run("each i in range(10 ** 9)\\n    let x be i", limits={"time_ms": 200, "memory_bytes": 10**9})
print(answer["limit"], seen)
"""


def test_who_watches_a_run_opens_no_file_beside_it() -> None:
    """Each step that lets go of the interpreter costs a turn of every thread of the program: a limit came seconds late."""
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "time_ms []\n"
