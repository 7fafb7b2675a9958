// Runs one device on the command line: connection, signals, end.

import CallClient
import CallClientCore
import CallModel
import CallWire
import EventLoop

/// How a device reacts to events.
protocol DeviceScript: AnyObject {
    /// Connected, for the first time or again.
    func opened(_ welcome: Welcome)
    /// Something happened to a call.
    func happened(_ event: CallEvent)
    /// The user wants to stop: leave the calls under way and call `DeviceProgram.finish`.
    func interrupted()
}

/// One client on a loop of its own, until its script is done.
final class DeviceProgram {
    let loop: EventLoop
    let ladder: Ladder
    let client: CallClient
    /// Nil while it is not running, because the script holds the program.
    private var script: (any DeviceScript)?
    private let server: ServerAddress
    private let credential: Credential
    private var signals: [SignalWatcher] = []
    private var wasOpen = false
    private var interruptions = 0
    private var code: Int32?

    init(_ options: DeviceOptions, _ ladder: Ladder) throws(EventLoopError) {
        loop = try EventLoop()
        self.ladder = ladder
        server = options.server
        credential = options.credential
        var connection = CallClient.Options(
            options.server, token: credential.token, device: options.device)
        connection.name = options.name
        client = CallClient(connection, on: loop)
        client.onEvent = { [unowned self] in take($0) }
        client.trace = { ladder.passes($0) }
        ladder.nameOf = { [unowned client] in client.name(of: $0) }
        for signal in [SignalWatcher.Signal.interrupt, .terminate, .hangup] {
            signals.append(
                try SignalWatcher(for: signal, on: loop) { [unowned self] in interrupt() })
        }
    }

    /// Connects as `options` say and runs the script that `make` makes; returns the exit code.
    static func run(
        _ options: DeviceOptions, ladder: Ladder? = nil,
        _ make: (DeviceProgram) -> any DeviceScript
    ) -> Int32 {
        do throws(EventLoopError) {
            let ladder = ladder ?? Ladder(isJSON: options.isJSON)
            let program = try DeviceProgram(options, ladder)
            return program.run(make(program))
        } catch {
            Screen.complain("callagent: \(error)")
            return ExitCode.failure
        }
    }

    private func run(_ script: any DeviceScript) -> Int32 {
        self.script = script
        client.connect()
        loop.run()
        client.disconnect()
        self.script = nil
        loop.close()
        return code ?? ExitCode.failure
    }

    /// Whether requests are sent at once.
    var isConnected: Bool { client.state == .open }

    /// The script is done: logs out and ends with `code`.
    func finish(_ code: Int32) {
        guard self.code == nil else { return }
        self.code = code
        client.logOut()
    }

    /// Ctrl-C: the script leaves its calls; a second time, or without calls, the program ends at
    /// once.
    func interrupt() {
        interruptions += 1
        if interruptions > 1 || !wasOpen || code != nil {
            code = code ?? ExitCode.failure
            return loop.stop()
        }
        script?.interrupted()
    }

    private func take(_ event: ClientEvent) {
        switch event {
        case .opened(let welcome):
            if wasOpen {
                ladder.tells("open", "connected again\(welcome.resumed ? "" : ", anew")")
            }
            wasOpen = true
            script?.opened(welcome)
        case .event(let event):
            ladder.sees(event.kind)
            script?.happened(event)
        case .unknownEvent(let name, _): ladder.sees("\(name), which this client does not know")
        case .lost(let loss, let wait): lost(loss, wait)
        case .tokenNeeded(let loss): renew(after: loss)
        case .stopped(let ending): stopped(ending)
        }
    }

    private func lost(_ loss: ConnectionLoss, _ wait: Milliseconds) {
        guard wasOpen else {
            return giveUp("cannot connect to \(server): \(loss)", ExitCode.unreachable)
        }
        ladder.tells(
            "lost", "connection lost: \(loss); trying again in \(Span.words(wait))")
    }

    private func renew(after loss: ConnectionLoss) {
        guard let token = credential.renewed() else {
            return giveUp("\(loss): a new token is needed", ExitCode.failure)
        }
        client.renew(token: token)
    }

    private func stopped(_ ending: ClientEvent.Ending) {
        switch ending {
        case .disconnected, .loggedOut: loop.stop()
        case .refused(let refusal):
            let remedy = refusal.code == .unauthenticated ? credential.remedy : ""
            giveUp("\(server) refused \(refusal.code.rawValue): \(refusal.message)\(remedy)")
        case .lost(let loss):
            let text = wasOpen ? "\(loss)" : "cannot connect to \(server): \(loss)"
            giveUp(text, wasOpen ? ExitCode.failure : ExitCode.unreachable)
        }
    }

    private func giveUp(_ text: String, _ code: Int32 = ExitCode.failure) {
        Screen.complain("callagent: \(Screen.plain(text))")
        self.code = self.code ?? code
        client.disconnect()
        loop.stop()
    }
}
