#!/bin/sh
# Runs the packages as machines do: a fresh Debian, a booted systemd, a container.
#
# usage: sh Tests/Packages/machine.sh FOLDER DEB IMAGE
set -eu

work=$1
deb=$2
image=$3
here=$(cd "$(dirname "$0")/../.." && pwd)
fresh=$work/fresh.tar
machine=$work/machine
name=callagent-test-$$
booted=

say() { printf 'packages: %s\n' "$*"; }

fail() {
    printf 'packages: FAILED: %s\n' "$*" >&2
    exit 1
}

tidy() {
    [ -z "$booted" ] || kill -KILL "$booted" 2>/dev/null || :
    umount "$machine/proc" 2>/dev/null || :
    runc delete --force "$name" >/dev/null 2>&1 || :
}
trap tidy EXIT
trap 'exit 130' INT TERM HUP

# The mirror that this machine has.
if [ ! -s "$fresh" ]; then
    say "a fresh Debian"
    mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
        awk '$2 == "bookworm" { print $1; exit }')
    rm -rf "$machine"
    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus bookworm "$machine" \
        "$mirror" >"$work/debootstrap.log" 2>&1 || fail "debootstrap, see $work/debootstrap.log"
    tar -C "$machine" -c . >"$fresh.new" && mv "$fresh.new" "$fresh"
fi
rm -rf "$machine"
mkdir -p "$machine"
tar -C "$machine" -x -p -f "$fresh"
cp "$deb" "$machine/root/callagent.deb"

# Swift reads the command line from /proc.
mount -t proc proc "$machine/proc"
inside() { chroot "$machine" env LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }

wait_until() {
    what=$1
    shift
    end=$(($(date +%s) + 90))
    until "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$end" ] || fail "$what: not within 90 s"
        sleep 0.2
    done
}

say "installed where there is no systemd"
# A server would be started by nobody here.
printf '#!/bin/sh\nexit 101\n' >"$machine/usr/sbin/policy-rc.d"
chmod 0755 "$machine/usr/sbin/policy-rc.d"
cp /etc/resolv.conf "$machine/etc/resolv.conf"
inside apt-get update -q >"$work/apt.log" 2>&1 || fail "apt-get update, see $work/apt.log"
inside apt-get install -y -q --no-install-recommends /root/callagent.deb >>"$work/apt.log" 2>&1 ||
    fail "apt-get install, see $work/apt.log"
rm "$machine/usr/sbin/policy-rc.d"
inside callagent version
inside callagent check --config /etc/callagent/callagent.lua
inside test -s /usr/share/man/man1/callagent.1.gz || say "manual pages are left out by this root"
port=$(python3 -c 'import socket
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    print(probe.getsockname()[1])')
sed -i "s/127.0.0.1:7600/127.0.0.1:$port/" "$machine/etc/callagent/callagent.lua"

umount "$machine/proc"
say "the unit under a booted systemd"
systemd-nspawn -q --register=no --keep-unit -b -D "$machine" --machine="$name" \
    --console=pipe >"$work/boot.log" 2>&1 </dev/null &
booted=$!
leader() {
    init=$(pgrep -P "$booted" | head -n 1)
    [ -n "$init" ] && [ -d "/proc/$init" ]
}
wait_until "systemd boots" leader
in_machine() { nsenter -t "$init" -m -u -i -p -C -- env LC_ALL=C "$@"; }
is_active() { [ "$(in_machine systemctl is-active callagent)" = active ]; }
wait_until "the unit is active" is_active
readyz() { [ "$(python3 "$here/Tests/Packages/ask.py" "$port")" = 200 ]; }
# It said that it is ready, and not before it was.
readyz || fail "the unit is active, and the server takes no calls"
main_pid() { in_machine systemctl show -p MainPID --value callagent; }
in_machine systemctl show -p Type,WatchdogUSec,User,StatusText callagent
in_machine systemctl show -p StatusText --value callagent | grep -q "serving calls" ||
    fail "the status is not told"

say "a reload, and one of a broken file"
in_machine systemctl reload callagent || fail "systemctl reload"
cp "$machine/etc/callagent/callagent.lua" "$work/good.lua"
echo 'listn = "x"' >>"$machine/etc/callagent/callagent.lua"
! in_machine systemctl reload callagent 2>/dev/null || fail "a broken file was reloaded"
is_active || fail "a broken reload ended the unit"
cp "$work/good.lua" "$machine/etc/callagent/callagent.lua"

say "a process that stands still is started again"
before=$(main_pid)
in_machine mkdir -p /run/systemd/system/callagent.service.d
in_machine sh -c 'printf "[Service]\nWatchdogSec=2\n" \
    >/run/systemd/system/callagent.service.d/test.conf; systemctl daemon-reload; \
    systemctl restart callagent'
wait_until "readyz" readyz
before=$(main_pid)
in_machine systemctl kill -s STOP callagent
another() { [ "$(main_pid)" != "$before" ] && [ "$(main_pid)" != 0 ]; }
wait_until "systemd starts another process" another
wait_until "readyz" readyz

say "an upgrade under load"
python3 "$here/Tests/Packages/load.py" "$port" "$work/load" &
load=$!
wait_until "calls are placed" test -s "$work/load"
before=$(main_pid)
sed -i 's/^-- plugins.*/-- changed by the operator/' "$machine/etc/callagent/callagent.lua"
in_machine dpkg -i --force-confold /root/callagent.deb >>"$work/apt.log" 2>&1 ||
    fail "the upgrade, see $work/apt.log"
wait_until "another process" another
wait_until "readyz" readyz
grep -q "changed by the operator" "$machine/etc/callagent/callagent.lua" || fail "conffile lost"
kill -INT "$load"
wait "$load" || fail "the load: an acknowledged call was lost"

say "a backup of the running server"
in_machine callagent backup /root/copy --config /etc/callagent/callagent.lua
[ -s "$machine/root/copy/callagent.db" ] || fail "no copy"

say "removed and purged"
in_machine apt-get remove -y -q callagent >>"$work/apt.log" 2>&1 || fail "apt-get remove"
[ -e "$machine/var/lib/private/callagent/callagent.db" ] || fail "remove took the state along"
in_machine apt-get purge -y -q callagent >>"$work/apt.log" 2>&1 || fail "apt-get purge"
left=$(find "$machine/etc" "$machine/var/lib" "$machine/usr" -name '*callagent*' \
    ! -path '*/dpkg/*' ! -path '*/apt/*' ! -path '*/systemd/*')
[ -z "$left" ] || fail "purge left $left"
in_machine systemctl poweroff 2>/dev/null || :
wait "$booted" || :
booted=

say "the image by runc, its root read-only"
sh "$here/Tests/Packages/container.sh" "$work" "$image" "$name"
