#!/bin/sh
# Installs what callagent needs on Debian 12; with --checks also what its checks need.
#
# usage: sh examples/install.sh [--checks]
#
# Asks dpkg first and touches nothing when all is there. Otherwise it needs root or sudo. The Swift
# toolchain is looked for, not installed: it is no Debian package.
set -eu

LIBRARIES="liblua5.4-dev libuv1-dev libsqlite3-dev libssl-dev libcurl4-openssl-dev libjemalloc-dev"
TOOLS="lua-check python3 python3-venv gcc libc6-dev nghttp2-server coturn"
SWIFT_MAJOR=6
SWIFT_MINOR=3

say() { printf 'install: %s\n' "$*"; }

fail() {
    printf 'install: %s\n' "$@" >&2
    exit 1
}

# A package counts only when it is fully installed: dpkg lists removed and half-configured ones too.
is_installed() {
    [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null)" = "install ok installed" ]
}

missing_of() {
    for package in "$@"; do
        is_installed "$package" || printf '%s ' "$package"
    done
}

# Runs a command silently with a dot every two seconds; shows the end of its output if it fails.
quietly() {
    what=$1
    shift
    log=$(mktemp "${TMPDIR:-/tmp}/callagent-install.XXXXXX")
    printf 'install: %s ' "$what"
    (while sleep 2 >/dev/null 2>&1; do printf '.'; done) &
    dots=$!
    code=0
    "$@" >"$log" 2>&1 </dev/null || code=$?
    kill "$dots" 2>/dev/null || :
    wait "$dots" 2>/dev/null || :
    if [ "$code" = 0 ]; then
        printf ' done\n'
        rm -f "$log"
    else
        printf ' failed\n'
        tail -n 20 "$log" >&2
        rm -f "$log"
        fail "this failed: $*"
    fi
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -y -q -o DPkg::Lock::Timeout=300 --no-install-recommends "$@"
}

# sudo may ask for the password, so it does that here and not behind the dots.
become_root() {
    [ "$(id -u)" != 0 ] || return 0
    command -v sudo >/dev/null 2>&1 ||
        fail "missing: $missing" "run this as root: apt-get update && apt-get install -y $missing"
    sudo -v || fail "sudo refused; run this as root: apt-get install -y $missing"
}

install_packages() {
    for tool in dpkg-query apt-get; do
        command -v "$tool" >/dev/null 2>&1 ||
            fail "this is no Debian; install by hand what Debian calls: $*"
    done
    missing=$(missing_of "$@")
    missing=${missing% }
    if [ -z "$missing" ]; then
        say "all packages are there"
        return 0
    fi
    say "missing: $missing"
    become_root
    quietly "apt-get update" apt update
    # shellcheck disable=SC2086 # a list of names
    quietly "apt-get install" apt install $missing
    case " $missing " in *" coturn "*) stop_service coturn ;; esac
    left=$(missing_of "$@")
    [ -z "$left" ] || fail "apt-get succeeded, and yet these are missing: $left"
}

# A package may start its service at once: the checks start one of their own, on loopback.
stop_service() {
    [ ! -d "${SYSTEMD:-/run/systemd/system}" ] ||
        as_root systemctl disable --now "$1" >/dev/null 2>&1 || say "could not stop $1"
}

check_swift() {
    hint="get Swift $SWIFT_MAJOR.$SWIFT_MINOR or newer from https://www.swift.org/install/linux/ \
and put its usr/bin on PATH"
    command -v swift >/dev/null 2>&1 || fail "no Swift toolchain on PATH" "$hint"
    version=$(swift --version 2>/dev/null |
        sed -n 's/.*Swift version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | head -n 1)
    [ -n "$version" ] || fail "'swift --version' does not tell a version" "$hint"
    major=${version%%.*}
    minor=${version#*.}
    if [ "$major" -lt "$SWIFT_MAJOR" ] ||
        { [ "$major" -eq "$SWIFT_MAJOR" ] && [ "$minor" -lt "$SWIFT_MINOR" ]; }; then
        fail "Swift $version is too old" "$hint"
    fi
    say "Swift $version"
}

packages=$LIBRARIES
case "${1-}" in
"") ;;
--checks) packages="$LIBRARIES $TOOLS" ;;
*) fail "unknown option '$1'; usage: sh examples/install.sh [--checks]" ;;
esac

# shellcheck disable=SC2086 # a list of names
install_packages $packages
check_swift
