#!/bin/sh
# Runs luacheck over the bundled plugins with the configuration that ships beside them.
#
# usage: sh Tests/Plugins/luacheck.sh
#
# A planted typo must be found too: a configuration that knows every name would find nothing.
set -eu

cd "$(dirname "$0")/../.."
scratch=$(mktemp -d "${TMPDIR:-/tmp}/callagent-luacheck.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

config=plugins/.luacheckrc
[ -f "$config" ] || {
    echo "no $config"
    exit 1
}

# Plants one wrong name and sees it named.
plant() {
    sed "s/$1/$2/" "$3" >"$scratch/planted.lua"
    if luacheck --no-color --config "$config" "$scratch/planted.lua" >"$scratch/out" 2>&1 ||
        ! grep -q "$4" "$scratch/out"; then
        cat "$scratch/out"
        echo "the planted '$2' in $3 was not found"
        exit 1
    fi
}

plant 'on\.invite' 'on.invte' plugins/busy.lua "undefined field 'invte'"
plant 'reject' 'rejekt' plugins/busy.lua "undefined variable 'rejekt'"

# The operator's file has names of its own (`callagent.lua` knows no others).
luacheck --no-color --no-config --std none --read-globals secret --globals \
    listen admin state_dir answer_for plugins options override timezone invite auth users modes \
    devices_per_user limits retention max_call_age tls origins phone watch test_on_reload log push \
    webhooks -- examples/*/callagent.lua
luacheck --no-color --config "$config" plugins examples/*/plugins
