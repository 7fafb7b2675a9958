// Echoes WebSocket messages: our codec and our loop with nothing else, for Autobahn and benchmarks.

import EventLoop
import Glibc

/// `echo-server [--listen ADDRESS]`: prints the address it listens on and serves until SIGTERM.
func run(_ arguments: [String]) throws {
    var address = "127.0.0.1:0"
    switch (arguments.first, arguments.count) {
    case (nil, _): break
    case ("--listen", 2): address = arguments[1]
    default: throw Usage()
    }
    let loop = try EventLoop()
    let listener = try Listener(
        at: try NetworkAddress(parsing: address), on: loop,
        failed: { print("accepting failed: \($0)") },
        accepted: { $0.handler = EchoPeer() })
    for signal in [SignalWatcher.Signal.terminate, .interrupt] {
        try SignalWatcher(for: signal, on: loop) { loop.stop() }
    }
    print("listening on \(listener.endpoint)")
    fflush(nil)
    loop.run()
    loop.close()
}

struct Usage: Error, CustomStringConvertible {
    let description = "usage: echo-server [--listen ADDRESS]"
}

do {
    try run(Array(CommandLine.arguments.dropFirst()))
} catch {
    print("echo-server: \(error)")
    exit(1)
}
