"""Variables and secrets of projects: their encryption, fingerprints, and the snapshot for a deploy."""
