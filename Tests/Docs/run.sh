#!/bin/sh
# Converts every documentation catalogue, with its module's symbols, and fails on any warning.
#
# usage: sh Tests/Docs/run.sh [TARGET…]
#
# What comes out is in .build/documentation/TARGET, for a web server of static files. That links
# between files lead somewhere is a rule of Tests/TidyTests; that tables are those of the code is
# checked by Tests/DocumentationTests.
set -eu

cd "$(dirname "$0")/../.."
[ "$#" -gt 0 ] || set -- $(for catalogue in Sources/*/*.docc; do
    basename "$catalogue" .docc
done)

scratch=$(mktemp -d "${TMPDIR:-/tmp}/callagent-docs.XXXXXX")
trap 'rm -rf "$scratch"' EXIT INT TERM

swift build
built=$(swift build --show-bin-path)
triple=$(swift -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p')
maps=
for map in "$built"/C*.build/module.modulemap; do
    maps="$maps -Xcc -fmodule-map-file=$map"
done

# Converts one catalogue: convert TARGET FOLDER_OF_SYMBOLS
convert() {
    rm -rf ".build/documentation/$1"
    mkdir -p .build/documentation
    docc convert "Sources/$1/$1.docc" --additional-symbol-graph-dir "$2" \
        --fallback-display-name "$1" --fallback-bundle-identifier "callagent.$1" \
        --output-dir ".build/documentation/$1" --warnings-as-errors
}

# A warning must be found, or the step proves nothing.
plant() {
    mkdir -p "$scratch/planted/CallCore.docc"
    printf '# ``CallCore``\n\nSee <doc:NoSuchPage>.\n' >"$scratch/planted/CallCore.docc/CallCore.md"
    if docc convert "$scratch/planted/CallCore.docc" --additional-symbol-graph-dir "$1" \
        --fallback-display-name CallCore --fallback-bundle-identifier planted \
        --output-dir "$scratch/planted/out" --warnings-as-errors >"$scratch/said" 2>&1 ||
        ! grep -q NoSuchPage "$scratch/said"; then
        cat "$scratch/said"
        echo "a planted link that leads nowhere was not found"
        exit 1
    fi
}

failed=
for target in "$@"; do
    symbols=$scratch/$target
    mkdir -p "$symbols"
    # shellcheck disable=SC2086 # the flags are words
    swift symbolgraph-extract -module-name "$target" -I "$built/Modules" $maps \
        -target "$triple" -output-dir "$symbols" -minimum-access-level public
    echo "==> $target"
    convert "$target" "$symbols" || failed="$failed $target"
    [ "$target" != CallCore ] || plant "$symbols"
done
[ -z "$failed" ] || {
    echo "not clean:$failed"
    exit 1
}
echo "every catalogue is clean: $*"
