#!/bin/sh
# Checks examples/install.sh against a made-up machine: its own dpkg, apt-get, sudo and swift.
#
# usage: sh Tests/Install/run.sh
#
# Nothing is installed. The made-up dpkg-query reads one file per package; the made-up apt-get
# writes it and keeps a diary, which the cases look at.
# shellcheck disable=SC2016,SC2034,SC2086 # expect evaluates its condition; lists of names split
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/callagent-install-test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM HUP

# The lists of the installer: LIBRARIES, PACKAGING, TOOLS.
eval "$(sed -n '/^LIBRARIES=/,/^# /p' "$root/examples/install.sh" | grep -v '^#')"
passed=0
failed=0

# A machine with nothing on it but the ordinary commands.
fresh_machine() {
    rm -rf "$scratch/machine"
    bin=$scratch/machine/bin
    status=$scratch/machine/status
    diary=$scratch/machine/diary
    mkdir -p "$bin" "$status"
    : >"$diary"
    for tool in sh cat grep sed head tail mktemp rm env sleep printf kill; do
        real=$(command -v "$tool") && [ -x "$real" ] && ln -s "$real" "$bin/$tool"
    done
    put id 'echo 0'
    put swift 'echo "Swift version 6.3.1 (swift-6.3.1-RELEASE)"'
    put dpkg 'case "$1" in --print-architecture) echo amd64 ;; *) echo "dpkg $*" >>"$DIARY" ;; esac'
    put dpkg-query 'for name; do :; done
if [ -f "$STATUS/$name" ]; then cat "$STATUS/$name"; else exit 1; fi'
    put apt-get 'echo "apt-get $*" >>"$DIARY"
install=
for word; do
    case "$word" in install) install=yes ;; -*|*=*|update) ;;
    *) [ -z "$install" ] || echo "amd64 install ok installed" >"$STATUS/$word" ;; esac
done'
}

put() {
    rm -f "$bin/$1"
    printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

# Lets `apt-get update` do something of its own first.
update_does() {
    {
        printf 'case "$*" in *" update") %s ;; esac\n' "$1"
        sed 1d "$bin/apt-get"
    } >"$scratch/apt-get"
    put apt-get "$(cat "$scratch/apt-get")"
}

has() { for package; do echo 'amd64 install ok installed' >"$status/$package"; done; }

# Runs the script on the machine.
on_machine() {
    env -i PATH="$bin" STATUS="$status" DIARY="$diary" TMPDIR="$scratch" \
        SYSTEMD="$scratch/machine/systemd" "$bin/sh" "$root/examples/install.sh" "$@"
}

# The same; its output is in $scratch/out, its exit code in $code.
install() {
    code=0
    on_machine "$@" >"$scratch/out" 2>&1 || code=$?
}

expect() {
    if eval "$2"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED: %s: %s\n' "$1" "$2"
        sed 's/^/    output: /' "$scratch/out"
        sed 's/^/    diary:  /' "$diary"
    fi
}

says() { grep -qF -- "$1" "$scratch/out"; }
did() { grep -qF -- "$1" "$diary"; }
last_install() { sed -n 's/.* install //p' "$diary"; }

case_="a fresh machine gets the libraries after one update"
fresh_machine
install
expect "$case_" '[ $code = 0 ]'
expect "$case_" '[ "$(last_install)" = "$LIBRARIES" ]'
expect "$case_" '[ "$(grep -c " update" "$diary")" = 1 ]'
expect "$case_" 'sed 1q "$diary" | grep -q "dpkg --configure -a"'
expect "$case_" 'sed -n 2p "$diary" | grep -q " update"'

case_="--checks brings the tools of the checks too"
fresh_machine
install --checks
expect "$case_" '[ $code = 0 ] && [ "$(last_install)" = "$LIBRARIES $PACKAGING $TOOLS" ]'

case_="the services of tools that were installed are not left running"
fresh_machine
mkdir "$scratch/machine/systemd"
put systemctl 'echo "systemctl $*" >>"$DIARY"'
install --checks
expect "$case_" '[ $code = 0 ] && did "systemctl disable --now coturn"'
expect "$case_" 'did "systemctl disable --now prometheus"'
: >"$diary"
install --checks
expect "$case_" '[ $code = 0 ] && ! did systemctl'

case_="a complete machine is not touched"
fresh_machine
has $LIBRARIES $PACKAGING $TOOLS
install --checks
expect "$case_" '[ $code = 0 ] && [ ! -s "$diary" ] && says "all packages are there"'

case_="a second run does nothing"
fresh_machine
install
: >"$diary"
install
expect "$case_" '[ $code = 0 ] && [ ! -s "$diary" ]'

case_="a removed package whose configuration stayed is missing"
fresh_machine
has $LIBRARIES
echo 'amd64 deinstall ok config-files' >"$status/libuv1-dev"
install
expect "$case_" '[ $code = 0 ] && [ "$(last_install)" = "libuv1-dev" ]'

case_="a half-configured package is missing"
fresh_machine
has $LIBRARIES
echo 'amd64 install ok half-configured' >"$status/libssl-dev"
install
expect "$case_" '[ $code = 0 ] && [ "$(last_install)" = "libssl-dev" ]'

case_="a package that is held, for all or also for another architecture is there"
fresh_machine
has $LIBRARIES
echo 'amd64 hold ok installed' >"$status/libuv1-dev"
echo 'all install ok installed' >"$status/libssl-dev"
printf '%s install ok installed\n' i386 amd64 >"$status/libc6-dev"
install
expect "$case_" '[ $code = 0 ] && [ ! -s "$diary" ]'

case_="a package that is there only for another architecture is missing"
fresh_machine
has $LIBRARIES
echo 'i386 install ok installed' >"$status/libssl-dev"
install
expect "$case_" '[ $code = 0 ] && [ "$(last_install)" = "libssl-dev" ]'

case_="an ordinary user goes through sudo"
fresh_machine
put id 'echo 1000'
put sudo 'echo "sudo $*" >>"$DIARY"; case "$1" in -*) exit 0 ;; esac; exec "$@"'
install
expect "$case_" '[ $code = 0 ] && did "sudo -v" && did "sudo env" && [ -f "$status/libuv1-dev" ]'

case_="an ordinary user without sudo is told the command"
fresh_machine
put id 'echo 1000'
install
expect "$case_" '[ $code = 1 ] && [ ! -s "$diary" ]'
expect "$case_" 'says "apt-get install -y $LIBRARIES"'

case_="lists that cannot be updated may do"
fresh_machine
update_does 'echo "E: no network"; exit 100'
install
expect "$case_" '[ $code = 0 ] && [ "$(last_install)" = "$LIBRARIES" ] && ! says "no network"'

case_="a failing install tells what went wrong before it"
fresh_machine
put dpkg 'case "$1" in --print-architecture) echo amd64 ;; *) echo "E: disk"; exit 2 ;; esac'
put apt-get 'echo "E: unknown"; exit 100'
update_does 'echo "W: no network"; exit 0'
install
expect "$case_" '[ $code = 1 ] && says "E: disk" && says "W: no network" && says "E: unknown"'
expect "$case_" 'says "this failed: apt-get install $LIBRARIES"'

case_="a lock of somebody else is waited for"
fresh_machine
put sleep "exec $(command -v sleep) 0.1"
put dpkg 'case "$1" in --print-architecture) echo amd64; exit ;; esac
[ -f "$STATUS/tried" ] || { : >"$STATUS/tried"
echo "dpkg: error: dpkg frontend lock was locked by another process with pid 7"; exit 2; }'
update_does '[ "$(grep -c update "$DIARY")" = 3 ] || {
echo "apt-get update" >>"$DIARY"; echo "E: Could not get lock /var/lib/apt/lists/lock"; exit 100; }'
install
expect "$case_" '[ $code = 0 ] && [ "$(grep -c update "$diary")" = 4 ] && ! says "failed"'
expect "$case_" '[ "$(last_install)" = "$LIBRARIES" ]'

case_="an interrupted run leaves no file and no process"
fresh_machine
put sleep "exec $(command -v sleep) 0.1"
put apt-get 'kill -TERM $PPID' # nobody can ignore it, as HUP under nohup
# A pipe is at its end when the last process that could write into it is gone.
left=0
{ on_machine 2>&1 || echo "exit $?"; } | timeout 20 cat >"$scratch/out" || left=$?
expect "$case_" 'says "exit 130" && [ -z "$(find "$scratch" -name "callagent-install.*")" ]'
expect "$case_" '[ $left = 0 ]'

case_="an apt-get that installs nothing is found out"
fresh_machine
put apt-get 'exit 0'
install
expect "$case_" '[ $code = 1 ] && says "these are missing: $LIBRARIES"'

case_="a machine that is no Debian is told the names"
fresh_machine
rm "$bin/dpkg-query"
install
expect "$case_" '[ $code = 1 ] && says "no Debian" && says "$LIBRARIES"'

case_="a machine without Swift is told where to get it"
fresh_machine
rm "$bin/swift"
install
expect "$case_" '[ $code = 1 ] && says "no Swift toolchain" && says "https://www.swift.org"'

case_="a Swift that cannot build is told with its own words"
fresh_machine
put swift 'case "$1" in build) echo "libxml2.so.2: no such file" >&2; exit 127 ;; esac
echo "Swift version 6.3.1 (swift-6.3.1-RELEASE)"'
install
expect "$case_" '[ $code = 1 ] && says "cannot build here: libxml2.so.2"'

for old in 5.10 6.2.4; do
    case_="Swift $old is too old"
    fresh_machine
    put swift "echo 'Swift version $old (x)'"
    install
    expect "$case_" '[ $code = 1 ] && says "is too old"'
done

for new in 6.3 6.10 7.0.1; do
    case_="Swift $new will do"
    fresh_machine
    put swift "echo 'Apple Swift version $new (x)'"
    install
    expect "$case_" '[ $code = 0 ]'
done

case_="an unknown option is refused"
fresh_machine
install --everything
expect "$case_" '[ $code = 1 ] && says "--everything" && [ ! -s "$diary" ]'

printf 'install script: %s expectations met, %s not\n' "$passed" "$failed"
[ "$failed" = 0 ]
