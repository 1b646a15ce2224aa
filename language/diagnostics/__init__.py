"""How an error is shown to a person. A program that ends well loads nothing of it."""
