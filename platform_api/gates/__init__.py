"""Human gates of running programs: opened and closed by reports, decided here, handed over by the runner."""
