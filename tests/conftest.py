"""What every test shares."""

from __future__ import annotations

from hypothesis import settings

# A property is about results: how long one example takes depends on what else the machine does.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
