#!/bin/sh
# Makes one site of the whole documentation: every catalogue with its module's symbols.
#
# usage: sh examples/site.sh [FOLDER]
#
# FOLDER is .build/site by default, and is made anew. The console serves it below /help/site/, so
# its addresses begin with that; it asks for nothing from elsewhere. Warnings are errors. The same
# sources give the same bytes. CONFIGURATION (by default release) is the build whose modules are
# described, SOURCES (by default Sources) where the catalogues are.
set -eu

cd "$(dirname "$0")/.."
out=${1:-.build/site}
configuration=${CONFIGURATION:-release}
base=help/site
parts=examples/site

fail() {
    printf 'site: %s\n' "$*" >&2
    exit 1
}

for tool in docc python3 swift; do
    command -v "$tool" >/dev/null 2>&1 || fail "no $tool here: sh examples/install.sh"
done
# Whatever else lies there is not thrown away.
[ ! -e "$out" ] || [ -f "$out/js/callagent.js" ] || rmdir "$out" 2>/dev/null ||
    fail "$out is there already, and is no site"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/callagent-site.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP
umask 022

swift build -c "$configuration" --product callagent >&2
built=$(swift build -c "$configuration" --show-bin-path)
triple=$(swift -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p')
set --
for map in "$built"/C*.build/module.modulemap; do
    set -- "$@" -Xcc "-fmodule-map-file=$map"
done

# A parameter whose name says enough has no line of its own here.
allowed="warning: Parameter '.*' is missing documentation"

python3 "$parts/catalogues.py" "${SOURCES:-Sources}" "$scratch/catalogues"
mkdir -p "$scratch/archives" "$scratch/said"

# Makes the archive of one catalogue. What is not clean is left in said/TARGET.
convert() {
    catalogue=$1
    target=$(basename "$catalogue" .docc)
    shift
    mkdir -p "$scratch/symbols/$target"
    {
        swift symbolgraph-extract -module-name "$target" -I "$built/Modules" "$@" \
            -target "$triple" -output-dir "$scratch/symbols/$target" \
            -minimum-access-level public -skip-synthesized-members &&
            docc convert "$catalogue" --additional-symbol-graph-dir "$scratch/symbols/$target" \
                --fallback-display-name "$target" \
                --fallback-bundle-identifier "callagent.$target" \
                --fallback-default-module-kind Module --hosting-base-path "$base" \
                --output-dir "$scratch/archives/$target.doccarchive" || echo "error: it failed"
    } >"$scratch/converting.$target" 2>&1
    grep -E '^(warning|error):' "$scratch/converting.$target" | grep -qvE "^$allowed" || return 0
    sed "s|$scratch/catalogues|Sources/$target|" "$scratch/converting.$target" \
        >"$scratch/said/$target"
}

# As many at a time as there are processors: each one takes one.
begun=0
for catalogue in "$scratch"/catalogues/*.docc; do
    convert "$catalogue" "$@" &
    begun=$((begun + 1))
    [ $((begun % $(nproc))) != 0 ] || wait
done
wait
wrong=$(ls "$scratch/said")
[ -z "$wrong" ] || {
    cat "$scratch"/said/* >&2
    fail "not clean: $(echo $wrong)"
}

docc merge "$scratch"/archives/*.doccarchive --output-path "$scratch/site" \
    --synthesized-landing-page-name callagent --synthesized-landing-page-kind Documentation
python3 "$parts/finish.py" "$scratch/site" "$base" "$parts/site.js"
mkdir -p "$(dirname "$out")"
rm -rf "$out"
mv "$scratch/site" "$out"
printf 'site: %s files, %s KB in %s\n' "$(find "$out" -type f | wc -l)" \
    "$(du -sk --apparent-size "$out" | cut -f 1)" "$out"
