"""The source packages: fetches them from Debian by apt, verifies, unpacks and patches them."""

from __future__ import annotations

import os
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

from wasm_abi.build.pins import MIRROR, SUITE, Source
from wasm_abi.build.workshop import BuildFailed, Workshop, digest, tell

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def fetched(shop: Workshop, source: Source) -> Path:
    """The tarball of a source package, from the store or from the mirror. Raises ``BuildFailed`` if its digest differs."""
    kept = shop.store / source.file
    if not kept.exists():
        tell(f"fetching {source.file} from {MIRROR}")
        _fetch(shop, source)
    found = digest(kept)
    if found != source.sha256:
        raise BuildFailed(f"{kept} has the SHA-256 {found}, not {source.sha256}: remove it, or change wasm_abi/build/pins.py")
    return kept


def _fetch(shop: Workshop, source: Source) -> None:
    if shutil.which("apt-get") is None:
        pool = f"{MIRROR}/pool/main/{source.package[0]}/{source.package}/{source.file}"
        raise BuildFailed(f"there is no apt-get here: fetch {pool} into {shop.store} by other means")
    apt = shop.folder("apt")
    for name in ("state/lists/partial", "cache/archives/partial"):
        (apt / name).mkdir(parents=True, exist_ok=True)
    signed = f" [signed-by={KEYRING}]" if os.path.exists(KEYRING) else ""
    (apt / "sources.list").write_text(f"deb-src{signed} {MIRROR} {SUITE} main\n")
    # A separate configuration of apt, so that neither the system's package lists nor its sources are changed.
    settings = {
        "Dir::State": apt / "state",
        "Dir::Cache": apt / "cache",
        "Dir::Etc::sourcelist": apt / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
        **({"APT::Sandbox::User": "root"} if os.geteuid() == 0 else {}),
    }
    configuration = apt / "apt.conf"
    configuration.write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
    extra = {"APT_CONFIG": str(configuration)}
    shop.run(["apt-get", "update", "-qq"], extra=extra)
    shop.run(["apt-get", "source", "-qq", "--download-only", "--tar-only", source.package], cwd=apt, extra=extra)
    loaded = apt / source.file
    if not loaded.exists():
        others = ", ".join(sorted(path.name for path in apt.glob("*.orig.tar.*")))
        raise BuildFailed(f"{SUITE} has another version of {source.package} now ({others}): change wasm_abi/build/pins.py")
    shop.store.mkdir(parents=True, exist_ok=True)
    loaded.replace(shop.store / source.file)


def unpacked(shop: Workshop, source: Source, into: Path) -> Path:
    """The folder of the unpacked sources below ``into``."""
    with tarfile.open(fetched(shop, source)) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(into, filter="data")
        else:  # before 3.11.4, without filters. The archive is trusted, because its digest is pinned.
            archive.extractall(into)
    folder = into / source.folder
    if not folder.is_dir():
        raise BuildFailed(f"{source.file} does not hold {source.folder}")
    return folder


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one file: ``old`` must occur in ``file`` exactly ``count`` times and is replaced by ``new``."""

    file: str
    old: str
    new: str
    count: int = 1


def change(folder: Path, changes: tuple[Change, ...]) -> None:
    """Changes sources in place. Raises ``BuildFailed`` if the sources do not match the change."""
    for one in changes:
        path = folder / one.file
        text = path.read_text(encoding="utf-8")
        if text.count(one.old) != one.count:
            raise BuildFailed(f"{one.file} holds {text.count(one.old)} times, not {one.count}: {one.old!r}")
        path.write_text(text.replace(one.old, one.new), encoding="utf-8")
