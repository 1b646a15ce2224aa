"""Days, dates and the times at which a schedule holds, by arithmetic alone: no clock is read here."""
