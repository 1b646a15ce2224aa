"""Dates, and the times of schedules, by arithmetic only: no clock is read here."""
