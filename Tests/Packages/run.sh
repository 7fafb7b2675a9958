#!/bin/sh
# Makes the packages, judges them by tools that nobody here wrote, and runs what is in them.
#
# usage: sh Tests/Packages/run.sh
#
# CALLAGENT names the executable to pack; without it the release build is made and taken. With
# CALLAGENT_FULL set also: all of it made twice and compared, how soon a changed file of the web is
# built in; installed, upgraded under load and removed in a fresh Debian, the unit under a systemd
# that was booted for it, and the image by runc. That takes root.
set -eu

cd "$(dirname "$0")/../.."
here=$PWD
work=$here/.build/packages-test
mkdir -p "$work"

CALLAGENT=$(sh Tests/Doubles/executable.sh)
export CALLAGENT

say() { printf 'packages: %s\n' "$*"; }

fail() {
    printf 'packages: FAILED: %s\n' "$*" >&2
    exit 1
}

say "made"
rm -rf "$work/a" "$work/b"
SOURCE_DATE_EPOCH=1795000000 sh examples/package.sh "$work/a" >/dev/null
if [ -n "${CALLAGENT_FULL-}" ]; then
    say "made again"
    SOURCE_DATE_EPOCH=1795000000 TMPDIR=$work sh examples/package.sh "$work/b" >/dev/null
    for file in "$work"/a/*; do
        cmp "$file" "$work/b/${file##*/}" || fail "${file##*/} differs from one time to the next"
    done
fi
deb=$(ls "$work"/a/callagent_*.deb)
image=$(ls "$work"/a/callagent-*-oci.tar)
size=$(stat -c %s "$image")
say "the image has $size bytes"
[ "$size" -le 20000000 ] || fail "the image has more than 20 MB"

say "files of the web"
python3 Tests/Packages/embedded.py "$CALLAGENT" || fail "a file of the web is not whole in it"

say "lintian"
lintian --fail-on error,warning --allow-root "$deb" || fail "lintian has something to say"

say "what is in it"
rm -rf "$work/tree"
dpkg-deb -x "$deb" "$work/tree"
for file in usr/bin/callagent usr/share/callagent/plugins/busy.lua etc/callagent/callagent.lua \
    usr/share/man/man1/callagent-reload.1.gz usr/share/doc/callagent/html/Operating.html \
    usr/share/callagent/site/documentation/agentserver/operating/index.html \
    usr/share/callagent/site/js/callagent.js usr/share/bash-completion/completions/callagent \
    lib/systemd/system/callagent.service; do
    [ -s "$work/tree/$file" ] || fail "$file is not in it"
done
[ "$(wc -l <"$work/tree/usr/share/doc/callagent/copyright")" = 1 ] || fail "copyright: one line"
dpkg-deb -I "$deb" conffiles | grep -qx /etc/callagent/callagent.lua || fail "no conffile"
python3 "$here/Tests/Packages/links.py" "$work/tree/usr/share/doc/callagent/html"
python3 "$here/Tests/Docs/site.py" "$work/tree/usr/share/callagent/site" help/site
"$work/tree/usr/bin/callagent" check --config "$work/tree/etc/callagent/callagent.lua"

say "the unit"
unit=$work/tree/lib/systemd/system/callagent.service
# The executable is looked for in the root of this machine.
sed "s|/usr/bin/callagent|$work/tree/usr/bin/callagent|; /^Documentation=/d" "$unit" \
    >"$work/callagent.service"
systemd-analyze verify "$work/callagent.service" || fail "systemd-analyze verify"
systemd-analyze security --offline=true --threshold=20 "$work/callagent.service" \
    >"$work/exposure" || fail "more exposed than 2.0, see $work/exposure"
tail -n 1 "$work/exposure"

if [ -n "${CALLAGENT_FULL-}" ]; then
    sh "$here/Tests/Packages/rebuild.sh"
    [ "$(id -u)" = 0 ] || fail "the rest takes root"
    sh "$here/Tests/Packages/machine.sh" "$work" "$deb" "$image"
fi
say "good"
