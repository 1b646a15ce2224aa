"""Replaces ``zoneinfo._tzpath``: the builds have no folders with time zones."""

TZPATH = ()


class InvalidTZPathWarning(RuntimeWarning):
    pass


def find_tzfile(key):
    if key.startswith("/") or ".." in key.split("/"):
        raise ValueError(f"ZoneInfo keys may not be absolute paths or lead upwards, got: {key}")


def available_timezones():
    from _lang_time_zones import ZONES

    return set(ZONES)


def reset_tzpath(to=None):
    pass
