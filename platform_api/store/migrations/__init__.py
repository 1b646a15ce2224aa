"""The schema, version by version. ``main`` and ``records`` have a row of versions each."""
