#!/bin/sh
# Attacks the real server beside a quiet account that must not feel it.
#
# usage: sh Tests/Attacks/run.sh [--full] [--front-end] [--list] [NAME…]
#
# Without names all attacks run. By default each is short, and repeated only if it exceeds its
# bound; --full takes the whole length, three runs of each. With --front-end those of `peers` and
# `ringing` are played at a front end of a cluster: the quiet account is connected to it, too.
# CALLAGENT names the executable to attack; without it the release build is made and taken.
set -eu

cd "$(dirname "$0")/../.."
python=$(sh Tests/Doubles/prepare.sh "$PWD/.build/interop" Tests/Interop/requirements.txt)

case " $* " in
*" --list "*) ;;  # nothing has to be built for it
*)
    CALLAGENT=$(sh Tests/Doubles/executable.sh)
    export CALLAGENT
    ;;
esac
export PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH="$PWD/Tests/Attacks:$PWD/Tests/Interop"
[ -z "${CALLAGENT_FULL-}" ] || set -- --full "$@"
exec "$python" Tests/Attacks/run.py "$@"
