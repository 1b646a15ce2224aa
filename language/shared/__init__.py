"""What all handlers of a served program have in common: state, rate-limit buckets, pending gates.

One process keeps it in memory; several worker processes keep it in one store, so that each of them answers alike.
"""
