#!/bin/sh
# Measures the policy host alone and prints what was promised beside it.
#
# usage: sh Tests/Benchmarks/policy.sh [invite] [canary] [reload] [latency] [memory] [empty]
#                                      [hostile]                              default: all
#
#   invite   one on.invite with a decision under all limits, beside the same hook in bare C with
#            liblua, in turns; and three plugins in a chain
#   canary   the same decision without a canary, beside one, and by one, in turns
#   reload   ten and fifty plugins of 200 lines, from their sources to the swap
#   latency  decisions at a steady pace, without and with reloads of fifty plugins one after
#            the other
#   memory   1,000 reloads
#   empty    the states of 200 plugins without code
#   hostile  every script of the hostile corpus under the default budget of 10 ms
#
# Settings: ROUNDS=5. Processor times are of one thread, medians over the rounds.
set -eu

cd "$(dirname "$0")/../.."
work=$PWD/.build/benchmarks
ROUNDS=${ROUNDS-5}
mkdir -p "$work"

swift build -c release --product policy-benchmark >&2
bench=$(swift build -c release --show-bin-path)/policy-benchmark
cc -O2 -I/usr/include/lua5.4 -o "$work/bare" Tests/Benchmarks/Bare/main.c -llua5.4

# median NAME KEY: the median of KEY in the lines of NAME.
median() {
    sed -n "s/^$1 .*\b$2=\([0-9-]*\).*/\1/p" "$work/policy.txt" | sort -n |
        awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'
}

verdict() { awk -v a="$1" -v b="$2" 'BEGIN { print (a <= b) ? "kept" : "missed" }'; }

invite() {
    : >"$work/policy.txt"
    round=0
    while [ "$round" -lt "$ROUNDS" ]; do
        "$work/bare" >>"$work/policy.txt"
        "$bench" invite 1 | sed 's/^invite/one/' >>"$work/policy.txt"
        "$bench" invite 3 | sed 's/^invite/three/' >>"$work/policy.txt"
        round=$((round + 1))
    done
    bare=$(median bare ns) one=$(median one ns) three=$(median three ns)
    echo "- one on.invite: $one ns, in bare C $bare ns, $((one - bare)) ns more; promised 1200:" \
        "$(verdict $((one - bare)) 1200)"
    echo "- three plugins: $three ns; promised 3 × one = $((3 * one)):" \
        "$(verdict "$three" $((3 * one)))"
}

canary() {
    : >"$work/policy.txt"
    round=0
    while [ "$round" -lt "$ROUNDS" ]; do
        "$bench" canary >>"$work/policy.txt"
        round=$((round + 1))
    done
    more=$(median canary more_ns)
    echo "- a canary: $(median canary none_ns) ns without, $(median canary beside_ns) ns beside" \
        "it, $(median canary by_ns) ns by it, $more ns more; promised 200:" \
        "$(verdict "$more" 200)"
}

reload() {
    for count in 10 50; do
        "$bench" reload "$count" | tee "$work/policy.txt" | sed 's/^/  /'
        time=$(median reload p50_us)
        most=$((count == 10 ? 20000 : 200000))
        echo "- $count plugins of 200 lines: $time µs; promised $most: $(verdict "$time" "$most")"
    done
}

latency() {
    "$bench" latency 50 >"$work/latency.txt"
    sed 's/^/  /' "$work/latency.txt"
    quiet=$(sed -n '1s/.*p99_us=\([0-9]*\).*/\1/p' "$work/latency.txt")
    busy=$(sed -n '2s/.*p99_us=\([0-9]*\).*/\1/p' "$work/latency.txt")
    echo "- 99 % of decisions: $quiet µs without, $busy µs with reloads of 50 plugins; promised" \
        "1000 more at most: $(verdict "$busy" $((quiet + 1000)))"
}

memory() {
    "$bench" memory | tee "$work/policy.txt" | sed 's/^/  /'
    grown=$(median memory grown_kb)
    echo "- 1,000 reloads: $grown KiB more; promised none (under 1024): $(verdict "$grown" 1024)"
}

empty() {
    "$bench" empty | tee "$work/policy.txt" | sed 's/^/  /'
    bytes=$(median empty bytes)
    echo "- an empty state: $bytes bytes, resident with all that belongs to the plugin" \
        "$(median empty resident); promised 40960: $(verdict "$bytes" 40960)"
}

hostile() {
    "$bench" hostile Tests/PolicyHostTests/Hostile/*.lua | tee "$work/policy.txt" | sed 's/^/  /'
    worst=$(median hostile worst_cpu_us)
    echo "- the longest that a script holds the thread: $worst µs of CPU; promised 30000:" \
        "$(verdict "$worst" 30000)"
}

[ $# -gt 0 ] || set -- invite canary reload latency memory empty hostile
for part; do
    echo "## $part"
    case "$part" in
    invite | canary | reload | latency | memory | empty | hostile) "$part" ;;
    *)
        echo "unknown part '$part'" >&2
        exit 2
        ;;
    esac
done
