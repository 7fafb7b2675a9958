#!/bin/sh
# Plays callers and callees against the real server, by a WebSocket library nobody here wrote.
#
# usage: sh Tests/Interop/run.sh [PYTEST ARGUMENTS…], such as test_common.py or -k crash
#
# CALLAGENT names the executable to test; without it the release build is made and taken.
set -eu

cd "$(dirname "$0")/../.."
work=$PWD/.build/interop
python=$(sh Tests/Doubles/prepare.sh "$work" Tests/Interop/requirements.txt)

if [ -z "${CALLAGENT-}" ]; then
    swift build -c release --product callagent
    CALLAGENT=$(swift build -c release --show-bin-path)/callagent
fi
export CALLAGENT
export PYTHONDONTWRITEBYTECODE=1

# All of them: those that only wait do so beside the others.
[ $# -gt 0 ] || set -- -n 4 --dist loadgroup
[ -n "${CALLAGENT_FULL-}" ] || set -- -m "not full" "$@"
cd Tests/Interop
# Below it every run has a folder of its own, and those of the last three stay.
export PYTEST_DEBUG_TEMPROOT="$work"
exec "$python" -m pytest "$@"
