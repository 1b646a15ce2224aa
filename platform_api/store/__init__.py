"""The store: SQLAlchemy Core over SQLite or PostgreSQL. One path: every statement is a Core statement in a transaction."""
