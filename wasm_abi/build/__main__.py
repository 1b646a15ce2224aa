"""``python -m wasm_abi.build``: both modules and their digests in ``dist``, from sources that are fetched when needed."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wasm_abi.build import argon2, budget, frozen, interpreter, linking, tools
from wasm_abi.build.modules import WASIP1, WEB, Build
from wasm_abi.build.workshop import ROOT, BuildFailed, Workshop, digest, tell

CACHE = ROOT / ".cache" / "wasm"


def build(shop: Workshop, out: Path, builds: tuple[Build, ...]) -> None:
    """Makes the products of ``builds`` in ``out``, each with its digest beside it."""
    found = tools.installed(shop)
    python = interpreter.native_python(shop, found)
    library = interpreter.library(shop, found, python)
    if shop.asks_configure:
        interpreter.record(library)
    hashes = argon2.objects(shop, found)
    out.mkdir(parents=True, exist_ok=True)
    for one in builds:
        folder = shop.folder(f"link-{one.name}")
        shutil.rmtree(folder)
        folder.mkdir()
        code = frozen.frozen(shop, found, one, python, library, folder)
        module = linking.linked(shop, found, one, library, hashes, code, folder)
        made = folder / one.product
        linking.snapshot(shop, found, one, module, made)
        tell(f"{one.name}: {budget.measured(made, one)}")
        product = out / one.product
        unfinished = product.with_name(product.name + ".new")
        shutil.copyfile(made, unfinished)
        unfinished.replace(product)  # atomic, so that a reader never sees an incomplete module
        # The format of sha256sum.
        product.with_name(product.name + ".sha256").write_text(f"{digest(product)}  {product.name}\n")


@contextmanager
def alone(shop: Workshop) -> Iterator[None]:
    """Holds a lock on the folders of the build; waits for another build that uses them."""
    import fcntl

    with (shop.store / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> int:
    parser = argparse.ArgumentParser(prog="wasm_abi.build", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the products go (dist)")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where what is fetched and built is kept (.cache/wasm)")
    parser.add_argument("--fresh", action="store_true", help="build everything again, from what was fetched")
    parser.add_argument("--record", action="store_true", help="also ask configure everything, and record its answers")
    parser.add_argument("--only", choices=("web", "wasip1"), help="one of the two")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
    options = parser.parse_args()
    cache = options.cache.resolve()
    shop = Workshop(cache / "fetched", cache / "work", options.jobs, asks_configure=options.record)
    shop.store.mkdir(parents=True, exist_ok=True)
    # The wasip1 build comes first: it has an error stream, in case the programs that run before the snapshot fail.
    builds = tuple(one for one in (WASIP1, WEB) if options.only in (None, one.name))
    try:
        with alone(shop):
            if options.fresh or options.record:
                shutil.rmtree(shop.work, ignore_errors=True)
            shop.work.mkdir(parents=True, exist_ok=True)
            build(shop, options.out.resolve(), builds)
    except BuildFailed as problem:
        print(f"wasm: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
