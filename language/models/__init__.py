"""Language models: what is asked of one, what it answers, and how each provider's protocol says that.

``conversation`` has the classes of a request and its reply and the interface ``Model``. This room opens no connections: the
transport is given to it (``language.native.model_transport``).
"""
