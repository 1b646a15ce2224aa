"""In the place of ``logging``: the Markdown parser tells it each of its steps, and nobody listens."""


class _Logger:
    def debug(self, *message):
        pass

    info = warning = error = debug


def getLogger(name=None):
    return _Logger()
