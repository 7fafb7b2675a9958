#!/bin/sh
# From a fresh Debian 12 with a Swift toolchain to an account that answers calls by a Lua script.
#
# usage: sh examples/quickstart.sh [--once]
#
# Installs what is missing, builds, starts the answering bot and places calls with the real client;
# every line under a step is what that side saw. Without --once the bot then goes on until Ctrl-C;
# with it the script ends, with exit code 0 only when every step was seen. The bot runs in a copy of
# examples/answering-bot, so the checkout stays as it is. PORT chooses another port than 7600.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
once=
case "${1-}" in
"") ;;
--once) once=yes ;;
*)
    echo "unknown option '$1'; usage: sh examples/quickstart.sh [--once]" >&2
    exit 2
    ;;
esac

scratch=$(mktemp -d "${TMPDIR:-/tmp}/callagent-quickstart.XXXXXX")
bot=$scratch/examples/answering-bot
server=
clients=

clean_up() {
    trap - EXIT INT TERM
    trap '' HUP # a terminal that closes may say so twice
    for process in $clients $server; do kill "$process" 2>/dev/null || :; done
    [ -z "$server" ] || wait "$server" 2>/dev/null || :
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

fail() {
    printf '\nNOT SEEN: %s\n' "$1"
    for file in "$scratch"/*.saw "$scratch/server.log"; do
        [ ! -f "$file" ] || { printf -- '--- %s\n' "${file##*/}" && tail -n 20 "$file"; }
    done
    exit 1
}

# Waits until a file has a line of this pattern, while the bot lives: wait_for SECONDS PATTERN FILE
wait_for() {
    tries=$(($1 * 10))
    until grep -qE -- "$2" "$3" 2>/dev/null; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] && kill -0 "$server" 2>/dev/null || return 1
        sleep 0.1
    done
}

# Prints what a client says in its own column, and keeps it: column NAME INDENT <…
column() {
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$scratch/$1.saw"
        printf '%*s%s\n' "$2" '' "$line"
    done
}

# Starts a client beside the script: client NAME INDENT ARGUMENTS…; its process is in $client.
client() {
    name=$1
    indent=$2
    shift 2
    : >"$scratch/$name.saw"
    rm -f "$scratch/$name.pipe"
    mkfifo "$scratch/$name.pipe"
    column "$name" "$indent" <"$scratch/$name.pipe" &
    (cd "$bot" && exec "$callagent" "$@") >"$scratch/$name.pipe" 2>&1 </dev/null &
    client=$!
    clients="$clients $client"
}

# What must appear on a client's screen: sees NAME PATTERN WORDS
sees() {
    wait_for 15 "$2" "$scratch/$1.saw" || fail "$3"
    seen=$((seen + 1))
}

# Ends a client as Ctrl-C does.
hang_up() {
    kill -INT "$1" 2>/dev/null || :
    wait "$1" 2>/dev/null || :
}

step() { printf '\n%s. %s\n\n' "$1" "$2"; }

seen=0
sh "$root/examples/install.sh"

echo "building callagent (release; a few minutes the first time)"
(cd "$root" && swift build -c release --product callagent)
callagent=$(cd "$root" && swift build -c release --show-bin-path)/callagent

mkdir -p "$scratch/examples"
cp -R "$root/examples/answering-bot" "$scratch/examples/"
rm -rf "$bot/callagent.state"
address=127.0.0.1:${PORT:-7600}
sed "s/^\(listen *= \).*/\1\"$address\"/" "$root/examples/answering-bot/callagent.lua" \
    >"$bot/callagent.lua"

step 1 "callagent run examples/answering-bot/callagent.lua"
(cd "$scratch" && exec "$callagent" run examples/answering-bot/callagent.lua) \
    >"$scratch/server.log" 2>&1 </dev/null &
server=$!
wait_for 15 '"message":"ready"' "$scratch/server.log" || {
    ! grep -q "already in use" "$scratch/server.log" ||
        echo "PORT=… sh examples/quickstart.sh takes another port than ${PORT:-7600}."
    fail "the bot starts"
}
head -n 3 "$scratch/server.log"
seen=$((seen + 1))

step 2 "alice calls support, which accepts after a second, with a greeting"
client alice 0 call support --as alice --timeout 20s
alice=$client
sees alice 'Hello, this is support' "support accepts alice with its greeting"

step 3 "carol calls support too, which is busy"
client carol 0 call support --as carol --timeout 20s --data '{"type":"video_call"}'
sees carol '"reason": *"busy"' "support refuses carol as busy"
sees carol '"type": *"video_call"' "the refusal repeats the type of the invitation"
sees carol '"callID": *"[0-9a-f]{32}"' "the refusal names the call"
hang_up "$client"

step 4 "alice leaves, and carol is accepted"
hang_up "$alice"
client carol 0 call support --as carol --timeout 20s
sees carol 'Hello, this is support' "support accepts carol after alice left"
hang_up "$client"

step 5 "alice calls bob, a person with a phone"
client bob 40 phone --as bob --accept
phone=$client
client alice 0 call bob --as alice --video --timeout 20s
sees bob 'incoming' "the phone of bob rings"
sees alice 'bob accepted' "bob accepts"
hang_up "$client"
sees bob 'left|ended' "bob sees that alice left"
hang_up "$phone"

step 6 "alice calls dave, who is not there"
client alice 0 call dave --as alice --timeout 2s
sees alice 'timed_out' "the call of dave times out"
hang_up "$client"

step 7 "the greeting in plugins/reception.lua is edited; after callagent reload it is the new one"
plugin=$bot/plugins/reception.lua
sed 's/Hello, this is support/Good evening from support/' "$plugin" >"$scratch/edited"
mv "$scratch/edited" "$plugin"
(cd "$bot" && "$callagent" reload) || fail "callagent reload"
client alice 0 call support --as alice --timeout 20s
sees alice 'Good evening from support' "the new greeting"
hang_up "$client"

printf '\nAll %d things were seen.\n\n' "$seen"
cat <<WORDS
To keep the bot running:

    export PATH="$(dirname "$callagent"):\$PATH"
    callagent run examples/answering-bot/callagent.lua

Call it from another terminal with the same PATH:

    cd examples/answering-bot
    callagent call support --as alice
WORDS

if [ -z "$once" ]; then
    printf '\nIt runs here until Ctrl-C, in %s.\n' "$bot"
    wait "$server"
fi
