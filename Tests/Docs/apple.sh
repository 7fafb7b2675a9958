#!/bin/sh
# Compiles the client without a socket from its sources alone, with nothing of the system beside it:
# no libuv, no OpenSSL, no module map. Against it: the code of the page "PushKit to CallKit" and the
# transport over URLSession, as far as declarations and Linux lead. An import that must not be has
# to be found, or the step proves nothing.
#
# usage: sh Tests/Docs/apple.sh
set -eu

cd "$(dirname "$0")/../.."
page=Sources/CallClient/CallClient.docc/PushKitToCallKit.md
scratch=$(mktemp -d "${TMPDIR:-/tmp}/callagent-apple.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

# compile NAME FILE…: makes a module that those after it may import.
compile() {
    name=$1
    shift
    swiftc -emit-module -module-name "$name" -parse-as-library -swift-version 6 \
        -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility \
        -package-name callagent -warnings-as-errors -I "$scratch" \
        -emit-module-path "$scratch/$name.swiftmodule" "$@"
}

for module in CallModel JSON WebProtocols CallWire CallClientCore; do
    # shellcheck disable=SC2046 # names without spaces
    set -- $(find "Sources/$module" -name '*.swift')
    if grep -nE '^ *(@[a-z]+ )?import (Glibc|CUV|COpenSSL|EventLoop|Foundation)' "$@"; then
        echo "$module needs the system"
        exit 1
    fi
    compile "$module" "$@"
done

echo 'import EventLoop' >"$scratch/planted.swift"
if compile Planted "$scratch/planted.swift" >/dev/null 2>&1; then
    echo "the event loop was found where it must not be"
    exit 1
fi

compile PushKit Tests/Docs/Apple/PushKit.swift
compile CallKit Tests/Docs/Apple/CallKit.swift
{
    # A part of Foundation that Linux has apart.
    echo 'import FoundationNetworking'
    awk '/^```/ { inside = /^```swift/; next } inside' "$page"
} >"$scratch/Page.swift"
lines=$(grep -c . "$scratch/Page.swift")
[ "$lines" -gt 40 ] || {
    echo "$page: only $lines lines of code"
    exit 1
}
check() { swiftc -typecheck -warnings-as-errors -I "$scratch" "$@"; }
check -swift-version 5 -parse-as-library "$scratch/Page.swift"
check -swift-version 6 examples/apple-phone/Sources/*.swift
echo "the client without a socket stands alone; the page's $lines lines and the transport fit it"
