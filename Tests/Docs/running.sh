#!/bin/sh
# What the checks of the guide and of the example app begin with; they source it at the top of the
# checkout.
#
# Builds the executable and puts it into PATH; makes $scratch, a folder, and chooses $port, unless
# PORT did. A command that stays in the background is $stays: it gets SIGTERM at the end, however
# the check ends.

swift build --product callagent
PATH=$(swift build --show-bin-path):$PATH
export PATH

scratch=$(mktemp -d "${TMPDIR:-/tmp}/callagent-docs.XXXXXX")
port=${PORT:-$((20000 + $$ % 20000))}
stays=

clean_up() {
    trap - EXIT INT TERM
    trap '' HUP # a terminal that closes may say so twice
    [ -z "$stays" ] || kill "$stays" 2>/dev/null || :
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# Ends what stays; fails when that does not end well.
end_stays() { kill "$stays" && wait "$stays" && stays=; }
