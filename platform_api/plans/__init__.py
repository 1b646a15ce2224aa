"""Plans: what an account may use, and what a plan leaves of what a program declares."""
