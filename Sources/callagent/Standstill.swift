// A process that has the operator's socket and answers nothing.

import CallClient
import Configuration
import EventLoop
import Glibc
import WebProtocols

/// Why a process answers nothing, and what to do.
struct Standstill {
    private let process: Int32
    /// `R`, `S`, `D`, `T`, … as the system says; nil: it is gone, or belongs to somebody else.
    private let state: Character?

    init(of process: Int32) {
        self.process = process
        // Behind the name of the program, which may have any characters.
        let line = Files.read("/proc/\(process)/stat").map { String(decoding: $0, as: UTF8.self) }
        state = line?.split(separator: ")").last?.first { $0 != " " }
    }

    /// Whether it was stopped: it cannot answer, however long one waits.
    var isStopped: Bool { state == "T" || state == "t" }

    /// What is wrong with it, behind its name.
    var text: String {
        if isStopped { return "is stopped and answers nothing" }
        return state == "D"
            ? "waits for a disk or for memory and answers nothing"
            : "runs and answers nothing"
    }

    /// What to do.
    var advice: String {
        isStopped
            ? "kill -CONT \(process) lets it go on"
            : "look at its log and the system's (dmesg); kill -9 \(process) ends it, and what was "
                + "acknowledged is there when it is started again"
    }
}

/// Looks at a server that has been silent for a while: some requests take long, but it answers
/// others meanwhile.
final class SilenceWatch {
    /// Milliseconds until it looks.
    private static let silence: Int64 = 3_000
    /// Milliseconds in which a process that is well answers whether it lives.
    private static let patience: Int64 = 5_000

    private let server: ServerAddress
    private let loop: EventLoop
    private let standsStill: (String) -> Void
    private var timer: Timer?
    private var isOver = false

    /// - Parameter standsStill: hears why the server answers nothing, once or never.
    init(
        _ server: ServerAddress, on loop: EventLoop, _ standsStill: @escaping (String) -> Void
    ) {
        (self.server, self.loop, self.standsStill) = (server, loop, standsStill)
        guard case .unix = server.endpoint else { return }
        let timer = Timer(on: loop) { [self] in look() }
        timer.arm(after: Self.silence)
        self.timer = timer
    }

    /// The server has answered.
    func end() {
        isOver = true
        timer = nil
    }

    private func look() {
        timer = nil
        guard let process = server.endpoint.listeningProcess else { return }
        if Standstill(of: process).isStopped { return tell(process) }
        var options = HTTPExchange.Options()
        options.timeout = Self.patience
        let request = HTTPRequest(.get, server.target("/healthz"))
        HTTPExchange.send(request, to: server, on: loop, options: options) { [self] result in
            if case .failure(.timedOut) = result { tell(process) }
        }
    }

    private func tell(_ process: Int32) {
        guard !isOver else { return }
        end()
        let found = Standstill(of: process)
        standsStill("process \(process) \(found.text) at \(server): \(found.advice)")
    }
}
