#!/bin/sh
# Prints the executable to test: CALLAGENT, or the release build, which is made.
#
# usage: CALLAGENT=$(sh Tests/Doubles/executable.sh)
set -eu

cd "$(dirname "$0")/../.."
if [ -z "${CALLAGENT-}" ]; then
    swift build -c release --product callagent >&2
    CALLAGENT=$(swift build -c release --show-bin-path)/callagent
fi
printf '%s\n' "$CALLAGENT"
