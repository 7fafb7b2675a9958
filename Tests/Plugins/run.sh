#!/bin/sh
# Runs `callagent check` and `callagent test` over the bundled plugins and those of the examples.
#
# usage: sh Tests/Plugins/run.sh
set -eu

cd "$(dirname "$0")/../.."
swift build -c release --product callagent
callagent=$(swift build -c release --show-bin-path)/callagent

"$callagent" check plugins/*.lua
"$callagent" test --coverage 100 plugins/*.lua
for config in examples/*/callagent.lua; do
    echo "$config"
    "$callagent" check --config "$config"
    "$callagent" test --config "$config"
done
