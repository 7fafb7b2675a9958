#!/bin/sh
# Measures pushes under load: what one costs, and whether calls feel a provider that hangs.
#
# usage: sh Tests/Benchmarks/push.sh [SECONDS]      default: 10 for each part
#
# CALLAGENT names the executable; without it the release build is made and taken. The provider is
# nghttpd behind a relay that holds answers back for 200 ms: both together cost less than what is
# measured.
set -eu

cd "$(dirname "$0")/../.."
python=$(sh Tests/Doubles/prepare.sh "$PWD/.build/interop" Tests/Interop/requirements.txt)
CALLAGENT=$(sh Tests/Doubles/executable.sh)
export CALLAGENT
export PYTHONDONTWRITEBYTECODE=1
exec "$python" Tests/Benchmarks/push.py "${1:-10}"
