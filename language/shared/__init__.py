"""State that all handlers of a served program share: ``state_*`` values, rate-limit buckets, pending gates.

One process keeps it in memory. Several worker processes keep it in one store, so that each of them gives the same answers.
"""
