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
targets=${*:-$(for catalogue in Sources/*/*.docc; do basename "$catalogue" .docc; done)}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/callagent-docs.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

swift build
built=$(swift build --show-bin-path)
triple=$(swift -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p')
set --
for map in "$built"/C*.build/module.modulemap; do
    set -- "$@" -Xcc "-fmodule-map-file=$map"
done

# A parameter whose name says enough has no line of its own here.
allowed="warning: Parameter '.*' is missing documentation"

# Converts a catalogue and looks for warnings: convert CATALOGUE MODULE FOLDER_OF_SYMBOLS
convert() {
    rm -rf ".build/documentation/$2"
    mkdir -p .build/documentation
    docc convert "$1" --additional-symbol-graph-dir "$3" --fallback-display-name "$2" \
        --fallback-bundle-identifier "callagent.$2" --output-dir ".build/documentation/$2" \
        >"$scratch/said" 2>&1 || {
        cat "$scratch/said"
        return 1
    }
    if grep -E '^(warning|error):' "$scratch/said" | grep -qvE "^$allowed"; then
        cat "$scratch/said"
        return 1
    fi
    # Without its words nothing was looked at.
    [ -f "$scratch/said" ]
}

# A link that leads nowhere must be found, or the step proves nothing.
plant() {
    mkdir -p "$scratch/Planted.docc"
    printf '# ``CallCore``\n\nSee <doc:NoSuchPage>.\n' >"$scratch/Planted.docc/CallCore.md"
    if convert "$scratch/Planted.docc" Planted "$1" >/dev/null ||
        ! grep -q NoSuchPage "$scratch/said"; then
        cat "$scratch/said"
        echo "a planted link that leads nowhere was not found"
        exit 1
    fi
    rm -rf .build/documentation/Planted
}

failed=
for target in $targets; do
    echo "==> $target"
    symbols=$scratch/$target
    mkdir -p "$symbols"
    swift symbolgraph-extract -module-name "$target" -I "$built/Modules" "$@" \
        -target "$triple" -output-dir "$symbols" -minimum-access-level public
    convert "Sources/$target/$target.docc" "$target" "$symbols" || failed="$failed $target"
    [ "$target" != CallCore ] || plant "$symbols"
done
[ -z "$failed" ] || {
    echo "not clean:$failed"
    exit 1
}
# shellcheck disable=SC2086 # names, in one line
echo every catalogue is clean: $targets
