"""The master key from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platform_api.environment.keys import add_key, key_file, load_keys
from platform_api.environment.rotation import rotate
from platform_api.store.store import open_store

if TYPE_CHECKING:
    from platform_api.settings import Settings


def rotate_key(settings: Settings, *, new: bool = True) -> str:
    """Encrypts everything with the current master key, and returns a text with what was done and the next steps.

    Args:
        new: makes a new key first, if the keys are in the file of the service. With ``PLATFORM_MASTER_KEY`` the operator puts
            a new key in front of the others there.
    """
    keys, own = load_keys(settings), settings.master_key is None
    if new and own:
        add_key(key_file(settings))
        keys.reload()
    store = open_store(settings)
    try:
        done = rotate(store.main, keys)
    finally:
        store.close()
    return (
        f"{done.projects} projects and {done.accounts} second factors are now encrypted with the key {keys.current}. Next: "
        "restart every process of the service, run `lang platform rotate-key --keep-key`, then remove the old key from "
        f"{key_file(settings) if own else 'PLATFORM_MASTER_KEY'}."
    )
