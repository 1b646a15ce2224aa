"""The audit: the records of a run's decisions about capabilities, and the hash chain that shows whether any record was changed
afterwards.
"""
