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

# The checker of pages, without the driver that it comes with.
[ -d "$work/axe" ] || "$work/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    --target "$work/axe" axe-playwright-python==0.1.8 >&2 || rm -rf "$work/axe"

CALLAGENT=$(sh Tests/Doubles/executable.sh)
export CALLAGENT
export PYTHONDONTWRITEBYTECODE=1

# All of them: those that only wait do so beside the others. (Of the ways to divide them, those by
# group or file wait for ever when one of the processes ends.)
beside=
[ $# -gt 0 ] || {
    beside=1
    set -- -n 4 --dist worksteal
}
[ -n "${CALLAGENT_FULL-}" ] || set -- -m "not full" "$@"
cd Tests/Interop
# Below it every run has a folder of its own, and those of the last three stay.
export PYTEST_DEBUG_TEMPROOT="$work"
# What failed last is kept there, not in the tree.
play() { "$python" -m pytest -o cache_dir="$work/cache" "$@"; }
code=0
play "$@" || code=$?

# Four processes share the processors with whatever else the machine does. A test that failed beside
# the others is run again alone, and both are shown. More than three have another cause.
failed=$(cat "$work/cache/v/cache/lastfailed" 2>/dev/null | grep -c '::') || :
if [ -n "$beside" ] && [ "$code" = 1 ] && [ "$failed" -le 3 ]; then
    echo "run again alone, because they failed beside others: $failed"
    code=0
    play --last-failed --last-failed-no-failures none || code=$?
fi
exit "$code"
