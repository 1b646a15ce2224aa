"""Replaces ``logging``: the Markdown parser logs each of its steps, and nobody reads that."""


class _Logger:
    def debug(self, *message):
        pass

    info = warning = error = debug


def getLogger(name=None):
    return _Logger()
