"""``lang platform``: starts the service, and what its operator does beside it."""
