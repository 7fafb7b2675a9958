#!/bin/sh
# Carries out guides, step by step, with the real executable: to a first policy, into production,
# and those for teams that come from other products.
#
# usage: sh Tests/Docs/guide.sh [GUIDE…]
#
# A comment before each fenced block of the guide says what it is:
#   file: PATH             the whole text of a file
#   run, run fails         commands of which the last must end well, or must fail
#   background             a command that stays; it gets SIGTERM at the end and must end well
#   stop                   what stays is ended here, instead of by the command that is shown
#   expect                 lines that the last run printed, in this order; … is anything
#   expect in background   the same for the command that stays
#   scenario               a piece of a conversation, which Tests/DocumentationTests looks after
# A block without such a comment is only shown. Port 7600 is replaced by a free one
# (PORT), and 7601 by the next.
set -eu

cd "$(dirname "$0")/../.."
pages="Sources/AgentServer/AgentServer.docc/InProduction.md
Sources/PolicyHost/PolicyHost.docc/YourFirstPolicy.md
Sources/PolicyHost/PolicyHost.docc/TheLifeOfAPolicy.md
Sources/CallCore/CallCore.docc/ComingFrom*.md"
# shellcheck disable=SC2086 # names, and a pattern of names
[ $# -gt 0 ] || set -- $pages
. Tests/Docs/running.sh

# Makes one file for each marked block, named NUMBER, beginning with what it is and its line.
take_apart() {
    rm -rf "$scratch"/[0-9][0-9][0-9] "$scratch/here"
    awk -v folder="$scratch" '
        /^<!-- .* -->$/ { what = substr($0, 6, length($0) - 9); next }
        /^```/ && inside { inside = 0; what = ""; next }
        /^```/ { inside = 1
                 if (what != "") { count++; name = sprintf("%s/%03d", folder, count)
                                   print what > name; print NR > name }
                 next }
        inside && what != "" { print > name }
        !inside && !/^$/ { what = "" }
    ' "$guide"
    mkdir "$scratch/here"
    : >"$scratch/log"
    : >"$scratch/out"
}

fail() {
    echo "$guide:$line: $1"
    echo "--- what the last commands printed:"
    cat "$scratch/out"
    echo "--- what stays in the background:"
    cat "$scratch/log"
    exit 1
}

# Whether a file has lines that match those of a block, in order: matches BLOCK FILE
matches() {
    sed -e '1,2d' -e 's/[][\.*^$(){}+?|]/\\&/g' -e 's/…/.*/g' -e 's/^/^/' -e 's/$/$/' \
        "$1" >"$scratch/want"
    awk 'NR == FNR { want[++n] = $0; next }
         place < n && $0 ~ want[place + 1] { place++ }
         END { exit place < n }' "$scratch/want" "$2"
}

run_block() {
    tail -n +3 "$1" | sed "s/7600/$port/g; s/7601/$((port + 1))/g" >"$scratch/commands"
    code=0
    (cd "$scratch/here" && sh -e "$scratch/commands") >"$scratch/out" 2>&1 </dev/null || code=$?
}

# Carries out the pieces of one guide.
carry_out() {
    steps=0
    for block in "$scratch"/[0-9][0-9][0-9]; do
        what=$(sed -n 1p "$block")
        line=$(sed -n 2p "$block")
        steps=$((steps + 1))
        case "$what" in
        file:*)
            path=$scratch/here/${what#file: }
            mkdir -p "$(dirname "$path")"
            tail -n +3 "$block" | sed "s/7600/$port/g; s/7601/$((port + 1))/g" >"$path"
            ;;
        run)
            run_block "$block"
            [ "$code" = 0 ] || fail "ended with code $code"
            ;;
        "run, fails")
            run_block "$block"
            [ "$code" != 0 ] || fail "ended well, and should not"
            ;;
        background)
            (cd "$scratch/here" && exec sh -c "exec $(tail -n +3 "$block")") \
                >"$scratch/log" 2>&1 </dev/null &
            stays=$!
            : >"$scratch/out"
            ;;
        "expect in background" | expect)
            seen=$scratch/out
            [ "$what" = expect ] && [ -s "$seen" ] || seen=$scratch/log
            tries=100
            until matches "$block" "$seen"; do
                tries=$((tries - 1))
                [ "$tries" -gt 0 ] && [ "$seen" = "$scratch/log" ] || fail "this was not seen"
                sleep 0.1
            done
            ;;
        stop) end_stays || fail "what stays in the background did not end well" ;;
        scenario) ;;
        *) fail "nobody knows what '$what' is" ;;
        esac
    done
    end_stays || fail "what stays in the background did not end well"
    [ "$steps" -gt 10 ] || fail "only $steps blocks are marked"
    echo "the guide holds: $(basename "$guide" .md), $steps blocks"
}

for guide in "$@"; do
    take_apart
    carry_out
done
