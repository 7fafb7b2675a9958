#!/bin/sh
# Runs every kind of check, one after the other, and fails when any of them failed.
#
# usage: sh Tests/run.sh [--full] [STEP…]
#
# Without names all steps run, at counts that fit into half an hour on two cores; --full takes the
# counts that the project promises. A step that fails does not keep the others from running. The
# whole output of a step is in .build/checks/STEP.log. The last line is `N passed, N failed, N
# skipped`. A step that takes longer than MINUTES (30, with --full 240) is ended and has failed.
set -eu

cd "$(dirname "$0")/.."
logs=.build/checks
mkdir -p "$logs"

STEPS="install installer format luacheck build docs release tests plugins fuzz quickstart guide
packages interop address hardened autobahn cluster thread instructions attacks"

# A step that ends with this code was skipped, and said why in its last line.
SKIPPED=77
# How `timeout` says that it had to end a program, and that it had to kill it.
TOO_LATE="124 137"
# A step may be skipped only for what the machine cannot be given.
MAY_SKIP="autobahn"

describe() {
    case "$1" in
    install) echo "install what is missing" ;;
    installer) echo "the installer on a made-up machine" ;;
    format) echo "swift format lint --strict" ;;
    luacheck) echo "luacheck over the plugins, and over a planted typo" ;;
    build) echo "swift build" ;;
    docs) echo "the documentation as a site: no warning, and every link followed" ;;
    release) echo "swift build -c release" ;;
    tests) echo "swift test" ;;
    address) echo "swift test --sanitize=address" ;;
    hardened) echo "process tests against a server with the address sanitizer" ;;
    thread) echo "swift test --sanitize=thread" ;;
    plugins) echo "callagent check and callagent test over the plugins" ;;
    fuzz) echo "seeded fuzzing of the parsers" ;;
    quickstart) echo "the quickstart with --once" ;;
    guide) echo "the guides, step by step, the example app, and the client for phones" ;;
    packages) echo "packages, judged by lintian and systemd, and run" ;;
    interop) echo "a WebSocket library that nobody here wrote plays caller and callee" ;;
    instructions) echo "instructions of a refused invitation, counted by callgrind" ;;
    attacks) echo "attacks beside a quiet account that must not feel them" ;;
    cluster) echo "faults of a cluster under load, and a checker of what clients were told" ;;
    autobahn) echo "the Autobahn fuzzing client" ;;
    *) return 1 ;;
    esac
}

step() {
    case "$1" in
    install) sh examples/install.sh --checks ;;
    installer) sh Tests/Install/run.sh ;;
    format) lint ;;
    luacheck) sh Tests/Plugins/luacheck.sh ;;
    build) swift build --build-tests ;;
    docs) sh Tests/Docs/run.sh ;;
    release) swift build -c release ;;
    tests) swift test ;;
    address) ASAN_OPTIONS=$address_options sanitized test address ;;
    hardened) hardened ;;
    thread) sanitized test thread ;;
    build-ahead) sanitized build "$2" ;;
    plugins) sh Tests/Plugins/run.sh ;;
    fuzz) swift run -c release fuzz "$([ -n "$CALLAGENT_FULL" ] && echo full || echo smoke)" ;;
    quickstart) PORT=$(free_port) sh examples/quickstart.sh --once ;;
    guide) guides ;;
    packages) sh Tests/Packages/run.sh ;;
    interop) sh Tests/Interop/run.sh ;;
    instructions) instructions ;;
    attacks) attacks ;;
    cluster) sh Tests/Cluster/run.sh ;;
    autobahn) sh Tests/Autobahn/run.sh ;;
    esac
}

# A server of this machine, or another run of these checks, may have the usual one.
free_port() {
    python3 -c 'import socket
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    print(probe.getsockname()[1])'
}

lint() {
    swift format lint --strict --recursive Package.swift Sources Tests examples &&
        echo "nothing to format"
}

guides() {
    PORT=$(free_port) sh Tests/Docs/guide.sh && PORT=$(free_port) sh Tests/Docs/swift-app.sh &&
        sh Tests/Docs/apple.sh
}

# The count depends on the program, and by some hundredth on the hour. Who makes it better lowers
# the bound.
instructions() {
    python=$(sh Tests/Doubles/prepare.sh .build/interop Tests/Interop/requirements.txt) &&
        "$python" Tests/Benchmarks/instructions.py --connections 1 --most 95000 \
            callagent="$(swift build -c release --show-bin-path)/callagent"
}

# Also those that showed what only clients of a front end felt; with --full all that clients can do.
attacks() {
    sh Tests/Attacks/run.sh || return
    set --
    [ -n "$CALLAGENT_FULL" ] ||
        set -- bad-tokens unread-documents idle-askers signed-requests one-moment
    sh Tests/Attacks/run.sh --front-end "$@"
}

address_options="detect_leaks=0:suppressions='$PWD/Tests/address.suppressions'"

# What comes from outside goes in through a real process here: frames, requests, messages, tokens,
# plugins. The process tests of crashes, bounds and sessions take --full. A server with a sanitizer
# keeps what was freed for a while, so nothing is said of its memory.
hardened() {
    # shellcheck disable=SC2086
    swift build --sanitize=address --scratch-path .build/address $line_tables \
        --product callagent || return
    set -- test_hostile.py test_frames.py test_malformed.py
    [ -z "$CALLAGENT_FULL" ] || set -- "$@" test_http.py test_push.py test_kill.py test_session.py \
        test_bounds.py test_neighbours.py test_tls.py test_plugins.py test_webhooks.py \
        test_store.py
    ASAN_OPTIONS=$address_options CALLAGENT=$PWD/.build/address/debug/callagent \
        sh Tests/Interop/run.sh --deselect test_hostile.py::test_malformed_messages_without_number \
        "$@"
}

# A sanitizer names lines. What a debugger needs beside them takes a tenth of the time of a build.
line_tables="-debug-info-format none -Xswiftc -gline-tables-only"

# Each sanitizer has a build folder of its own: else every change of flags builds the house anew.
# The thread sanitizer does not see Lua's jump out of an error (__longjmp_chk), and its own stack of
# C frames would only grow: it keeps none. Without --full each sanitizer builds and takes what it
# can find something in.
#
# usage: sanitized test|build SANITIZER
sanitized() {
    action=$1
    sanitizer=$2
    set --
    if [ -z "$CALLAGENT_FULL" ]; then
        CALLAGENT_TESTS=$(targets_for "$sanitizer")
        export CALLAGENT_TESTS
    fi
    if [ "$action" = build ]; then
        set -- --build-tests
    else
        set -- --skip TidyTests
        [ -n "$CALLAGENT_FULL" ] || for name in $SLOW; do set -- --skip "$name" "$@"; done
        [ -n "$CALLAGENT_FULL" ] || [ "$sanitizer" != thread ] || set -- --skip "$ONE_THREAD" "$@"
    fi
    [ "$sanitizer" != thread ] ||
        set -- "$@" -Xcc -mllvm -Xcc -tsan-instrument-func-entry-exit=0
    # shellcheck disable=SC2086
    swift "$action" --sanitize="$sanitizer" --scratch-path ".build/$sanitizer" $line_tables "$@"
}

# They play the same few lines very often, on one thread or in plain Swift.
SLOW="InvariantTests ReloadUnderLoadTests FuzzTests GoodScriptTests LeaseWorldTests allStoresAgree
everyCallReadsBackAsItWas ofAVeryLongChainNothingIsSaid aVeryLongWayEnds
everybodySeesWhatIsWrittenAtAnotherNode"

# Of the store all other suites have one thread only, and the address sanitizer plays them.
ONE_THREAD='StorageTests[.](?!ClusterStore|LeaseConnection|StoreFile|SweepStep)'

# The thread sanitizer takes what has more than one thread; the address sanitizer what takes memory
# by hand, or calls a library in C. (The whole server under it is played from outside: `hardened`.)
targets_for() {
    case "$1" in
    thread) echo EventLoopTests OutboundTests StorageTests AgentServerTests CallClientTests \
        ConformanceTests ;;
    address) echo JSONTests WebProtocolsTests CollectionsTests CallWireTests EventLoopTests \
        StorageTests LuaTests PolicyHostTests DebuggerTests OutboundTests ;;
    esac
}

# What the runner of a step says at its end, in its own words.
closing_lines() {
    {
        grep -aE 'Test run with [0-9]+ tests|Executed [1-9][0-9]* tests|^run again alone' "$1" || :
        grep -av '^[[:space:]]*$' "$1" | tail -n 1
    } | awk '!printed[$0]++'
}

# How compilers, test runners, sanitizers and crashes begin the lines that matter.
trouble='(^|[^a-z])error:|✘|↳ |FAILED|AssertionError|Sanitizer|Fatal error|Precondition failed'
trouble="$trouble|crashed:| at .*/(Sources|Tests)/"

# Lines of the test runner that tell only that something begins.
beginning='started\.$|Testing Library Version|Target Platform'

# What went wrong, at most so many lines of it.
what_failed() {
    grep -anE "$trouble" "$1" | grep -avE "$beginning" | head -n "$2" || :
}

# The end of the log, and what went wrong last, where whoever sees only an end looks.
failure() {
    echo "--- the end of $1:"
    grep -avE "$beginning" "$1" | tail -n 20
    echo "--- what failed:"
    what_failed "$1" 60
}

is_in() {
    case " $2 " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

elapsed() {
    seconds=$(($(date +%s) - $1))
    printf '%d:%02d' $((seconds / 60)) $((seconds % 60))
}

# Prints a dot line now and then, so that nobody takes a long step for a hung one.
run_step() {
    log=$logs/$1.log
    begin=$(date +%s)
    printf '==> %s: %s\n' "$1" "$(describe "$1")"
    (while sleep 60 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
        echo "    … $1 runs, $(elapsed "$begin")"
    done) &
    ticker=$!
    code=0
    timeout -k 30 "${MINUTES}m" sh Tests/run.sh --alone "$1" >"$log" 2>&1 </dev/null || code=$?
    ! is_in "$code" "$TOO_LATE" || echo "error: not done in $MINUTES minutes" >>"$log"
    kill "$ticker" 2>/dev/null || :
    wait "$ticker" 2>/dev/null || :
    if [ "$code" = 0 ]; then
        passed=$((passed + 1))
        closing_lines "$log" | sed 's/^/    /'
        printf '    passed in %s\n' "$(elapsed "$begin")"
    elif [ "$code" = "$SKIPPED" ] && is_in "$1" "$MAY_SKIP"; then
        skipped=$((skipped + 1))
        printf '    SKIPPED: %s\n' "$(tail -n 1 "$log")"
    else
        failed=$((failed + 1))
        failures="$failures $1"
        failure "$log" | sed 's/^/    /'
        printf '    FAILED in %s with code %s\n' "$(elapsed "$begin")" "$code"
    fi
}

# Some steps mostly wait, or use one processor. What they leave goes to the build of a sanitizer,
# whose own step waits for the rest of it and says what is wrong with it.
build_ahead() {
    case "$1" in
    plugins) sanitizer=address ;;
    autobahn) sanitizer=thread ;;
    *) return 0 ;;
    esac
    is_in "$sanitizer" "$NAMES" || return 0
    nice -n 19 sh Tests/run.sh --alone build-ahead "$sanitizer" \
        >"$logs/build-ahead-$sanitizer.log" 2>&1 </dev/null &
}

# One step in a process of its own, which can be ended with all that it began.
if [ "${1-}" = --alone ]; then
    shift
    step "$@"
    exit
fi

CALLAGENT_FULL=
names=
for word in "$@"; do
    case "$word" in
    --full) CALLAGENT_FULL=1 ;;
    *)
        describe "$word" >/dev/null || {
            echo "unknown step '$word'; the steps are: $STEPS" >&2
            exit 2
        }
        names="$names $word"
        ;;
    esac
done
NAMES=$(echo ${names:-$STEPS})
export CALLAGENT_FULL
MINUTES=${MINUTES:-$([ -n "$CALLAGENT_FULL" ] && echo 240 || echo 30)}

passed=0
failed=0
skipped=0
failures=
started=$(date +%s)
for name in $NAMES; do
    build_ahead "$name"
    run_step "$name"
done

# Again at the very end: of a long run only that may be kept.
for name in $failures; do
    printf '==> what failed in %s:\n' "$name"
    what_failed "$logs/$name.log" 20 | sed 's/^/    /'
done
printf '==> all steps in %s%s\n' "$(elapsed "$started")" "${failures:+; failed:$failures}"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
