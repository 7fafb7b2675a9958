#!/bin/sh
# Plays callers and callees against the real server, by a WebSocket library nobody here wrote.
#
# usage: sh Tests/Interop/run.sh [PYTEST ARGUMENTS…], such as test_common.py or -k crash
#
# CALLAGENT names the executable to test; without it the release build is made and taken.
set -eu

cd "$(dirname "$0")/../.."
work=$PWD/.build/interop
mkdir -p "$work"

# A virtual environment of its own, made anew when the pinned versions change.
pinned=$(cat Tests/Interop/requirements.txt Tests/Doubles/requirements.txt)
if [ "$pinned" != "$(cat "$work/installed" 2>/dev/null)" ]; then
    rm -rf "$work/venv"
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -q --disable-pip-version-check -r Tests/Interop/requirements.txt
    printf "%s\n" "$pinned" >"$work/installed"
fi

if [ -z "${CALLAGENT-}" ]; then
    swift build -c release --product callagent
    CALLAGENT=$(swift build -c release --show-bin-path)/callagent
fi
export CALLAGENT
export PYTHONDONTWRITEBYTECODE=1

[ -n "${CALLAGENT_FULL-}" ] || set -- -m "not full" "$@"
cd Tests/Interop
exec "$work/venv/bin/python" -m pytest --basetemp "$work/scratch" "$@"
