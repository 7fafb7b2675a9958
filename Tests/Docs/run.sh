#!/bin/sh
# Makes the site of the documentation, which fails on any warning, and follows its links.
#
# usage: sh Tests/Docs/run.sh
#
# The site is in .build/documentation/site. That links between files of the sources lead somewhere
# is a rule of Tests/TidyTests; that tables are those of the code is checked by
# Tests/DocumentationTests.
set -eu

cd "$(dirname "$0")/../.."
work=.build/documentation
site=$work/site
scratch=$(mktemp -d "${TMPDIR:-/tmp}/callagent-docs.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

fail() {
    cat "$scratch/said" 2>/dev/null || :
    printf 'docs: FAILED: %s\n' "$*" >&2
    exit 1
}

# A link that leads nowhere must be found, or the step proves nothing: planted WORD COMMAND…
planted() {
    word=$1
    shift
    if "$@" >"$scratch/said" 2>&1; then fail "planted, and not found: $word"; fi
    grep -qF -- "$word" "$scratch/said" || fail "found, but not said: $word"
}

# All catalogues with one more page, which says TEXT: sources FOLDER TEXT
sources() {
    for catalogue in Sources/*/*.docc; do
        mkdir -p "$scratch/$1/$(basename "$catalogue" .docc)"
        cp -R "$catalogue" "$scratch/$1/$(basename "$catalogue" .docc)/"
    done
    printf '# Planted\n\nA page with a link.\n\n## Overview\n\n%s\n' "$2" \
        >"$scratch/$1/CallCore/CallCore.docc/Planted.md"
}

echo "==> links of the sources"
sources file 'See [this](../../AgentServer/AgentServer.docc/NoSuchFile.md).'
planted "Planted.md:7: ../../AgentServer/AgentServer.docc/NoSuchFile.md leads to no page" \
    python3 examples/site/catalogues.py "$scratch/file" "$scratch/file.out"
sources place 'See [this](Rules.md#nowhere).'
planted "Rules.md#nowhere: to a page, not to a place" \
    python3 examples/site/catalogues.py "$scratch/place" "$scratch/place.out"

echo "==> the site"
CONFIGURATION=${CONFIGURATION:-debug}
export CONFIGURATION
catalogue=$scratch/doc/CallCore/CallCore.docc
mkdir -p "$catalogue"
printf '# ``CallCore``\n\nA catalogue.\n\n## Overview\n\nSee <doc:NoSuchPage>.\n' \
    >"$catalogue/CallCore.md"
planted "'NoSuchPage' doesn't exist" \
    env SOURCES="$scratch/doc" sh examples/site.sh "$scratch/doc.out"
sh examples/site.sh "$site"
python3 Tests/Docs/site.py "$site" help/site

# The same of what was made: a copy in which one thing is wrong.
spoil() {
    rm -rf "$scratch/spoiled"
    cp -R "$site" "$scratch/spoiled"
}
page=documentation/callcore/comingfromzim
spoil
sed -i 's|"url":"/documentation/callsimulator"|"url":"/documentation/nowhere"|' \
    "$scratch/spoiled/data/$page.json"
planted "/$page: /documentation/nowhere leads nowhere" \
    python3 Tests/Docs/site.py "$scratch/spoiled" help/site
spoil
sed -i 's|<head>|<head><link href="https://fonts.example/a.css" rel="stylesheet">|' \
    "$scratch/spoiled/$page/index.html"
planted "$page/index.html: loads https://fonts.example/a.css" \
    python3 Tests/Docs/site.py "$scratch/spoiled" help/site
spoil
rm "$scratch/spoiled/data/documentation/callcore/rules.json"
planted "/documentation/callcore/rules leads nowhere" \
    python3 Tests/Docs/site.py "$scratch/spoiled" help/site
echo every catalogue is clean, and every link of the site leads somewhere
