#!/bin/sh
# Lets the Autobahn fuzzing client try our WebSocket codec and loop: cases 1 to 7 and 10.
#
# usage: sh Tests/Autobahn/run.sh
#
# The suite is old and needs Python 2.7; without one the step ends with code 77 (skipped). It lives
# in .build/autobahn, with the report of the last run in .build/autobahn/reports/index.html.
set -eu

cd "$(dirname "$0")/../.."
here=Tests/Autobahn
work=.build/autobahn
mkdir -p "$work"

# A pyenv shim may answer to the name and then have no interpreter, so each candidate must run.
find_python2() {
    for candidate in python2.7 "$HOME"/.pyenv/versions/2.7*/bin/python2.7; do
        "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (2, 7))' 2>/dev/null ||
            continue
        command -v "$candidate"
        return 0
    done
    return 1
}

# The last virtualenv that can still make a Python 2.7 environment brings a pip for it along.
install_suite() {
    [ ! -x "$work/suite/bin/wstest" ] || return 0
    rm -rf "$work/maker" "$work/suite"
    python3 -m venv "$work/maker"
    "$work/maker/bin/pip" install -q --disable-pip-version-check virtualenv==20.21.1
    "$work/maker/bin/virtualenv" -q -p "$1" "$work/suite"
    "$work/suite/bin/pip" install -q --no-python-version-warning --disable-pip-version-check \
        autobahntestsuite==0.8.2
}

stop_server() {
    [ -z "${server-}" ] || kill "$server" 2>/dev/null || :
    server=
}

# The server prints one line with its address when it listens.
start_server() {
    "$1" --listen 127.0.0.1:0 >"$work/server.log" 2>&1 &
    server=$!
    trap stop_server EXIT
    trap 'exit 130' INT TERM HUP
    tries=0
    until address=$(sed -n 's/.*listening on \([0-9.:]*\).*/\1/p' "$work/server.log") &&
        [ -n "$address" ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 100 ] || ! kill -0 "$server" 2>/dev/null; then
            cat "$work/server.log"
            echo "the echo server does not listen"
            exit 1
        fi
        sleep 0.1
    done
}

python3 "$here/report.py" --self-test

python2=$(find_python2) || {
    echo "there is no Python 2.7 on this machine, and the Autobahn suite needs one"
    exit 77
}
echo "Python 2.7: $python2"
install_suite "$python2"

if [ -n "${ECHO_SERVER-}" ]; then
    start_server "$ECHO_SERVER"
else
    swift build -c release --product echo-server
    start_server "$(swift build -c release --show-bin-path)/echo-server"
fi

rm -rf "$work/reports"
cat >"$work/spec.json" <<SPEC
{"outdir": "$work/reports",
 "servers": [{"agent": "callagent", "url": "ws://$address"}],
 "cases": ["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"],
 "exclude-cases": [], "exclude-agent-cases": {}}
SPEC
timeout 900 "$work/suite/bin/wstest" -m fuzzingclient -s "$work/spec.json" \
    >"$work/client.log" 2>&1 ||
    { tail -n 30 "$work/client.log"; echo "the fuzzing client failed"; exit 1; }
kill -0 "$server" || { tail "$work/server.log"; echo "the echo server died"; exit 1; }

python3 "$here/report.py" "$work/reports/index.json"
