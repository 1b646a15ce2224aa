"""What a program declares, does wrong and can come to run, read off its source: nothing here runs it."""
