#!/usr/bin/env bash
# tests/bare_debian.sh [TARGET...]: the commands of the README on a machine that has nothing yet. Makes a root of Debian unstable with
# python3, python3-venv, make, git and ca-certificates alone, clones what is committed here into it, and runs `make TARGET` there
# for each target (default: run, then test). Needs root, Debian, debootstrap and a network. By hand, before a release: `make run` takes a
# minute, `make test` more than half an hour. ROOT names the folder of the root (default: a temporary one, removed at the end).
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" = 0 ] || { echo "tests/bare_debian.sh needs root, for mounts" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "tests/bare_debian.sh needs debootstrap (apt-get install debootstrap)" >&2; exit 1; }
[ $# -gt 0 ] || set -- run test

home=~root
root=${ROOT:-$(mktemp -d)}
trap '[ -n "${ROOT-}" ] || rm -rf --one-file-system "$root"' EXIT

# Runs a command with that root as the root of a mount namespace: within chroot the kernel makes no user namespace, and no program
# gets a sandbox. What is mounted goes with the command.
inside() {
    unshare --mount --propagation private bash -euc '
        mount --bind "$0" "$0" && cd "$0"
        mount -t proc proc proc && mount --rbind /dev dev && mount --rbind /sys sys
        pivot_root . . && umount --lazy . && cd /
        exec "$@"' "$root" "$@"
}

if [ ! -e "$root/usr/bin/make" ]; then
    debootstrap --variant=minbase --include=python3,python3-venv,make,git,ca-certificates sid "$root" >"$root.log" 2>&1 ||
        { tail -5 "$root.log" >&2; exit 1; }
fi
# What makes a network reachable from here reaches it from there: the resolver, and certificates of this machine's own authorities.
cp /etc/resolv.conf "$root/etc/resolv.conf"
# A mirror that is some days behind is good enough.
echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99mirror-behind"
cat /etc/ssl/certs/ca-certificates.crt >"$root/etc/ssl/certs/ca-certificates.crt"
rm -rf "$root/srv/clone"
git clone --quiet "file://$here" "$root/srv/clone"
inside python3 --version
for target in "$@"; do
    echo "== make $target"
    inside /usr/bin/env -i HOME="$home" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        make --no-print-directory -C /srv/clone "$target" </dev/null
done
