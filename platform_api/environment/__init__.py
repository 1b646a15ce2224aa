"""Variables and secrets of projects: encrypted, fingerprinted, and as a deploy takes them."""
