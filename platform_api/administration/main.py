"""The arguments of ``lang platform`` and what they call."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from platform_api.refusals import Refusal
from platform_api.settings import Settings, settings_from


def command(words: Sequence[str]) -> int:
    """Runs ``lang platform WORDS`` and gives its exit code: 0, 1 for what could not be done, 2 for a wrong call."""
    try:
        arguments = _parser().parse_args(list(words))
    except SystemExit as end:
        return int(end.code or 0)
    try:
        code: int = arguments.run(arguments)
    except Refusal as refusal:
        print(f"lang platform: {refusal.message}", file=sys.stderr)
        return 1
    except (OSError, RuntimeError, ValueError) as error:
        print(f"lang platform: {error}", file=sys.stderr)
        return 1
    return code


def settings(arguments: argparse.Namespace) -> Settings:
    """The settings of a command line. Without a base URL browsers reach the service where it listens.

    Errors: ``ValueError`` for one that cannot be.
    """
    given = {
        name: getattr(arguments, name, None)
        for name in ("data", "database", "base_url", "log_format", "recipes", "plans", "playground")
    }
    made = settings_from(**given)
    if given["base_url"] is None and getattr(arguments, "port", None) is not None and made.base_url == Settings.base_url:
        host = "127.0.0.1" if arguments.host in ("0.0.0.0", "::") else arguments.host
        given["base_url"] = f"http://{f'[{host}]' if ':' in host else host}:{arguments.port}"
        made = settings_from(**given)
    return made


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lang platform", description="Starts the platform and looks after it.", allow_abbrev=False
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    up = _add(commands, "up", "start the platform and keep it running", _up)
    _listening(up)
    up.add_argument("--admin-email", default="admin@localhost", metavar="EMAIL", help="the account made at the first start")
    up.add_argument(
        "--admin-password-stdin", action="store_true", help="read its password from standard input instead of a link"
    )
    up.add_argument(
        "--engine",
        choices=["auto", "docker", "process"],
        default="auto",
        help="what programs run in (default: the best that answers)",
    )

    serve = _add(commands, "serve", "start the service alone: one of several on one PostgreSQL", _serve)
    _listening(serve)
    serve.add_argument("--fd", type=int, metavar="N", help="listen on this descriptor, which is a listening socket already")

    _add(commands, "migrate", "bring the schema of the store up to date", _migrate)

    backup = _add(commands, "backup", "write everything but the master key into one file, also while the service runs", _backup)
    backup.add_argument("file", type=Path, metavar="FILE")
    restore = _add(commands, "restore", "fill a new platform from a backup", _restore)
    restore.add_argument("file", type=Path, metavar="FILE")

    rotate = _add(commands, "rotate-key", "encrypt what is stored with a new master key", _rotate_key)
    rotate.add_argument("--keep-key", action="store_true", help="make no new key: encrypt what is left over with the first one")

    link = _add(commands, "sign-in-link", "print a link that signs an account in once, within 15 minutes", _sign_in_link)
    link.add_argument("email", metavar="EMAIL")

    # `lang` itself hands this one over, with all that follows it: it is not a part of the service.
    commands.add_parser("runner", help="run the programs of a platform on this machine", add_help=False)
    token = _add(commands, "runner-token", "print a token for a runner; the one before holds no longer", _runner_token)
    token.add_argument("id", nargs="?", default="runner", metavar="ID", help="the runner's id (default: runner)")
    runner = commands.add_parser("runners", help="runners", allow_abbrev=False)
    runners = runner.add_subparsers(required=True, metavar="COMMAND")
    _add(runners, "list", "list the runners", _runners_list)
    forget = _add(runners, "forget", "end a runner's token and place its projects anew", _runners_forget)
    forget.add_argument("id", metavar="ID")

    user = commands.add_parser("user", help="accounts", allow_abbrev=False)
    users = user.add_subparsers(required=True, metavar="COMMAND")
    add = _add(users, "add", "make an account", _user_add)
    add.add_argument("email", metavar="EMAIL")
    add.add_argument("--name", default="")
    add.add_argument("--plan", default="free", metavar="PLAN")
    add.add_argument("--admin", action="store_true")
    add.add_argument(
        "--password-stdin", action="store_true", help="read the password from standard input; else a link is printed"
    )
    _add(users, "list", "list the accounts", _user_list)
    passwd = _add(users, "passwd", "set the password of an account", _user_passwd)
    passwd.add_argument("email", metavar="EMAIL")
    disable = _add(users, "disable", "end every session and token of an account and let it sign in no more", _user_disable)
    disable.add_argument("email", metavar="EMAIL")
    enable = _add(users, "enable", "let a disabled account sign in again", _user_enable)
    enable.add_argument("email", metavar="EMAIL")
    second = _add(users, "reset-second-factor", "turn off the one-time codes of an account whose app is lost", _user_second)
    second.add_argument("email", metavar="EMAIL")
    return parser


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str, run: object
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text.capitalize() + ".", allow_abbrev=False
    )
    made.add_argument("--data", type=Path, metavar="FOLDER", help="the folder of the platform (default: ~/.lang/platform)")
    made.add_argument("--database", metavar="URL", help="postgresql://... instead of SQLite in the folder")
    made.add_argument("--base-url", metavar="URL", help="how browsers and clients reach the service")
    made.set_defaults(run=run)
    return made


def _listening(made: argparse.ArgumentParser) -> None:
    made.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    made.add_argument("--port", type=_port, default=8787, help="port to listen on (default: 8787)")
    made.add_argument("--log-format", choices=["text", "json"], help="how the service logs (default: text)")
    made.add_argument("--recipes", metavar="PLACE", help="folder or https repository of the catalog (default: the bundled one)")
    made.add_argument(
        "--playground", type=Path, metavar="FOLDER", help="the playground (default for `up`: that of this installation, if any)"
    )
    made.add_argument("--plans", type=Path, metavar="FILE", help="the TOML file of the plans (default: the bundled one)")


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return int(text)


def _up(arguments: argparse.Namespace) -> int:
    from platform_api.administration.up import up

    return up(arguments, settings(arguments))


def _serve(arguments: argparse.Namespace) -> int:
    from platform_api.administration.serve import serve

    return serve(settings(arguments), arguments.host, arguments.port, arguments.fd)


def _migrate(arguments: argparse.Namespace) -> int:
    from platform_api.store.store import open_store

    open_store(settings(arguments)).close()
    print("The schema of the store is up to date.")
    return 0


def _backup(arguments: argparse.Namespace) -> int:
    from platform_api.environment.keys import load_keys
    from platform_api.store.backup import back_up
    from platform_api.store.store import open_store

    made = settings(arguments)
    store = open_store(made)
    try:
        rows = back_up(store, arguments.file, load_keys(made).current)
    finally:
        store.close()
    print(f"{arguments.file} holds {sum(rows.values())} rows and no master key: keep that somewhere else.")
    return 0


def _restore(arguments: argparse.Namespace) -> int:
    from platform_api.environment.keys import load_keys
    from platform_api.store.backup import restore
    from platform_api.store.store import open_store

    made = settings(arguments)
    store = open_store(made)
    try:
        restored = restore(store, arguments.file)
    finally:
        store.close()
    print(f"Restored {sum(restored.rows.values())} rows.")
    if not load_keys(made).has(restored.key_id):
        print(
            f"lang platform: the secrets are encrypted with the master key {restored.key_id}, which is not here: put it into"
            f" {made.data / 'master.key'} or PLATFORM_MASTER_KEY before the platform starts.",
            file=sys.stderr,
        )
    return 0


def _rotate_key(arguments: argparse.Namespace) -> int:
    from platform_api.administration.keys import rotate_key

    print(rotate_key(settings(arguments), new=not arguments.keep_key))
    return 0


def _sign_in_link(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import sign_in_link

    print(sign_in_link(settings(arguments), arguments.email))
    return 0


def _runner_token(arguments: argparse.Namespace) -> int:
    from platform_api.administration.runners import token

    print(token(settings(arguments), arguments.id))
    return 0


def _runners_list(arguments: argparse.Namespace) -> int:
    from platform_api.administration.runners import listed

    for line in listed(settings(arguments)):
        print(line)
    return 0


def _runners_forget(arguments: argparse.Namespace) -> int:
    from platform_api.administration.runners import forget

    freed = forget(settings(arguments), arguments.id)
    print(f"{arguments.id} is forgotten. It had {freed} project{'' if freed == 1 else 's'}.")
    return 0


def _user_add(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import add, read_password

    password = read_password() if arguments.password_stdin else None
    link = add(settings(arguments), arguments.email, arguments.name, arguments.plan, arguments.admin, password)
    print(f"{arguments.email} has an account." + (f" Within 15 minutes this link signs in once: {link}" if link else ""))
    return 0


def _user_list(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import listed

    for line in listed(settings(arguments)):
        print(line)
    return 0


def _user_passwd(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import passwd, read_password

    passwd(settings(arguments), arguments.email, read_password())
    print(f"{arguments.email} has a new password. What was signed in with the old one is signed out.")
    return 0


def _user_disable(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import disable

    disable(settings(arguments), arguments.email)
    print(f"{arguments.email} is disabled: its tokens and sessions hold no more.")
    return 0


def _user_enable(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import enable

    enable(settings(arguments), arguments.email)
    print(f"{arguments.email} can sign in again.")
    return 0


def _user_second(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import reset_second_factor

    reset_second_factor(settings(arguments), arguments.email)
    print(f"{arguments.email} signs in with its password alone.")
    return 0
