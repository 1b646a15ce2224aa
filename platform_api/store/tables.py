"""The tables. Moments are milliseconds since 1970, identifiers texts with a prefix, JSON is text.

``main`` holds what is decided and wanted. ``records`` holds what happened: log lines, audit records and the history chain; with
SQLite it is a file of its own, so that a stream of log lines never waits for a deploy, nor a deploy for it.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    and_,
    literal_column,
    text,
)

_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
main = MetaData(naming_convention=_NAMES)
records = MetaData(naming_convention=_NAMES)


def _id() -> Column[str]:
    return Column("id", Text, primary_key=True)


def _moment(name: str, *, required: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=not required)


def _text(name: str, *, required: bool = True, default: str | None = None) -> Column[str]:
    return Column(name, Text, nullable=not required, server_default=default)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=text("false"))


def _of(table: str, name: str, *, required: bool = True) -> Column[str]:
    return Column(name, Text, ForeignKey(f"{table}.id", ondelete="CASCADE"), nullable=not required)


accounts = Table(
    "accounts",
    main,
    _id(),
    _text("email"),
    Column("email_key", Text, nullable=False, unique=True),  # the address without regard to case
    _text("name"),
    _text("plan"),
    _flag("admin"),
    _text("password_hash", required=False),
    Column("totp_secret", LargeBinary),  # encrypted
    Column("totp_counter", BigInteger, nullable=False, server_default="0"),  # the last time step that a code was taken of
    _flag("disabled"),
    _moment("created_at", required=True),
    _moment("updated_at", required=True),
)

tokens = Table(
    "tokens",
    main,
    _id(),
    _of("accounts", "account_id"),
    _text("name"),
    Column("digest", LargeBinary, nullable=False, unique=True),  # SHA-256 of the token; the token itself is nowhere
    _text("scopes"),  # names with blanks between them
    _text("via"),
    Column("project_id", Text),  # where it holds for one project alone
    _moment("created_at", required=True),
    _moment("last_used_at", required=True),
    _moment("revoked_at"),
    Index("ix_tokens_account_id", "account_id"),
)

sessions = Table(
    "sessions",
    main,
    Column("digest", LargeBinary, primary_key=True),
    _of("accounts", "account_id"),
    _text("csrf"),
    _text("address"),
    _moment("created_at", required=True),
    _moment("last_used_at", required=True),
    _moment("expires_at", required=True),
    Index("ix_sessions_account_id", "account_id"),
)

sign_in_links = Table(
    "sign_in_links",
    main,
    Column("digest", LargeBinary, primary_key=True),
    _of("accounts", "account_id"),
    _moment("expires_at", required=True),
    Index("ix_sign_in_links_account_id", "account_id"),
)

devices = Table(
    "devices",
    main,
    Column("digest", LargeBinary, primary_key=True),  # SHA-256 of the device code
    Column("user_code", Text, nullable=False, unique=True),
    _text("name"),
    _text("scopes"),  # those that were asked for
    _text("address"),
    _text("status"),  # pending, approved, denied, used
    _of("accounts", "account_id", required=False),
    _text("granted", required=False),
    _moment("created_at", required=True),
    _moment("expires_at", required=True),
    Index("ix_devices_account_id", "account_id"),
)

#: What is counted per key and window: failed sign-ins, polls of a device, requests.
counts = Table(
    "counts",
    main,
    Column("key", Text, primary_key=True),
    _moment("since", required=True),
    Column("events", Integer, nullable=False),
)

#: How many streams an account has open on a replica, as of the moment of its last sign of life.
open_streams = Table(
    "open_streams",
    main,
    _text("replica"),
    _of("accounts", "account_id"),
    Column("streams", Integer, nullable=False),
    _moment("seen_at", required=True),
    UniqueConstraint("replica", "account_id"),
    Index("ix_open_streams_account_id", "account_id"),
)

idempotency = Table(
    "idempotency",
    main,
    _of("accounts", "account_id"),
    _text("key"),
    Column("request", LargeBinary, nullable=False),  # SHA-256 of method, path and body
    Column("status", Integer),  # empty while the first request is being carried out
    Column("response", LargeBinary),  # encrypted: some answers hold what is shown once
    _moment("created_at", required=True),
    UniqueConstraint("account_id", "key"),
)

packages = Table(
    "packages",
    main,
    Column("hash", Text, primary_key=True),
    Column("size", BigInteger, nullable=False),  # of the contents
    Column("stored", BigInteger, nullable=False),  # of the blob
    Column("blob", LargeBinary, nullable=False),
    _text("inspection"),  # JSON: what the analysis found
    _text("listing"),  # JSON: path, encoding and size of each file
    _moment("created_at", required=True),
)

projects = Table(
    "projects",
    main,
    _id(),
    _of("accounts", "account_id"),
    _text("name"),
    Column("slug", Text, nullable=False, unique=True),
    _text("kind"),
    _text("entry"),
    Column("package_hash", Text, ForeignKey("packages.hash"), nullable=False),
    _text("recipe_slug", required=False),
    _text("recipe_version", required=False),
    _text("repo", default=""),
    _text("ref", default=""),
    _text("schedule", default=""),
    _moment("next_at"),  # when the schedule is due
    Column("sleep_after", Integer, nullable=False, server_default="10"),
    Column("memory_mb", Integer, nullable=False, server_default="256"),
    Column("port", Integer),  # of a web project; unique until the project is erased
    _flag("review_widening"),
    _flag("four_eyes"),
    Column("hook_digest", LargeBinary, unique=True),  # SHA-256 of the secret of the deploy hook
    # What is wanted, and the newest report on it.
    _text("desired", default="none"),  # none, up, down, erased
    Column("generation", Integer, nullable=False, server_default="0"),
    _text("phase", default=""),
    _text("phase_detail", default=""),
    _text("home_runner", required=False),
    Column("change", BigInteger, nullable=False, server_default="0"),  # position among the changes of its runner
    Column("current_deploy", Text),
    Column("deploys_made", Integer, nullable=False, server_default="0"),
    # Numbers that stand for the content of the environment: what is stored, what the last deploy was asked for with. 0 is none.
    Column("environment_made", BigInteger, nullable=False, server_default="0"),
    Column("environment_deployed", BigInteger, nullable=False, server_default="0"),
    _flag("flagged"),  # the two witnesses of its connections differ
    _moment("created_at", required=True),
    _moment("updated_at", required=True),
    _moment("last_request_at"),
    Index("ix_projects_account_id", "account_id", "id"),
    Index("ix_projects_home_runner", "home_runner", "change"),
    Index(
        "ix_projects_next_at", "next_at", postgresql_where=text("next_at IS NOT NULL"), sqlite_where=text("next_at IS NOT NULL")
    ),
    Index("uq_projects_port", "port", unique=True),
    Index("ix_projects_package_hash", "package_hash"),
)

#: The addresses of deleted web projects, which no other account is given before ``until``. They outlive the account.
reserved_addresses = Table(
    "reserved_addresses",
    main,
    _text("slug"),
    Column("port", Integer),
    _text("account_id"),
    _moment("until", required=True),
    UniqueConstraint("slug", "port"),
    Index("ix_reserved_addresses_account_id", "account_id"),
)

deploys = Table(
    "deploys",
    main,
    _id(),
    _of("projects", "project_id"),
    Column("number", Integer, nullable=False),
    _text("status"),  # needs_review, queued, starting, live, failed, superseded, cancelled
    _text("error", required=False),
    _text("package_hash"),
    _flag("package_gone"),  # an older deploy: its package may be thrown away, its hash stays
    _text("entry"),
    _text("kind"),
    _text("ceiling"),  # JSON
    _text("engine", required=False),
    _text("owner_ceiling", required=False),  # what the owner leaves of what the program declares; empty leaves all
    Column("memory_mb", Integer, nullable=False, server_default="256"),
    Column("sleep_after", Integer, nullable=False, server_default="10"),
    _text("created_via"),
    _text("created_by"),
    Column("generation", Integer, nullable=False, server_default="0"),
    Column("environment", LargeBinary),  # encrypted snapshot; kept for the deploy that is on its way or live
    Column("environment_made", BigInteger, nullable=False, server_default="0"),
    _moment("created_at", required=True),
    _moment("started_at"),
    _moment("finished_at"),
    UniqueConstraint("project_id", "number"),
    Index("ix_deploys_package_hash", "package_hash"),
    Index(
        "uq_deploys_on_their_way",
        "project_id",
        unique=True,
        postgresql_where=text("status IN ('queued', 'starting')"),
        sqlite_where=text("status IN ('queued', 'starting')"),
    ),
    Index(
        "uq_deploys_in_review",
        "project_id",
        unique=True,
        postgresql_where=text("status = 'needs_review'"),
        sqlite_where=text("status = 'needs_review'"),
    ),
)

environment = Table(
    "environment",
    main,
    _of("projects", "project_id"),
    _text("name"),
    _text("kind"),  # secret, variable
    Column("ciphertext", LargeBinary, nullable=False),
    _text("key_id"),
    _text("fingerprint"),
    _moment("created_at", required=True),
    UniqueConstraint("project_id", "name"),
)

runs = Table(
    "runs",
    main,
    _id(),
    _of("projects", "project_id"),
    _text("deploy_id", required=False),
    _text("status"),  # queued, running, succeeded, failed, timed_out, cancelled
    _text("trigger"),  # manual, schedule
    Column("attempt", Integer, nullable=False, server_default="1"),
    Column("exit_code", Integer),
    _text("output", default=""),
    _flag("cancel"),
    Column("change", BigInteger, nullable=False, server_default="0"),
    _moment("created_at", required=True),
    _moment("started_at"),
    _moment("finished_at"),
    Index(
        "uq_runs_active",
        "project_id",
        unique=True,
        postgresql_where=text("status IN ('queued', 'running')"),
        sqlite_where=text("status IN ('queued', 'running')"),
    ),
    Index("ix_runs_project_id", "project_id", "id"),
    Index("ix_runs_change", "project_id", "change"),
)

rehearsals = Table(
    "rehearsals",
    main,
    _id(),
    _of("projects", "project_id"),
    _text("package_hash"),
    _text("entry"),
    _text("ceiling"),  # what a deploy of this version would be given
    _text("live_ceiling", required=False),  # that of the live deploy
    _text("status"),  # queued, running, ended, timed_out, failed
    _text("detail", default=""),
    _text("output", default=""),
    Column("exit_code", Integer),
    _text("tried", default="[]"),  # JSON
    Column("more", Integer, nullable=False, server_default="0"),
    _text("created_by"),
    Column("change", BigInteger, nullable=False, server_default="0"),
    _moment("created_at", required=True),
    _moment("started_at"),
    _moment("finished_at"),
    Index(
        "uq_rehearsals_active",
        "project_id",
        unique=True,
        postgresql_where=text("status IN ('queued', 'running')"),
        sqlite_where=text("status IN ('queued', 'running')"),
    ),
    Index("ix_rehearsals_project_id", "project_id", "id"),
    Index("ix_rehearsals_package_hash", "package_hash"),
)

gates = Table(
    "gates",
    main,
    _id(),
    _of("projects", "project_id"),
    _text("deploy_id", required=False),
    _text("run_id", required=False),
    _text("gate_id"),
    _text("type"),
    _text("message"),
    _text("options", required=False),  # JSON list
    _text("status"),  # pending, approved, denied, answered
    _text("value", required=False),
    _text("decided_by", required=False),
    _text("channel", required=False),
    _flag("expired"),
    _flag("undelivered"),
    _moment("delivered_at"),
    _moment("decided_at"),
    _moment("expires_at", required=True),
    _moment("received_at", required=True),
    Column("change", BigInteger, nullable=False, server_default="0"),
    UniqueConstraint("project_id", "gate_id"),
    Index("ix_gates_project_id", "project_id", "id"),
    Index("ix_gates_decided_at", "project_id", "decided_at"),
    Index(
        "ix_gates_open",
        "project_id",
        "expires_at",
        postgresql_where=text("delivered_at IS NULL AND expired IS false"),
        sqlite_where=text("delivered_at IS NULL AND expired IS 0"),
    ),
)

runners = Table(
    "runners",
    main,
    _id(),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("change", BigInteger, nullable=False, server_default="0"),  # the newest change that concerns this runner
    _text("instance", required=False),  # the process that has this id now
    _text("status", required=False),  # JSON: host, engines, isolation, capacity
    _moment("created_at", required=True),
    _moment("seen_at"),
)

#: The highest number of each stream of reports that is stored.
runner_streams = Table(
    "runner_streams",
    main,
    _of("runners", "runner_id"),
    _text("instance"),
    _text("stream"),
    Column("acknowledged", BigInteger, nullable=False),
    UniqueConstraint("runner_id", "instance", "stream"),
)

#: What a runner that was forgotten may still have of projects: it is told to erase it, should it come back.
erasures = Table(
    "erasures",
    main,
    _of("runners", "runner_id"),
    _text("project_id"),
    _text("slug"),
    Column("generation", Integer, nullable=False),
    Column("change", BigInteger, nullable=False),
    UniqueConstraint("runner_id", "project_id"),
)

#: What has been decided here and must still be written into the history of a project, which lies in the other file.
history_outbox = Table(
    "history_outbox",
    main,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    _text("project_id"),
    _text("account_id", required=False),
    _flag("chained"),  # whether it belongs into the history, or is only told to who watches
    _moment("at", required=True),
    _text("event"),  # JSON
    sqlite_autoincrement=True,  # a number is never used again: who has taken over number 7 takes over nothing up to 7
)

#: What a project took, as its runner saw it: the last report of each minute.
figures = Table(
    "figures",
    main,
    _of("projects", "project_id"),
    _moment("minute", required=True),
    Column("memory_mb", Integer, nullable=False),
    Column("cpu_ms", BigInteger, nullable=False),
    Column("disk_mb", Integer, nullable=False),
    Column("requests", BigInteger, nullable=False),
    UniqueConstraint("project_id", "minute"),
    Index("ix_figures_minute", "minute"),
)

#: Where an account wants to be told of what waits for it or went wrong.
notices = Table(
    "notices",
    main,
    _id(),
    _of("accounts", "account_id"),
    _of("projects", "project_id", required=False),  # empty for all projects of the account
    _text("name"),
    _text("service"),  # how the URL begins
    _text("kinds"),  # names with blanks between them
    Column("ciphertext", LargeBinary, nullable=False),  # of the URL, which holds tokens and passwords
    _moment("created_at", required=True),
    _moment("sent_at"),
    _moment("failed_at"),
    _text("error", required=False),
    Index("ix_notices_account_id", "account_id"),
    Index("ix_notices_project_id", "project_id"),
)

#: Notices on their way. Whoever sends one moves ``due_at`` on first: it comes again when the sender dies.
notices_due = Table(
    "notices_due",
    main,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    _of("notices", "notice_id"),
    _text("title"),
    _text("body"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    _moment("due_at", required=True),
    Index("ix_notices_due_due_at", "due_at"),
    Index("ix_notices_due_notice_id", "notice_id"),
)

recipes = Table(
    "recipes",
    main,
    Column("slug", Text, primary_key=True),
    Column("position", Integer, nullable=False),
    _text("record"),  # JSON: the fields of the catalog
    Column("package_hash", Text, ForeignKey("packages.hash"), nullable=False),
    Index("ix_recipes_package_hash", "package_hash"),
)

#: Conditions in the words of the indexes above: with values in place of the words, SQLite does not find by them, nor does a
#: statement that PostgreSQL keeps prepared.
ON_THEIR_WAY = deploys.c.status.in_([literal_column("'queued'"), literal_column("'starting'")])
ACTIVE_RUNS = runs.c.status.in_([literal_column("'queued'"), literal_column("'running'")])
ACTIVE_REHEARSALS = rehearsals.c.status.in_([literal_column("'queued'"), literal_column("'running'")])
#: Gates that are pending, or decided and not yet handed over.
OPEN_GATES = and_(gates.c.delivered_at.is_(None), gates.c.expired.is_(False))

#: The counters of a project, moved in the transaction that uses them: an ``after`` never skips a line that commits late.
counters = Table(
    "counters",
    records,
    Column("project_id", Text, primary_key=True),
    Column("log_id", BigInteger, nullable=False, server_default="0"),
    Column("audit_id", BigInteger, nullable=False, server_default="0"),
    Column("history_seq", BigInteger, nullable=False, server_default="0"),
    _text("history_hash", default="0" * 64),
    Column("outbox_id", BigInteger, nullable=False, server_default="0"),  # the last event taken over from the outbox
)

#: As ``runner_streams``, of the streams that carry log lines and audit records: moved in the transaction that appends them.
record_streams = Table(
    "record_streams",
    records,
    _text("runner_id"),
    _text("instance"),
    _text("stream"),
    Column("acknowledged", BigInteger, nullable=False),
    UniqueConstraint("runner_id", "instance", "stream"),
)

log_lines = Table(
    "log_lines",
    records,
    Column("project_id", Text, primary_key=True),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    _moment("at", required=True),
    _text("stream"),
    _text("line"),
    _text("run_id", required=False),
    Index("ix_log_lines_at", "at"),
)

audit_records = Table(
    "audit_records",
    records,
    Column("project_id", Text, primary_key=True),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("ts", BigInteger, nullable=False),  # milliseconds; shown as Unix seconds
    _text("capability"),
    _text("scope", required=False),
    Column("granted", Boolean, nullable=False),
    _text("origin", required=False),
    _text("why", required=False),
    _text("deploy_id", required=False),
    _text("witness", default="program"),  # program, or runner: who saw it
    Column("times", Integer, nullable=False, server_default="1"),
    _text("search"),  # what is looked through: capability, scope, origin and reason without regard to case
    Index("ix_audit_records_ts", "ts"),
)

#: One hash chain a project: ``line`` is what is hashed, as it stands in an exported file.
history = Table(
    "history",
    records,
    Column("project_id", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    _moment("at", required=True),
    Column("line", LargeBinary, nullable=False),
)

#: What an account is told of its projects as it happens. The counter of its rows is that of its id in ``counters``.
account_events = Table(
    "account_events",
    records,
    Column("account_id", Text, primary_key=True),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    _moment("at", required=True),
    _text("project_id"),
    _text("event"),  # JSON
    Index("ix_account_events_at", "at"),
)
