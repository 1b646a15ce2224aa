"""What runs a compiled program: an instance, its context, what its code calls, its limits and threads."""
