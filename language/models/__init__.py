"""Language models: requests and replies, and how the protocol of each provider encodes them.

``conversation`` has the classes of a request and its reply and the interface ``Model``. This package opens no connections: it
is given a transport (``language.native.model_transport``).
"""
