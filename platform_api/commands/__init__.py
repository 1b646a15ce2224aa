"""The commands that talk to a platform: ``lang login``, ``lang deploy`` and the rest. They need the standard library alone."""
