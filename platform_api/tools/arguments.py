"""What the tools take. The schemas that an assistant reads are made of these; a fault names the argument."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

#: Ids stand in paths: nothing that means something in a path is one. The end is that of the text, not of a line.
_ID = r"^[A-Za-z0-9_-]{1,64}(?![\s\S])"
ProjectId = Annotated[str, Meta(pattern=_ID, description="The id of a project, as list_projects gives it: prj_...")]
DeployId = Annotated[str, Meta(pattern=_ID, description="The id of a deploy, as list_deploys gives it: dep_...")]
RunId = Annotated[str, Meta(pattern=_ID, description="The id of a run, as list_runs gives it: run_...")]
Cursor = Annotated[str, Meta(max_length=200, description="The next_cursor of the page before; none for the first page.")]
Source = Annotated[str, Meta(description="The text of the entry file.")]
Entry = Annotated[str, Meta(description="The path of the entry file among `files`.")]


class SentFile(Struct, forbid_unknown_fields=True):
    """A file of a package."""

    path: Annotated[str, Meta(description="Relative, with / between folders.")]
    content: str
    encoding: Literal["utf8", "base64"] = "utf8"


Files = Annotated[list[SentFile], Meta(description="All files of the program.")]


class Nothing(Struct, forbid_unknown_fields=True, kw_only=True):
    """No arguments."""


class List(Nothing):
    """A list of the account."""

    limit: Annotated[int, Meta(ge=1, le=100, description="How many items at most.")] = 50
    cursor: Cursor | None = None


class OfProject(Nothing):
    """A project."""

    project_id: ProjectId


class ReadFile(OfProject):
    """A file of the current package, or a part of it."""

    path: Annotated[str, Meta(max_length=240, description="The path of the file; the entry file without it.")] | None = None
    start: Annotated[int, Meta(ge=0, description="Characters to leave out at the beginning: the `next` of an answer.")] = 0


class CreateProject(Nothing):
    """A new project. Exactly one of ``source``, ``files``, ``recipe`` and ``repo`` is given."""

    name: Annotated[str, Meta(min_length=1, max_length=100, description="How people know the project.")]
    source: Annotated[str, Meta(description="The text of a program of one file.")] | None = None
    files: Files | None = None
    recipe: Annotated[str, Meta(description="The slug of a recipe, as list_recipes gives it.")] | None = None
    repo: Annotated[str, Meta(description="A public repository: https://<host>/<owner>/<repo>.")] | None = None
    ref: Annotated[str, Meta(description="A branch or tag of `repo`; its default branch without it.")] | None = None
    entry: Entry | None = None
    kind: Annotated[Literal["web", "worker", "job"], Meta(description="Without it the program decides.")] | None = None


class Deploy(OfProject):
    """A deploy. Without more arguments the current package is deployed."""

    source: Source | None = None
    files: Files | None = None
    entry: Entry | None = None
    pull: Annotated[bool, Meta(description="Fetch the package anew from the project's repository.")] = False
    apply: Annotated[bool, Meta(description="Deploy what is live again, with today's variables and secrets.")] = False
    ceiling: (
        Annotated[
            str,
            Meta(
                description="Narrows what the program may do: what is left of what it declares, such as the `shrunk` of "
                "declared_versus_done."
            ),
        ]
        | None
    ) = None


class OfDeploy(OfProject):
    """A deploy of a project."""

    deploy_id: DeployId


class TailLogs(OfProject):
    """The end of a log, or what follows a line."""

    after: (
        Annotated[
            str,
            Meta(pattern=r"^[0-9]{1,19}(?![\s\S])", description="The `last` of an answer: gives the lines behind it."),
        ]
        | None
    ) = None
    limit: Annotated[int, Meta(ge=1, le=200, description="How many lines at most.")] = 50


class QueryAudit(OfProject):
    """A part of an audit."""

    only: (
        Annotated[Literal["granted", "denied"], Meta(description="Only what was granted, or only what was denied.")] | None
    ) = None
    q: Annotated[str, Meta(max_length=500, description="Found in capability, scope, origin or reason, in any case.")] = ""
    limit: Annotated[int, Meta(ge=1, le=100, description="How many records at most.")] = 50
    cursor: Cursor | None = None


class Declared(OfProject):
    """A span of time."""

    days: Annotated[int, Meta(ge=1, le=30, description="How many days back the audit is looked at.")] = 30


class Metrics(OfProject):
    """A span of time."""

    minutes: Annotated[int, Meta(ge=1, le=120, description="How many minutes back.")] = 15


class ListRuns(OfProject):
    """Runs of a job."""

    limit: Annotated[int, Meta(ge=1, le=50, description="How many runs at most.")] = 10
    cursor: Cursor | None = None


class OfRun(OfProject):
    """A run of a job."""

    run_id: RunId


class SetSchedule(OfProject):
    """When a job runs by itself."""

    cron: Annotated[
        str,
        Meta(
            description="Minute, hour, day, month and weekday in UTC, or @hourly, @daily, @weekly, @monthly, @yearly. "
            "An empty text: the job runs only when asked."
        ),
    ]


class SetSleep(OfProject):
    """When a web project sleeps."""

    after_minutes: Annotated[int, Meta(ge=0, le=1440, description="Idle minutes; 0 keeps it awake.")]
