#!/bin/sh
# Measures the server, the core and the machine they run on, and prints what was promised beside it.
#
# usage: sh Tests/Benchmarks/run.sh [refuse] [wire] [live] [idle] [core] [restart] [peers] [cluster]
#        default: all
#
#   refuse   a Lua-refused invitation over WebSocket, in memory and durable, and the echo floor;
#            with PEERS in the same rounds Kamailio's tm486 (its memory manager tlsf)
#   wire     a refusal with one connection, and a routed call, beside a server in C that sends as
#            many frames of the same size
#   live     a refusal with 1,000 and with 200,000 other calls live; memory of a live call
#   idle     memory of a connection that says nothing
#   core     the switchboard alone, and the simulator
#   restart  how soon a server with RESTART live calls serves again after kill -9
#   peers    a hook in bare C with liblua, of the folder PEERS
#   cluster  an owner with PostgreSQL and a front end, beside a single durable server
#
# Settings: ROUNDS=7 WINDOW=2 (seconds) CONNECTIONS=64 LIVE="1000 200000" IDLE=10000
# RESTART=1000000 PEERS=DIR CALLAGENT=FILE (instead of building one) BEFORE=FILE (another one, such
# as that of an earlier commit: `refuse` measures it in the same rounds) SNAPSHOT=0 (seconds that
# `cluster` goes on beside an open transaction of somebody else) PRIORITY="" (such as "chrt -r 10":
# the beginning of the commands of servers and generator, for a machine that others use)
#
# Processor time is that of all threads of the server, from the kernel's scheduler. Servers that are
# compared run side by side and are loaded in turns, so that a machine that grows slow does so for
# all; the figures are medians over the rounds, with the least and the most behind them. The server
# has the first processor, the generator the last, if there are two. The last thing printed is one
# table of all promises.
set -eu

cd "$(dirname "$0")/../.."
here=$PWD/Tests/Benchmarks
work=$PWD/.build/benchmarks
ROUNDS=${ROUNDS-7} WINDOW=${WINDOW-2} CONNECTIONS=${CONNECTIONS-64}
LIVE=${LIVE-1000 200000} IDLE=${IDLE-10000} RESTART=${RESTART-1000000} PEERS=${PEERS-}
PRIORITY=${PRIORITY-} BEFORE=${BEFORE-} SNAPSHOT=${SNAPSHOT-0}
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
on_server=$PRIORITY on_load=$PRIORITY
if [ "$(nproc)" -gt 1 ]; then
    on_server="$PRIORITY taskset -c 0"
    on_load="$PRIORITY taskset -c $(($(nproc) - 1))"
fi

# MARK: Servers

stop_servers() {
    for server in $servers; do kill "$server" 2>/dev/null || :; done
    for server in $servers; do wait "$server" 2>/dev/null || :; done
    servers=
}
trap stop_servers EXIT
trap 'exit 130' INT TERM HUP

# start NAME STATE_DIR [EXECUTABLE]: a server of its own folder and port; leaves $port and $server.
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
    $on_server "${3-$CALLAGENT}" run "$folder/callagent.lua" >"$folder/log" 2>&1 &
    server=$!
    servers="$servers $server"
    tries=0
    until grep -qs '"message":"ready"' "$folder/log"; do
        tries=$((tries + 1))
        if [ "$tries" -gt 100 ] || ! kill -0 "$server"; then
            cat "$folder/log" >&2
            exit 1
        fi
        sleep 0.1
    done
}

# start_floor [FRAMES]: what it sends instead of an echo.
start_floor() {
    port=$((port + 1))
    # shellcheck disable=SC2086 # a command in words
    $on_server "$work/floor" "$port" "$@" &
    server=$!
    servers="$servers $server"
    sleep 0.2
}

# Starts Kamailio as the folder PEERS does; leaves $sip_port and $sip_pids, or nothing without it.
start_kamailio() {
    sip_port='' sip_pids=''
    [ -n "$PEERS" ] || return 0
    command -v kamailio >/dev/null || {
        echo "(no Kamailio: apt-get install kamailio kamailio-lua-modules)"
        return 0
    }
    folder=$work/kamailio
    mkdir -p "$folder"
    cc -O2 -o "$work/sipload" "$PEERS/../sipload.c"
    cp "$PEERS/kamailio/policy.lua" "$folder"
    sip_port=$((port + 1)) port=$((port + 1))
    sed "s#@CHILDREN@#1#; s#@PORT@#$sip_port#; s#@DIR@#$folder#" \
        "$PEERS/kamailio/kamailio.cfg.in" >"$folder/kamailio.cfg"
    # shellcheck disable=SC2086 # a command in words
    VARIANT=tm486 NUSERS=10000 $on_server kamailio -DD -E -f "$folder/kamailio.cfg" \
        -m 3000 -M 16 -x tlsf -X tlsf -Y "$folder" -P "$folder/pid" >"$folder/log" 2>&1 &
    server=$!
    servers="$servers $server"
    sleep 3
    kill -0 "$server" || {
        tail -5 "$folder/log" >&2
        exit 1
    }
    sip_pids=$(descendants "$server" | paste -sd,)
}

# descendants PID: it and all processes below it.
descendants() {
    echo "$1"
    for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do descendants "$child"; done
}

# shellcheck disable=SC2086 # a command in words
load() { $on_load "$work/load" "$@"; }

# sip_load ROUND: one window of calls at Kamailio, as a line like those of `load`.
sip_load() {
    # shellcheck disable=SC2086 # a command in words
    $on_load "$work/sipload" -B -w "$CONNECTIONS" -d "$WINDOW" -W 1 -u 10000 -k 486 \
        -p "$sip_pids" 127.0.0.1 "$sip_port" | sed -n "s/.*\"calls_per_s\":\([0-9.]*\).*\
\"p50\":\([0-9.]*\),\"p99\":\([0-9.]*\),\"max\":\([0-9.]*\).*\"srv_cpu_us_per_call\":\([0-9.]*\).*\
\"other_cpu\":\([0-9.]*\).*/kamailio round=$1 us=\5 per_s=\1 p50_us=\2 p99_us=\3 max_us=\4 \
others=\6/p"
}

# MARK: Figures

# values NAME KEY: the values of KEY in the lines of NAME, in order.
values() { sed -n "s/^$1 .*[ ]$2=\([0-9.]*\).*/\1/p" "$results" | sort -g; }

# median NAME KEY: their median.
median() {
    values "$@" | awk '{ a[NR] = $1 }
        END { print NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }'
}

# spread NAME KEY: the least and the most of them.
spread() { values "$@" | awk 'NR == 1 { a = $1 } { b = $1 } END { print a "–" b }'; }

calc() { awk "BEGIN { printf \"%.2f\", $1 }"; }

# promise WHAT VALUE UNIT LIMIT [HOW]: a row of the last table.
promise() {
    awk -v what="$1" -v value="$2" -v unit="$3" -v limit="$4" -v how="${5-}" 'BEGIN {
        verdict = value <= limit ? "kept" : sprintf("missed by %.4g%s", value - limit, unit)
        printf "| %s | %s%s | %s%s%s | %.2f | %s |\n", what, value, unit, limit, unit,
            how == "" ? "" : " (" how ")", value / limit, verdict }' >>"$work/promises"
}

# figure WHAT VALUE [RATIO]: a row of the last table that promises nothing.
figure() { printf '| %s | %s | | %s | |\n' "$1" "$2" "${3-}" >>"$work/promises"; }

# take_rows FILE: the rows that a script printed behind `promises`, as calls of these two whose
# words stand between |.
take_rows() {
    sed '1,/^promises$/d' "$1" >"$1.rows"
    while IFS='|' read -r kind what value first second; do
        "$kind" "$what" "$value" "$first" "${second%|}"
    done <"$1.rows"
}

table() {
    echo "| what | µs of server CPU | least–most | per second | p50 / p99 / max µs | others used |"
    echo "| --- | --- | --- | --- | --- | --- |"
    for name in "$@"; do
        printf '| %s | %s | %s | %s | %s / %s / %s | %s |\n' "$name" "$(median "$name" us)" \
            "$(spread "$name" us)" "$(median "$name" per_s)" "$(median "$name" p50_us)" \
            "$(median "$name" p99_us)" "$(values "$name" max_us | tail -1)" \
            "$(median "$name" others)"
    done
    echo
}

# MARK: Parts

refuse() {
    echo "## A refused invitation, $CONNECTIONS connections, one in flight each"
    echo
    results=$work/refuse.txt names='floor memory durable'
    start_floor
    targets=floor:echo:$port:$server
    start memory :memory:
    targets="$targets memory:invite:$port:$server"
    start durable "$work/durable/state"
    targets="$targets durable:invite:$port:$server"
    if [ -n "$BEFORE" ]; then
        start memory-before :memory: "$BEFORE"
        targets="$targets memory-before:invite:$port:$server"
        start durable-before "$work/durable-before/state" "$BEFORE"
        targets="$targets durable-before:invite:$port:$server"
        names="$names memory-before durable-before"
    fi
    start_kamailio
    for round in $(seq "$ROUNDS"); do
        # shellcheck disable=SC2086 # one word for each target
        load loop -r 1 -d "$WINDOW" -c "$CONNECTIONS" $targets >>"$results"
        [ -z "$sip_port" ] || sip_load "$round" >>"$results"
    done
    stop_servers
    [ -z "$sip_port" ] || names="$names kamailio"
    # shellcheck disable=SC2086 # one word for each name
    table $names
    floor=$(median floor us) memory=$(median memory us) durable=$(median durable us)
    figure "the barest echo of the same bytes" "$floor µs ($(spread floor us))"
    promise "an invitation that a plugin refuses, in memory ($(spread memory us))" \
        "$(calc "$memory")" " µs" "$(calc "1.5 * $floor + 10")" "1.5 × echo + 10 µs"
    promise "the same, durable, in memory's time ($(spread durable us) µs)" \
        "$(calc "$durable / $memory")" " ×" 2
    figure "the same, from request to last event, p50 / p99 / max" "$(median memory p50_us) / \
$(median memory p99_us) / $(values memory max_us | tail -1) µs"
    [ -z "$BEFORE" ] || for kind in memory durable; do
        figure "what $BEFORE takes for it, ${kind}" \
            "$(median $kind-before us) µs ($(spread $kind-before us))" \
            "$(calc "$(median $kind us) / $(median $kind-before us)") × before"
    done
    [ -z "$sip_port" ] || figure "Kamailio's tm486 (tlsf), in the same rounds" \
        "$(median kamailio us) µs ($(spread kamailio us))" \
        "in memory: $(calc "$memory / $(median kamailio us)") × Kamailio"
}

# frames_of NAME GROUPS: frames that the server sent for an operation, as a word for the floor.
frames_of() {
    awk -v frames="$(median "$1" frames)" -v bytes="$(median "$1" bytes)" -v groups="$2" 'BEGIN {
        frames = int(frames + 0.5)
        for (i = 1; i <= groups; i++) {
            count = int(frames * i / groups) - int(frames * (i - 1) / groups)
            printf "%s%dx%d", (i > 1 ? "," : ""), count, bytes / frames
        }
    }'
}

# Each window has connections of its own: a user has one of a device.
wire() {
    echo "## As many frames in C"
    echo
    results=$work/wire.txt pairs=$(((CONNECTIONS + 1) / 2))
    start wire-memory :memory:
    memory=$port:$server
    start wire-durable "$work/wire-durable/state"
    durable=$port:$server
    load loop -r 1 -d 0.5 -c 1 one-memory:invite:"$memory" >"$results"
    load loop -r 1 -d 0.5 -c 1 routed-memory:routed:"$memory" >>"$results"
    one=$(frames_of one-memory 1) routed=$(frames_of routed-memory 4)
    echo "- a refusal: $one (frames × bytes); a routed call, a group for each request: $routed"
    echo
    start_floor "$one"
    one_floor=$port:$server
    start_floor "$routed"
    routed_floor=$port:$server
    for round in $(seq "$ROUNDS"); do
        for target in "1 one-floor:canned:$one_floor" "1 one-memory:invite:$memory" \
            "1 one-durable:invite:$durable" "$pairs routed-floor:canned:$routed_floor" \
            "$pairs routed-memory:routed:$memory" "$pairs routed-durable:routed:$durable"; do
            load loop -r 1 -d "$WINDOW" -c "${target%% *}" "${target#* }"
        done
    done >"$results"
    stop_servers
    table one-floor one-memory one-durable routed-floor routed-memory routed-durable
    promise "a refusal with one connection, beside as many frames in C \
($(median one-floor us) µs)" "$(calc "$(median one-memory us) / $(median one-floor us)")" " ×" 1.6
    promise "a routed call in memory ($(median routed-memory us) µs), beside as many frames in C \
($(median routed-floor us) µs)" \
        "$(calc "$(median routed-memory us) / $(median routed-floor us)")" " ×" 2.2
    promise "the same, durable ($(median routed-durable us) µs)" \
        "$(calc "$(median routed-durable us) / $(median routed-floor us)")" " ×" 3.5
}

live() {
    echo "## Other calls live"
    echo
    results=$work/live.txt targets='' names='' first=''
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
    # shellcheck disable=SC2086 # one word for each name
    table $names
    last=${names##* }
    promise "a refused invitation with ${last#live-} calls live, beside ${first#live-}" \
        "$(calc "$(median "$last" us) / $(median "$first" us)")" " ×" 1.2
    promise "memory of a live two-party call" "$bytes" " bytes" 1024
}

idle() {
    echo "## Idle connections"
    echo
    start idle :memory:
    opened=$(load idle "$IDLE" "$port" "$server")
    stop_servers
    bytes=${opened#*bytes=}
    echo "- $IDLE sessions: ${opened#idle }"
    echo
    promise "memory of an idle connection" "${bytes%% *}" " bytes" 2048
}

core() {
    echo "## The core alone"
    echo
    swift run -c release core-benchmark
    echo
    echo "Promised: 400,000 inputs/s, 1 KB for a live call of two, less than 20 % between 1,000 and"
    echo "200,000 live calls, of one account too."
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
    RUNS=3 SEC=1 OUT=$work/peers "$PEERS/run_lua.sh" 2>/dev/null | tail -1 >"$work/lua.json"
    echo "- a hook in bare C with liblua: $(cat "$work/lua.json")"
    echo
}

python() { sh Tests/Doubles/prepare.sh "$PWD/.build/interop" Tests/Interop/requirements.txt; }

# There is no load meanwhile, so the server has all processors.
restart() {
    echo "## After kill -9"
    echo
    # shellcheck disable=SC2086 # a command in words
    $PRIORITY "$(python)" "$here/restart.py" "$RESTART" "$CALLAGENT" "$work/load" \
        >"$work/restart.txt"
    sed '/^promises$/,$d' "$work/restart.txt"
    echo
    take_rows "$work/restart.txt"
}

cluster() {
    echo "## A cluster"
    echo
    results=$work/cluster.txt
    # shellcheck disable=SC2086 # a command in words
    $on_server "$(python)" "$here/cluster.py" --rounds "$ROUNDS" --window "$WINDOW" \
        --connections "$CONNECTIONS" --snapshot "$SNAPSHOT" "$CALLAGENT" "$work/load" >"$results"
    table sqlite owner database front behind owner-one front-one
    take_rows "$results"
}

[ $# -gt 0 ] || set -- refuse wire live idle core restart peers cluster
build
echo "# sh Tests/Benchmarks/run.sh $*"
echo
machine
for part; do
    case "$part" in
    refuse | wire | live | idle | core | restart | peers | cluster) "$part" ;;
    *)
        echo "unknown part '$part'" >&2
        exit 2
        ;;
    esac
done
if [ -s "$work/promises" ]; then
    echo "## Promises"
    echo
    echo "| what | measured | promised | measured / promised | |"
    echo "| --- | --- | --- | --- | --- |"
    cat "$work/promises"
fi
