#!/bin/sh
# Runs the image by runc: a root that cannot be written, the user 65532, no capability.
#
# usage: sh Tests/Packages/container.sh FOLDER IMAGE NAME
set -eu

work=$1
image=$2
name=$3
here=$(cd "$(dirname "$0")/../.." && pwd)
bundle=$work/bundle

fail() {
    printf 'packages: FAILED: %s\n' "$*" >&2
    exit 1
}

rm -rf "$bundle"
mkdir -p "$bundle/rootfs" "$bundle/state"
port=$(python3 "$here/Tests/Packages/bundle.py" "$image" "$bundle")
chown 65532:65532 "$bundle/state"
chmod 0700 "$bundle/state"
runc --root "$work/runc" run --bundle "$bundle" "$name" >"$work/container.log" 2>&1 &
process=$!
trap 'runc --root "$work/runc" delete --force "$name" >/dev/null 2>&1 || :' EXIT
end=$(($(date +%s) + 60))
until [ "$(python3 "$here/Tests/Packages/ask.py" "$port")" = 200 ]; do
    [ "$(date +%s)" -lt "$end" ] || fail "the container is not ready: $(cat "$work/container.log")"
    kill -0 "$process" 2>/dev/null || fail "the container ended: $(cat "$work/container.log")"
    sleep 0.2
done
runc --root "$work/runc" exec "$name" /usr/bin/callagent status \
    --config /etc/callagent/callagent.lua | head -n 2
[ -s "$bundle/state/callagent.db" ] || fail "nothing is stored in the volume"
[ "$(stat -c %u "$bundle/state/callagent.db")" = 65532 ] || fail "the state is not of 65532"
runc --root "$work/runc" kill "$name" TERM
code=0
wait "$process" || code=$?
[ "$code" = 0 ] || fail "the container ended with $code: $(cat "$work/container.log")"
grep -q '"message":"stopped"' "$work/container.log" || fail "it did not drain"
echo "packages: the container drained and ended with 0"
