#!/bin/sh
# Installs what callagent needs on Debian 12; with --packages also what makes packages of it, with
# --checks also what its checks need.
#
# usage: sh examples/install.sh [--packages | --checks]
#
# Asks dpkg first and touches nothing when all is there. Otherwise it needs root or sudo. The Swift
# toolchain is looked for, not installed: it is no Debian package.
set -eu

# The second line is the toolchain's: what its programs load, and what its linker takes from Debian.
LIBRARIES="liblua5.4-dev libuv1-dev libsqlite3-dev libssl-dev libcurl4-openssl-dev libpq-dev \
libjemalloc-dev libxml2 gcc libc6-dev libstdc++-12-dev"
PACKAGING="cmark-gfm dpkg-dev binutils libdeflate-tools python3 ca-certificates tzdata"
TOOLS="lua-check neovim python3-venv nghttp2-server coturn chromium firefox-esr prometheus \
valgrind nodejs node-ws node-typescript node-react node-react-dom esbuild postgresql haproxy \
lintian debootstrap systemd-container runc mandoc zsh fish"
# Packages of them that start a service.
SERVICES="coturn prometheus postgresql haproxy"
# How apt-get and dpkg say that somebody else is at work.
LOCKED="Could not get lock|was locked by another process"
SWIFT_MAJOR=6
SWIFT_MINOR=3

say() { printf 'install: %s\n' "$*"; }

fail() {
    printf 'install: %s\n' "$@" >&2
    exit 1
}

# A package counts only when it is fully installed: dpkg lists removed and half-configured ones too.
# It may be held, and be there for several architectures: ours is the one to build with.
is_installed() {
    dpkg-query -W -f='${Architecture} ${Status}\n' "$1" 2>/dev/null |
        grep -qE "^($architecture|all) [a-z]+ ok installed$"
}

missing_of() {
    for package in "$@"; do
        is_installed "$package" || printf '%s ' "$package"
    done
}

# Runs apt-get or dpkg silently, with a dot every two seconds; the end of what it says is added to
# $said. A machine that just started often updates itself: for 300 seconds it tries again.
quietly() {
    what=$1
    shift
    printf 'install: %s ' "$what"
    (while sleep 2 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do printf '.'; done) &
    dots=$!
    tries=60
    while :; do
        code=0
        "$@" >"$scratch/now" 2>&1 </dev/null || code=$?
        if [ "$code" = 0 ] || [ "$tries" = 0 ] || ! grep -qE "$LOCKED" "$scratch/now"; then
            break
        fi
        tries=$((tries - 1))
        sleep 5
    done
    # Not TERM: a subshell that has only begun still has the traps of the script, and loses it.
    kill -KILL "$dots" 2>/dev/null || :
    wait "$dots" 2>/dev/null || :
    { echo "--- $what" && tail -n 20 "$scratch/now"; } >>"$said"
    [ "$code" = 0 ] && echo ' done' || echo ' failed'
    return "$code"
}

# In the language in which `quietly` knows what they say.
as_root() {
    set -- env LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

apt_get() {
    as_root apt-get -y -q -o DPkg::Lock::Timeout=300 --no-install-recommends "$@"
}

# sudo may ask for the password, so it does that here and not behind the dots.
become_root() {
    [ "$(id -u)" != 0 ] || return 0
    command -v sudo >/dev/null 2>&1 ||
        fail "missing: $missing" "run this as root: apt-get update && apt-get install -y $missing"
    sudo -v || fail "sudo refused; run this as root: apt-get install -y $missing"
}

install_packages() {
    for tool in dpkg dpkg-query apt-get; do
        command -v "$tool" >/dev/null 2>&1 ||
            fail "this is no Debian; install by hand what Debian calls: $*"
    done
    architecture=$(dpkg --print-architecture)
    missing=$(missing_of "$@")
    missing=${missing% }
    if [ -z "$missing" ]; then
        say "all packages are there"
        return 0
    fi
    say "missing: $missing"
    become_root
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/callagent-install.XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT TERM HUP
    said=$scratch/said
    # Whether these two were needed, the install shows: the lists may be there without a network.
    quietly "dpkg --configure -a" as_root dpkg --configure -a || :
    quietly "apt-get update" apt_get update || :
    # shellcheck disable=SC2086 # a list of names
    quietly "apt-get install" apt_get install $missing || {
        cat "$said" >&2
        fail "this failed: apt-get install $missing"
    }
    for service in $SERVICES; do
        case " $missing " in *" $service "*) stop_service "$service" ;; esac
    done
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
    answer=$(swift --version 2>&1) || fail "swift does not run: $answer"
    version=$(printf '%s\n' "$answer" |
        sed -n 's/.*Swift version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | head -n 1)
    [ -n "$version" ] || fail "'swift --version' does not tell a version" "$hint"
    major=${version%%.*}
    minor=${version#*.}
    if [ "$major" -lt "$SWIFT_MAJOR" ] ||
        { [ "$major" -eq "$SWIFT_MAJOR" ] && [ "$minor" -lt "$SWIFT_MINOR" ]; }; then
        fail "Swift $version is too old" "$hint"
    fi
    # The version is told also where the builder lacks a library.
    answer=$(swift build --version 2>&1) || fail "Swift $version cannot build here: $answer"
    say "Swift $version"
}

packages=$LIBRARIES
case "${1-}" in
"") ;;
--packages) packages="$LIBRARIES $PACKAGING" ;;
--checks) packages="$LIBRARIES $PACKAGING $TOOLS" ;;
*) fail "unknown option '$1'; usage: sh examples/install.sh [--packages | --checks]" ;;
esac

# shellcheck disable=SC2086 # a list of names
install_packages $packages
check_swift
