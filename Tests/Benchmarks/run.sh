#!/bin/sh
# Measures the server, the core and the machine they run on, and prints what was promised beside it.
#
# usage: sh Tests/Benchmarks/run.sh [refuse] [live] [idle] [core] [peers]     default: all
#
#   refuse   a Lua-refused invitation over WebSocket, in memory and durable, and the echo floor
#   live     the same with 1,000 and with 200,000 other calls live; memory of a live call
#   idle     memory of a connection that says nothing
#   core     the switchboard alone, and the simulator
#   peers    the programs of the folder PEERS: Kamailio's tm486, a hook in bare C with liblua
#
# Settings: ROUNDS=5 WINDOW=2 (seconds) CONNECTIONS=64 LIVE="1000 200000" IDLE=10000 PEERS=DIR
# CALLAGENT=FILE
#
# Processor time is that of all threads of the server, from the kernel's scheduler. Servers that are
# compared run side by side and are loaded in turns, so that a machine that grows slow does so for
# all; the figures are medians over the rounds. The server has the first processor, the generator
# the last, if there are two.
set -eu

cd "$(dirname "$0")/../.."
here=$PWD/Tests/Benchmarks
work=$PWD/.build/benchmarks
ROUNDS=${ROUNDS-5} WINDOW=${WINDOW-2} CONNECTIONS=${CONNECTIONS-64}
LIVE=${LIVE-1000 200000} IDLE=${IDLE-10000} PEERS=${PEERS-}
port=17600
servers=

# shellcheck disable=SC3045 # every shell of Debian knows them
ulimit -n "$(ulimit -Hn)"
rm -rf "$work"
mkdir -p "$work"

build() {
    if [ -z "${CALLAGENT-}" ]; then
        swift build -c release --product callagent
        CALLAGENT=$(swift build -c release --show-bin-path)/callagent
    fi
    (cd "$here/Load" && cc -O2 -o "$work/floor" floor.c frame.c &&
        cc -O2 -D_GNU_SOURCE -o "$work/load" main.c loop.c fill.c client.c frame.c process.c)
}

machine() {
    echo "## Machine"
    echo
    echo "- $(date -u '+%Y-%m-%d %H:%M UTC'), load before: $(cut -d' ' -f1-3 /proc/loadavg)"
    echo "- $(nproc) × $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
    swift=$(swift --version 2>&1 | sed -n 's/.*\(Swift version [0-9.]*\).*/\1/p')
    echo "- Linux $(uname -r), $swift"
    echo "- state directories on $(df --output=fstype "$work" | tail -1)," \
        "$(df --output=source "$work" | tail -1)"
    echo
}

# The processors of the servers and of the generator, as the beginning of a command.
on_server='' on_load=''
if [ "$(nproc)" -gt 1 ]; then
    on_server='taskset -c 0'
    on_load="taskset -c $(($(nproc) - 1))"
fi

stop_servers() {
    for server in $servers; do kill "$server" 2>/dev/null || :; done
    for server in $servers; do wait "$server" 2>/dev/null || :; done
    servers=
}
trap stop_servers EXIT INT TERM

# start NAME STATE_DIR: a server of its own folder and port; leaves $port and $server.
start() {
    folder=$work/$1
    mkdir -p "$folder"
    cp -r "$here/Policy/plugins" "$folder"
    port=$((port + 1))
    {
        printf '%s\n' "-- the server '$1' of the benchmarks"
        printf 'listen = "127.0.0.1:%s"\nadmin = "%s"\nstate_dir = "%s"\n' \
            "$port" "unix:$folder/admin.sock" "$2"
        cat "$here/Policy/callagent.lua"
    } >"$folder/callagent.lua"
    # shellcheck disable=SC2086 # a command in words
    $on_server "$CALLAGENT" run "$folder/callagent.lua" >"$folder/log" 2>&1 &
    server=$!
    servers="$servers $server"
    tries=0
    until grep -q '"message":"ready"' "$folder/log"; do
        tries=$((tries + 1))
        if [ "$tries" -gt 100 ] || ! kill -0 "$server"; then
            cat "$folder/log" >&2
            exit 1
        fi
        sleep 0.1
    done
}

start_floor() {
    port=$((port + 1))
    # shellcheck disable=SC2086 # a command in words
    $on_server "$work/floor" "$port" &
    server=$!
    servers="$servers $server"
    sleep 0.2
}

# shellcheck disable=SC2086 # a command in words
load() { $on_load "$work/load" "$@"; }

# median FILE NAME KEY: the median of KEY in the lines of NAME.
median() {
    sed -n "s/^$2 .*[ ]$3=\([0-9.]*\).*/\1/p" "$1" | sort -g |
        awk '{ a[NR] = $1 }
            END { print NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }'
}

row() { printf '| %s | %s | %s | %s | %s |\n' "$@"; }

# verdict VALUE LIMIT: kept or missed.
verdict() { awk -v a="$1" -v b="$2" 'BEGIN { print a <= b ? "kept" : "missed" }'; }

calc() { awk "BEGIN { printf \"%.2f\", $1 }"; }

table_head() {
    echo "| what | µs of server CPU | per second | p50 / p99 µs | others used |"
    echo "| --- | --- | --- | --- | --- |"
}

table_rows() {
    for name in "$@"; do
        row "$name" "$(median "$results" "$name" us)" "$(median "$results" "$name" per_s)" \
            "$(median "$results" "$name" p50_us) / $(median "$results" "$name" p99_us)" \
            "$(median "$results" "$name" others)"
    done
    echo
}

refuse() {
    echo "## A refused invitation, $CONNECTIONS connections, one in flight each"
    echo
    results=$work/refuse.txt
    start_floor
    targets=floor:echo:$port:$server
    start memory :memory:
    targets="$targets memory:invite:$port:$server"
    start durable "$work/durable/state"
    # shellcheck disable=SC2086 # one word for each target
    load loop -r "$ROUNDS" -d "$WINDOW" -c "$CONNECTIONS" $targets \
        "durable:invite:$port:$server" >"$results"
    stop_servers
    table_head
    table_rows floor memory durable
    floor=$(median "$results" floor us) memory=$(median "$results" memory us)
    durable=$(median "$results" durable us)
    limit=$(calc "1.5 * $floor + 10")
    echo "- in memory: $(calc "$memory / $floor") × the echo; promised 1.5 × + 10 µs = $limit µs:" \
        "$(verdict "$memory" "$limit")"
    echo "- durable (synchronous=FULL): $(calc "$durable / $memory") × in memory; promised 2:" \
        "$(verdict "$durable" "$(calc "2 * $memory")")"
    echo
}

live() {
    echo "## Other calls live"
    echo
    results=$work/live.txt
    targets='' names='' first=''
    for number in $LIVE; do
        start "live-$number" :memory:
        filled=$(load fill 0 "$number" "$port" "$server")
        echo "- $number calls, invited and accepted over HTTP: ${filled#fill }"
        targets="$targets live-$number:invite:$port:$server"
        names="$names live-$number"
        [ -n "$first" ] || first=live-$number
        bytes=${filled#*bytes=}
        bytes=${bytes%% *}
    done
    # shellcheck disable=SC2086 # one word for each target
    load loop -r "$ROUNDS" -d "$WINDOW" -c "$CONNECTIONS" $targets >"$results"
    stop_servers
    echo
    table_head
    # shellcheck disable=SC2086 # one word for each name
    table_rows $names
    last=${names##* }
    ratio=$(calc "$(median "$results" "$last" us) / $(median "$results" "$first" us)")
    echo "- $last costs $ratio × $first; promised less than 1.20: $(verdict "$ratio" 1.2)"
    echo "- memory of a live two-party call: $bytes bytes; promised 1024: $(verdict "$bytes" 1024)"
    echo
}

idle() {
    echo "## Idle connections"
    echo
    start idle :memory:
    opened=$(load idle "$IDLE" "$port" "$server")
    stop_servers
    bytes=${opened#*bytes=}
    bytes=${bytes%% *}
    echo "- $IDLE sessions: ${opened#idle }"
    echo "- memory of an idle connection: $bytes bytes; promised 2048: $(verdict "$bytes" 2048)"
    echo
}

core() {
    echo "## The core alone"
    echo
    swift run -c release core-benchmark
    echo
    echo "Promised: 400,000 inputs/s, 1 KB for a live call of two, less than 20 % between 1,000 and"
    echo "200,000 live calls."
    echo
    echo "## The simulator"
    echo
    # The second line of `times` is the processor time of what ran: user, system.
    ("$CALLAGENT" simulate --seed 5000 --runs 20 >"$work/simulate" && times >"$work/times")
    awk '
        FNR == NR { for (i = 2; i <= NF; i++) if ($i == "calls,") calls += $(i - 1); next }
        FNR == 2 {
            split($1 "m" $2, part, "m")
            seconds = part[1] * 60 + part[2] + part[3] * 60 + part[4]
            printf "- %d calls in 20 worlds, %d in a second of processor time (promised: 1,000)\n",
                calls, calls / seconds
        }' "$work/simulate" "$work/times"
    echo
}

peers() {
    [ -n "$PEERS" ] || {
        echo "(no peers: PEERS names no folder)"
        return 0
    }
    echo "## Peers of $PEERS"
    echo
    RUNS=3 DUR=$WINDOW VARIANTS=tm486 WINDOWS="16 $CONNECTIONS" SIPP_VARIANTS=" " \
        OUT=$work/peers "$PEERS/run_kamailio.sh" 2>/dev/null | tail -1 >"$work/kamailio.json"
    tr '{' '\n' <"$work/peers/kamailio.jsonl" |
        sed -n 's/.*"inflight":\([0-9]*\).*"srv_cpu_us_per_call":\([0-9.]*\).*/\1 \2/p' |
        sort -n | awk '{ n[$1]++; s[$1, n[$1]] = $2 } END { for (w in n) {
            m = s[w, 1]; for (i = 2; i <= n[w]; i++) if (s[w, i] < m) m = s[w, i]
            printf "- Kamailio tm486, tlsf, %d in flight: %s µs a call (least of %d)\n",
                w, m, n[w] } }'
    RUNS=3 SEC=1 OUT=$work/peers "$PEERS/run_lua.sh" 2>/dev/null | tail -1 >"$work/lua.json"
    echo "- a hook in bare C with liblua: $(cat "$work/lua.json")"
    echo
}

[ $# -gt 0 ] || set -- refuse live idle core peers
build
echo "# sh Tests/Benchmarks/run.sh $*"
echo
machine
for part; do
    case "$part" in
    refuse | live | idle | core | peers) "$part" ;;
    *)
        echo "unknown part '$part'" >&2
        exit 2
        ;;
    esac
done
