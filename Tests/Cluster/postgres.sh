#!/bin/sh
# A private PostgreSQL in a temporary folder, for tests. Nothing else of PostgreSQL on the machine
# is touched, and nothing stays.
#
# usage: sh Tests/Cluster/postgres.sh [PORT] [SETTING=VALUE]...
#
# Prints a connection string as its first line when it is ready, and runs until its standard input
# ends. With PORT it also listens on loopback there.
set -eu

port=${1:-0}
[ $# -gt 0 ] && shift
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
if [ -z "$bin" ]; then
    echo "postgres.sh: PostgreSQL is not installed: sh examples/install.sh --checks" >&2
    exit 1
fi
folder=$(mktemp -d /tmp/callagent-postgres-XXXXXX)
user=$(id -un)
# PostgreSQL refuses to run as root.
if [ "$(id -u)" = 0 ]; then
    user=postgres
    chown "$user" "$folder"
fi

as_user() {
    if [ "$(id -u)" = 0 ]; then
        (cd "$folder" && runuser -u "$user" -- "$@")
    else
        "$@"
    fi
}

end() {
    as_user "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1 || :
    rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' INT TERM HUP

as_user "$bin/initdb" -D "$folder/data" -U callagent -A trust -E UTF8 --locale=C -N \
    >"$folder/log" 2>&1 || {
    cat "$folder/log" >&2
    exit 1
}
addresses=
[ "$port" = 0 ] || addresses=127.0.0.1
{
    echo "unix_socket_directories = '$folder'"
    echo "unix_socket_permissions = 0700"
    echo "listen_addresses = '$addresses'"
    [ "$port" = 0 ] || echo "port = $port"
    echo "fsync = off"
    echo "max_connections = 200"
    for setting in "$@"; do echo "${setting%%=*} = '${setting#*=}'"; done
} >>"$folder/data/postgresql.conf"
as_user "$bin/pg_ctl" -D "$folder/data" -l "$folder/server.log" -w -t 60 start \
    >>"$folder/log" 2>&1 || {
    cat "$folder/log" "$folder/server.log" >&2
    exit 1
}
[ "$port" = 0 ] && port=5432
echo "host=$folder port=$port user=callagent dbname=postgres"
# Standard input ends when whoever started this does.
while read -r _; do :; done
