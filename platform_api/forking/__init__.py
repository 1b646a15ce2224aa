"""Fork servers: work on what is not trusted, each piece in a process of its own, at the cost of a fork."""
