// The command `console`: look after the server in a browser.

import AgentServer
import CallClient
import EventLoop
import WebProtocols

extension Command {
    static let console = Command(
        "console", "look after the server in a browser while this runs",
        options: [
            Option("--viewer", nil, "show only; nothing can be changed"),
            Option("--port", "PORT", "at this port of the machine (default: a free one)"),
        ] + Installation.options
    ) { (arguments) throws(CommandError) in
        let port = try arguments.number("--port", in: 1...65_535) ?? 0
        let server = try Installation.admin(arguments)
        let isViewer = arguments.has("--viewer")
        // An address behind which nobody answers would show an empty page.
        let answer = AdminAnswer.get("/healthz", from: server)
        if case .unreachable = answer {
            let code = answer.show(isJSON: false) { _ in }
            Screen.complain("callagent: 'callagent run' starts a server here")
            return code
        }
        do throws(EventLoopError) {
            try ConsoleProgram(server).run(port: UInt16(port), isViewer: isViewer)
            return ExitCode.success
        } catch {
            throw .failure("\(error)")
        }
    }
}

/// Serves the console until a signal comes.
private final class ConsoleProgram {
    private let loop: EventLoop
    private let server: ServerAddress
    private var signals: [SignalWatcher] = []

    init(_ server: ServerAddress) throws(EventLoopError) {
        loop = try EventLoop()
        self.server = server
    }

    func run(port: UInt16, isViewer: Bool) throws(EventLoopError) {
        var dice = SystemRandomNumberGenerator()
        let token = (0..<4).map { _ in String(dice.next() as UInt64, radix: 36) }.joined()
        let (server, loop) = (server, loop)
        var options = HTTPExchange.Options()
        // A request may wait for 25 seconds, and a reload may take longer.
        options.timeout = 120_000
        let proxy = try ConsoleProxy(
            port: port, token: token, isViewer: isViewer, on: loop,
            forward: { request, done in
                var request = request
                let query = request.target.rawQuery.map { "?\($0)" } ?? ""
                request.target = server.target(request.target.rawPath + query)
                HTTPExchange.send(request, to: server, on: loop, options: options) { result in
                    done(try? result.get())
                }
            })
        for signal in [SignalWatcher.Signal.interrupt, .terminate, .hangup] {
            signals.append(try SignalWatcher(for: signal, on: loop) { loop.stop() })
        }
        if case .tcp(let host, let port)? = proxy.endpoint {
            Screen.say("http://\(host):\(port)/#token=\(token)")
        }
        loop.run()
        proxy.close()
        loop.close()
    }
}
