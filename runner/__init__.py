"""The runner: keeps what the service wants, on a container engine."""
