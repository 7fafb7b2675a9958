#!/bin/sh
# Three nodes and a PostgreSQL of their own: faults strike them under load, and whatever clients
# were told is held against what is there in the end.
#
# usage: sh Tests/Cluster/run.sh [--full] [--seed N] [GROUP…]
#
# The groups: kill stop commit hole restart promote hand-over mixed all deadlines race scale million
# fence. Without names all of them run, after the checker's own tests (million, and fence, which
# shows that a program without the fence is found out, only with --full; mixed only where
# CALLAGENT_BEFORE names the executable of the version before). Each is short by default; --full
# takes the counts that the project promises. CALLAGENT names the executable to test; without it
# the release build is made and taken.
set -eu

cd "$(dirname "$0")/../.."
work=$PWD/.build/interop
python=$(sh Tests/Doubles/prepare.sh "$work" Tests/Interop/requirements.txt)

CALLAGENT=$(sh Tests/Doubles/executable.sh)
export CALLAGENT
export PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH="$PWD/Tests/Cluster:$PWD/Tests/Interop"
[ -z "${CALLAGENT_FULL-}" ] || set -- --full "$@"
"$python" -m pytest -q -p no:cacheprovider --rootdir Tests/Cluster Tests/Cluster
exec "$python" Tests/Cluster/rig.py "$@"
