"""The audit: the records of a run's decisions, and the chain that shows whether any was changed afterwards."""
