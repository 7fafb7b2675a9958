#!/bin/sh
# Builds the example app as a package of its own, and lets it call the answering bot.
#
# usage: sh Tests/Docs/swift-app.sh
set -eu

cd "$(dirname "$0")/../.."
. Tests/Docs/running.sh
app=$PWD/.build/swift-app
swift build --package-path examples/swift-app --scratch-path "$app"

# A copy, so that its state stays out of the checkout.
mkdir "$scratch/examples"
cp -R examples/answering-bot "$scratch/examples"
rm -rf "$scratch/examples/answering-bot/callagent.state"
sed "s/7600/$port/" examples/answering-bot/callagent.lua \
    >"$scratch/examples/answering-bot/callagent.lua"
(cd "$scratch" && exec callagent run examples/answering-bot/callagent.lua) \
    >"$scratch/log" 2>&1 </dev/null &
stays=$!

# Places a call and expects that it goes so: rings CALLER CALLEE CODE LINES
rings() {
    code=0
    "$app/debug/swift-app" "$1" "$2" "ws://127.0.0.1:$port" >"$scratch/out" 2>&1 || code=$?
    # How long a call took is different every time.
    sed 's/after [0-9]* ms/after … ms/' "$scratch/out" | grep -v 'trying again' >"$scratch/saw" || :
    printf "$4" >"$scratch/want"
    if [ "$code" != "$3" ] || ! diff "$scratch/want" "$scratch/saw"; then
        echo "the app ended with code $code; the bot's log:"
        cat "$scratch/log"
        exit 1
    fi
}

greeting=', saying {"greeting":"Hello, this is support."}'
rings alice support 0 \
    "calling support\nsupport is ringing\nsupport is joined$greeting\nended after … ms: completed\n"
rings mallory support 0 \
    "calling support\nsupport is rejected\nended after … ms: cancelled\n"
rings alice 'two words' 2 "usage: swift-app CALLER CALLEE [SERVER]\n"

end_stays || {
    echo "the bot did not end well"
    exit 1
}
echo "the example app: answered, refused, and misused"
