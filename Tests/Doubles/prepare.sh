#!/bin/sh
# Makes the Python of the test doubles ready and prints where it is.
#
# usage: sh Tests/Doubles/prepare.sh FOLDER [REQUIREMENTS]
#
# The virtual environment in FOLDER is made anew when the pinned versions change: those of the
# doubles, or those of the file REQUIREMENTS, which names the doubles' own. Ends with code 77
# when the machine has no Python 3.
set -eu

here=$(dirname "$0")
work=$1
wanted=${2:-$here/requirements.txt}
command -v python3 >/dev/null 2>&1 || {
    echo "there is no python3" >&2
    exit 77
}
mkdir -p "$work"
exec 9>"$work/lock"
flock 9
pinned=$(cat "$wanted" "$here/requirements.txt")
if [ "$pinned" != "$(cat "$work/installed" 2>/dev/null)" ]; then
    rm -rf "$work/venv"
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -q --disable-pip-version-check -r "$wanted" >&2
    printf "%s\n" "$pinned" >"$work/installed"
fi
echo "$work/venv/bin/python"
