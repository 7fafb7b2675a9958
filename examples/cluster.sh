#!/bin/sh
# Three nodes with one PostgreSQL: phones connect to any of them; the owner is killed, and another
# node goes on with the call.
#
# usage: sh examples/cluster.sh [--once]
#
# Installs what is missing, builds, starts a PostgreSQL of its own in a temporary folder and three
# nodes on loopback, places a call from one node to another, kills the owner and tells how long
# nobody served.
# Without --once the nodes then go on until Ctrl-C; with it the script ends, with exit code 0 only
# when every step was seen. PORT is the first of six ports (7611). CALLAGENT names an executable
# that is built already.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
once=
case "${1-}" in
"") ;;
--once) once=yes ;;
*)
    echo "unknown option '$1'; usage: sh examples/cluster.sh [--once]" >&2
    exit 2
    ;;
esac

scratch=$(mktemp -d "${TMPDIR:-/tmp}/callagent-cluster.XXXXXX")
port=${PORT:-7611}

clean_up() {
    trap - EXIT INT TERM
    trap '' HUP # a terminal that closes may say so twice
    for file in "$scratch"/*/pid; do
        [ ! -f "$file" ] || kill "$(cat "$file")" 2>/dev/null || :
    done
    # The database ends with its standard input.
    exec 9>&-
    wait 2>/dev/null || :
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

fail() {
    printf '\nNOT SEEN: %s\n' "$1"
    for file in "$scratch"/*/log; do
        [ ! -f "$file" ] || { printf -- '--- %s\n' "$file" && tail -n 12 "$file"; }
    done
    exit 1
}

step() { printf '\n%s. %s\n\n' "$1" "$2"; }
now() { date +%s%3N; }

# Waits until a node's log has so many lines of a pattern: wait_for NODE COUNT PATTERN
wait_for() {
    tries=1200
    until [ "$(grep -c -- "$3" "$scratch/$1/log" 2>/dev/null)" -ge "$2" ]; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || fail "$1: $3"
        sleep 0.05
    done
}

begin() {
    (cd "$scratch/$1" && exec "$callagent" run callagent.lua) >>"$scratch/$1/log" 2>&1 </dev/null &
    echo $! >"$scratch/$1/pid"
}

at() {
    node=$1
    shift
    (cd "$scratch/$node" && "$callagent" "$@")
}

# Waits for the first of the others to own; its name is in $owner: next_of NODE NODE
next_of() {
    tries=1200
    while :; do
        for owner in "$@"; do
            if grep -q '"message":"ready"' "$scratch/$owner/log"; then return; fi
        done
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || fail "$* take over"
        sleep 0.05
    done
}

if [ -d /usr/lib/postgresql ]; then
    sh "$root/examples/install.sh"
else
    sh "$root/examples/install.sh" --checks
fi
if [ -n "${CALLAGENT-}" ]; then
    callagent=$(realpath "$CALLAGENT")
else
    echo "building callagent (release; a few minutes the first time)"
    (cd "$root" && swift build -c release --product callagent)
    callagent=$(cd "$root" && swift build -c release --show-bin-path)/callagent
fi

step 1 "a PostgreSQL of its own, and callagent cluster init"
mkfifo "$scratch/stop"
sh "$root/Tests/Cluster/postgres.sh" <"$scratch/stop" >"$scratch/address" &
exec 9>"$scratch/stop"
tries=600
until [ -s "$scratch/address" ]; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || fail "PostgreSQL starts"
    sleep 0.1
done
CALLAGENT_DATABASE=$(cat "$scratch/address")
export CALLAGENT_DATABASE
for node in a b c; do
    mkdir "$scratch/$node"
    cat >"$scratch/$node/callagent.lua" <<END
listen = "127.0.0.1:$port"
cluster = {
  database = secret "env:CALLAGENT_DATABASE", node = "$node", link = "127.0.0.1:$((port + 1))",
}
END
    port=$((port + 2))
done
at a cluster init

step 2 "three nodes: a owns, b and c have links to it"
begin a
wait_for a 1 '"message":"ready"'
for node in b c; do
    begin "$node"
    wait_for "$node" 1 '"message":"linked"'
done
at a cluster

step 3 "alice, at b, calls bob, whose phone is at c and rings for ten minutes"
at b ask call.invite invitees=bob timeout_ms=600000 --as alice >"$scratch/invited"
call=$(grep -oE '[0-9a-f]{32}' "$scratch/invited" | head -n 1)
[ -n "$call" ] || fail "the call is placed"
at c calls --as bob
at c calls --as bob | grep -q "$call" || fail "bob is called"

step 4 "kill -9 of a"
killed=$(now)
kill -KILL "$(cat "$scratch/a/pid")"
next_of b c
gap=$(($(now) - killed))
front=b
[ "$owner" != b ] || front=c
printf 'nobody owned for %d.%02d s; now %s does, and has the call:\n\n' \
    $((gap / 1000)) $((gap % 1000 / 10)) "$owner"
at "$owner" calls --as alice
at "$owner" calls --as alice | grep -q "$call" || fail "the call is there"

step 5 "bob accepts at $front, which has a link to $owner"
wait_for "$front" 2 '"message":"linked"'
at "$front" ask call.accept "call_id=$call" --as bob --device phone | grep -q joined ||
    fail "bob is joined"
at "$front" calls --as alice

step 6 "a starts again, gets a link, and owns again: callagent cluster hand-over a"
: >"$scratch/a/log"
begin a
wait_for a 1 '"message":"linked"'
at b cluster hand-over a
wait_for a 1 '"message":"ready"'
at a calls --as bob | grep -q "$call" || fail "the call is there"
at a cluster

printf '\nevery step was seen.\n'
[ -n "$once" ] || {
    echo "the nodes go on; Ctrl-C ends them."
    wait
}
