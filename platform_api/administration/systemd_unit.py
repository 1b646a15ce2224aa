"""``lang platform systemd-unit``: the units of the service and of a runner, for this installation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

#: Files with the variables of the operator: one for both parts, one for each.
ENVIRONMENT = "/etc/lang/platform.env"
#: The parent folders in which systemd creates the folders of the data.
STATE = Path("/var/lib")
#: The folders that `ProtectHome` hides, below the root of the file system.
_HOMES = ("home", "root")

#: Restrictions for both parts. (`systemd-analyze security` explains each line.)
_BOTH = """\
UMask=0077
NoNewPrivileges=yes
ProtectSystem=strict
PrivateTmp=yes
ProtectKernelModules=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
"""
#: Further restrictions for the service, which runs no programs.
_SERVICE = """\
CapabilityBoundingSet=
PrivateDevices=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictSUIDSGID=yes
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
"""
#: Further restrictions for a runner. Its sandboxes need mounts, a host name, a new /proc and devices, so options that restrict
#: these cannot be used.
_RUNNER = """\
CapabilityBoundingSet=~CAP_SYS_MODULE CAP_SYS_BOOT CAP_SYS_TIME CAP_SYS_RAWIO CAP_SYSLOG CAP_MAC_ADMIN CAP_WAKE_ALARM
"""


def service_unit(lang: str) -> str:
    """The unit of the service, which has a user of its own.

    Args:
        lang: the command of the installation.
    """
    return f"""\
# /etc/systemd/system/lang-platform.service, as `lang platform systemd-unit service` prints it.
# Before the first start:
#   useradd --system --home-dir {STATE}/lang-platform --shell /usr/sbin/nologin lang-platform
#   {ENVIRONMENT} (mode 0600): PLATFORM_BASE_URL=..., PLATFORM_DATABASE=..., one a line
# Commands for the operator run as the same user: sudo -u lang-platform lang platform user list --data {STATE}/lang-platform
[Unit]
Description=The service of the platform: dashboard and API
Wants=network-online.target
After=network-online.target postgresql.service

[Service]
Type=exec
User=lang-platform
StateDirectory=lang-platform
StateDirectoryMode=0700
EnvironmentFile=-{ENVIRONMENT}
ExecStart={lang} platform serve --data {STATE}/lang-platform --log-format json
WorkingDirectory={STATE}/lang-platform
Restart=always
RestartSec=1
TimeoutStopSec=30
LimitNOFILE=65536
{_BOTH}{_home(lang)}{_SERVICE}
[Install]
WantedBy=multi-user.target
"""


def runner_unit(lang: str) -> str:
    """The unit of a runner.

    It runs as root, because it gives each project a user of its own, creates control groups, and changes the owner of volumes.
    Programs never run as root.

    Args:
        lang: the command of the installation.
    """
    return f"""\
# /etc/systemd/system/lang-runner.service, as `lang platform systemd-unit runner` prints it.
# Before the first start:
#   apt-get install bubblewrap        (or Docker, for the engine docker)
#   /etc/lang/runner.token (mode 0600): what `lang platform runner-token ID` printed
#   {ENVIRONMENT} (mode 0600): PLATFORM_BASE_URL=..., PLATFORM_SERVICE_URL=... where the service is another machine's
# It is root, so that each project gets a user and a control group of its own; no program is. As another user it works too, with
# less: `lang platform runner` says at its start what it enforces.
[Unit]
Description=A runner of the platform: keeps its programs
Wants=network-online.target
After=network-online.target lang-platform.service docker.service

[Service]
Type=exec
StateDirectory=lang-runner
StateDirectoryMode=0700
EnvironmentFile=-{ENVIRONMENT}
ExecStart={lang} platform runner --data {STATE}/lang-runner --token-file /etc/lang/runner.token
WorkingDirectory={STATE}/lang-runner
Restart=always
RestartSec=1
TimeoutStopSec=60
LimitNOFILE=65536
TasksMax=infinity
# The control groups of programs are the runner's: systemd leaves them alone.
Delegate=yes
# Programs of the engine docker outlive their runner; those of the engine process end with it, by themselves.
KillMode=mixed
{_BOTH}{_home(lang)}{_RUNNER}
[Install]
WantedBy=multi-user.target
"""


def _home(lang: str) -> str:
    """Homes are hidden, but for an installation that lies in one."""
    return "ProtectHome=read-only\n" if Path(lang).parts[1] in _HOMES else "ProtectHome=yes\n"


#: The units by the part that they start.
UNITS: Mapping[str, Callable[[str], str]] = {"service": service_unit, "runner": runner_unit}


def unit(part: str) -> str:
    """The unit of a part, for the installation that runs this. Errors: ``ValueError`` if it has no command ``lang``."""
    lang = Path(sys.executable).parent / "lang"
    if not lang.is_file():
        raise ValueError(f"{lang} is not there: install the package (pip install 'ceiling-lang[platform]') into an environment")
    return UNITS[part](str(lang))
