"""What projects take, and what an account uses of its plan."""
