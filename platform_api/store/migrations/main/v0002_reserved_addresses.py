"""The addresses of deleted web projects."""

import sqlalchemy as sa
from alembic import op

revision = "main_0002"
down_revision = "main_0001"


def upgrade() -> None:
    """Makes the table."""
    op.create_table(
        "reserved_addresses",
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=True),
        sa.Column("account_id", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("slug", "port", name=op.f("uq_reserved_addresses_slug_port")),
    )
    op.create_index("ix_reserved_addresses_account_id", "reserved_addresses", ["account_id"], unique=False)
