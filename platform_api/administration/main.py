"""``lang platform``: its arguments and its commands."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from platform_api.refusals import Refusal
from platform_api.settings import Settings, settings_from


def command(words: Sequence[str]) -> int:
    """Runs ``lang platform WORDS`` and returns its exit code: 0, 1 after a failure, 2 for a wrong call."""
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
    """The settings of a command line. Without a base URL, that is made of the host and the port where the service listens.

    Errors: ``ValueError`` for a setting that is not valid.
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
        prog="lang platform", description="Runs a platform and administers it.", allow_abbrev=False
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    up = _add(commands, "up", "start the platform and keep it running", _up)
    _listening(up)
    up.add_argument(
        "--admin-email",
        default="admin@localhost",
        metavar="EMAIL",
        help="e-mail address of the administrator's account, made at the first start (default: admin@localhost)",
    )
    up.add_argument(
        "--admin-password-stdin",
        action="store_true",
        help="read the password of that account from standard input, instead of printing a link that signs in",
    )
    up.add_argument(
        "--engine",
        choices=["auto", "docker", "process", "swarm"],
        default="auto",
        help="how programs are isolated (default: auto, the best engine that is available on this machine)",
    )

    serve = _add(
        commands,
        "serve",
        "start the service without a runner: one of several replicas that share one PostgreSQL database",
        _serve,
    )
    _listening(serve)
    serve.add_argument("--fd", type=int, metavar="N", help="accept connections on descriptor N, an open listening socket")

    _add(commands, "migrate", "update the tables of the database to this version", _migrate)

    backup = _add(
        commands,
        "backup",
        "write the whole database, without the master key, into one file; the service may be running",
        _backup,
    )
    backup.add_argument("file", type=Path, metavar="FILE", help="the file to write")
    restore = _add(commands, "restore", "restore a backup into a new platform", _restore)
    restore.add_argument("file", type=Path, metavar="FILE", help="the file that `lang platform backup` wrote")

    rotate = _add(commands, "rotate-key", "make a new master key and encrypt all stored secrets with it", _rotate_key)
    rotate.add_argument(
        "--keep-key",
        action="store_true",
        help="make no new key: encrypt what is still encrypted with an older key with the current one",
    )

    link = _add(
        commands, "sign-in-link", "print a link that signs in to an account; it works once, within 15 minutes", _sign_in_link
    )
    link.add_argument("email", metavar="EMAIL", help="e-mail address of the account")

    proxy = _add(
        commands,
        "ingress-config",
        "print the configuration of a TLS proxy for the service and the web projects",
        _ingress_config,
    )
    proxy.add_argument("proxy", choices=["caddy", "nginx"], help="the proxy to configure")
    proxy.add_argument(
        "--service",
        action="append",
        metavar="PLACE",
        help="HOST:PORT where the service listens; repeat it for replicas (default: 127.0.0.1:8787)",
    )
    proxy.add_argument(
        "--ingress",
        action="append",
        metavar="PLACE",
        help="HOST:PORT where the ingress of a runner listens; repeat it for each runner (default: PLATFORM_INGRESS, else"
        " 127.0.0.1:8788)",
    )
    pair = ("CERTIFICATE", "KEY")
    proxy.add_argument(
        "--certificate",
        nargs=2,
        metavar=pair,
        help="files for the host of the dashboard (default: those of certbot for nginx; Caddy obtains its own)",
    )
    proxy.add_argument(
        "--apps-certificate",
        nargs=2,
        metavar=pair,
        help="files for all hosts below PLATFORM_APPS_DOMAIN (default: those of --certificate)",
    )
    proxy.add_argument("--listen", metavar="ADDRESS", help="the address that the proxy listens on (default: all)")

    unit = _add(commands, "systemd-unit", "print a systemd unit that runs the service or a runner", _systemd_unit)
    unit.add_argument("part", choices=["service", "runner"], help="what the unit runs")

    # `lang` itself runs this one, in `runner.command`: the runner is not a part of the service. Here it is only listed.
    commands.add_parser("runner", help="run the programs of a platform on this machine", add_help=False)
    token = _add(commands, "runner-token", "print a new token for a runner; its former token becomes invalid", _runner_token)
    token.add_argument("id", nargs="?", default="runner", metavar="ID", help="the runner's id (default: runner)")
    runner = commands.add_parser("runners", help="list runners or remove one", allow_abbrev=False)
    runners = runner.add_subparsers(required=True, metavar="COMMAND")
    _add(runners, "list", "list the runners", _runners_list)
    forget = _add(
        runners, "forget", "remove a runner: revoke its token and move its projects to other runners", _runners_forget
    )
    forget.add_argument("id", metavar="ID", help="the runner's id")

    user = commands.add_parser("user", help="administer accounts", allow_abbrev=False)
    users = user.add_subparsers(required=True, metavar="COMMAND")
    add = _add(users, "add", "create an account", _user_add)
    add.add_argument("email", metavar="EMAIL", help="its e-mail address")
    add.add_argument("--name", default="", help="name of the person")
    add.add_argument("--plan", default="free", metavar="PLAN", help="its plan (default: free)")
    add.add_argument("--admin", action="store_true", help="make it an administrator")
    add.add_argument(
        "--password-stdin",
        action="store_true",
        help="read the password from standard input, instead of printing a link that signs in",
    )
    _add(users, "list", "list the accounts", _user_list)
    passwd = _add(users, "passwd", "set the password of an account, read from standard input", _user_passwd)
    passwd.add_argument("email", metavar="EMAIL", help="its e-mail address")
    disable = _add(
        users, "disable", "block an account: revoke its sessions and tokens and refuse further sign-ins", _user_disable
    )
    disable.add_argument("email", metavar="EMAIL", help="its e-mail address")
    enable = _add(users, "enable", "allow a disabled account to sign in again", _user_enable)
    enable.add_argument("email", metavar="EMAIL", help="its e-mail address")
    second = _add(
        users, "reset-second-factor", "turn off the second factor of an account whose authenticator app is lost", _user_second
    )
    second.add_argument("email", metavar="EMAIL", help="its e-mail address")
    return parser


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str, run: object
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False
    )
    made.add_argument("--data", type=Path, metavar="FOLDER", help="the folder of the platform (default: ~/.lang/platform)")
    made.add_argument("--database", metavar="URL", help="postgresql://... (default: SQLite in the folder)")
    made.add_argument("--base-url", metavar="URL", help="public address of the service, as browsers and clients use it")
    made.set_defaults(run=run)
    return made


def _listening(made: argparse.ArgumentParser) -> None:
    made.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    made.add_argument("--port", type=_port, default=8787, help="port to listen on (default: 8787)")
    made.add_argument("--log-format", choices=["text", "json"], help="format of the log of the service (default: text)")
    made.add_argument(
        "--recipes",
        metavar="PLACE",
        help="folder or https git repository with the catalog of recipes (default: the bundled one)",
    )
    made.add_argument(
        "--playground",
        type=Path,
        metavar="FOLDER",
        help="folder with the files of the playground (default: that of this installation, if there is one)",
    )
    made.add_argument("--plans", type=Path, metavar="FILE", help="TOML file with the plans (default: the bundled one)")


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return int(text)


def _up(arguments: argparse.Namespace) -> int:
    from platform_api.administration.up import up

    return up(arguments, settings(arguments))


def _serve(arguments: argparse.Namespace) -> int:
    from platform_api.administration.playground import installed_playground
    from platform_api.administration.serve import serve

    made = settings(arguments)
    if made.playground is None:
        made = replace(made, playground=installed_playground())
    return serve(made, arguments.host, arguments.port, arguments.fd)


def _migrate(arguments: argparse.Namespace) -> int:
    from platform_api.store.store import open_store

    open_store(settings(arguments)).close()
    print("The tables of the database are up to date.")
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
    print(f"{arguments.file} holds {sum(rows.values())} rows, without the master key: keep a copy of the key elsewhere.")
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
    print(f"Restored {sum(restored.rows.values())} rows.", flush=True)
    if not load_keys(made).has(restored.key_id):
        print(
            f"lang platform: the secrets are encrypted with the master key {restored.key_id}, which is missing here: put it"
            f" into {made.data / 'master.key'} or PLATFORM_MASTER_KEY before you start the platform.",
            file=sys.stderr,
        )
    return 0


def _rotate_key(arguments: argparse.Namespace) -> int:
    from platform_api.administration.keys import rotate_key

    print(rotate_key(settings(arguments), new=not arguments.keep_key))
    return 0


def _ingress_config(arguments: argparse.Namespace) -> int:
    from platform_api.administration.ingress_config import PROXIES, front

    found = front(
        settings(arguments),
        service=arguments.service or ["127.0.0.1:8787"],
        ingress=arguments.ingress or [os.environ.get("PLATFORM_INGRESS") or "127.0.0.1:8788"],
        certificate=arguments.certificate,
        apps_certificate=arguments.apps_certificate,
        listen=arguments.listen,
    )
    print(PROXIES[arguments.proxy](found), end="")
    return 0


def _systemd_unit(arguments: argparse.Namespace) -> int:
    from platform_api.administration.systemd_unit import unit

    print(unit(arguments.part), end="")
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
    print(f"{arguments.id} is removed. It had {freed} project{'' if freed == 1 else 's'}.")
    return 0


def _user_add(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import add, read_password

    password = read_password() if arguments.password_stdin else None
    link = add(settings(arguments), arguments.email, arguments.name, arguments.plan, arguments.admin, password)
    print(f"{arguments.email} has an account." + (f" This link signs in once, within 15 minutes: {link}" if link else ""))
    return 0


def _user_list(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import listed

    for line in listed(settings(arguments)):
        print(line)
    return 0


def _user_passwd(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import passwd, read_password

    passwd(settings(arguments), arguments.email, read_password())
    print(f"{arguments.email} has a new password. Its former sessions are signed out.")
    return 0


def _user_disable(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import disable

    disable(settings(arguments), arguments.email)
    print(f"{arguments.email} is disabled: its tokens and sessions are revoked.")
    return 0


def _user_enable(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import enable

    enable(settings(arguments), arguments.email)
    print(f"{arguments.email} can sign in again.")
    return 0


def _user_second(arguments: argparse.Namespace) -> int:
    from platform_api.administration.users import reset_second_factor

    reset_second_factor(settings(arguments), arguments.email)
    print(f"{arguments.email} now signs in with its password alone, without a second factor.")
    return 0
