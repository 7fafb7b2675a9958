#!/bin/sh
# Mixed load with faults for a while: reports what was lost, doubled or late, and what grew.
#
# usage: sh Tests/soak.sh [MINUTES]     10 by default
#
# Four clients write down what they are told while the disk fails now and then, the configuration is
# reloaded and strangers pester. At the end the process is killed, started again, and held to
# everything, and memory beyond what it keeps by contract must not grow. CALLAGENT_SEED replays a
# run; CALLAGENT names the executable, else the release build.
set -eu

cd "$(dirname "$0")/.."
minutes=${1:-10}
case $minutes in
*[!0-9.]* | '') echo "usage: sh Tests/soak.sh [MINUTES]" >&2; exit 2 ;;
esac
CALLAGENT_SOAK_SECONDS=$(awk "BEGIN { print int($minutes * 60) }")
export CALLAGENT_SOAK_SECONDS
exec sh Tests/Interop/run.sh -s soak.py
