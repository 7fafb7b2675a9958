// The WebSocket of the system, for a client on a phone.

import CallClientCore
import Foundation
import WebProtocols

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Carries a `ClientMachine` over URLSession, on the main thread.
@MainActor
final class URLSessionTransport {
    private let url: URL
    private let session = URLSession(configuration: .ephemeral)
    private var task: URLSessionWebSocketTask?
    private var timer: Foundation.Timer?
    private weak var machine: ClientMachine?

    /// A transport to `url`, such as `wss://calls.example.com/v1/ws`.
    private init(_ url: URL) { self.url = url }

    /// A client of the server at `url`, which has not connected yet.
    static func client(_ options: ClientMachine.Options, at url: URL) -> ClientMachine {
        let transport = URLSessionTransport(url)
        let machine = ClientMachine(
            options, over: OnMain(transport), dice: SystemRandomNumberGenerator())
        transport.machine = machine
        return machine
    }

    // MARK: The socket

    fileprivate func dial() {
        let task = session.webSocketTask(with: url, protocols: [ClientMachine.subprotocol])
        self.task = task
        task.resume()
        // The pong says that the WebSocket is open; nothing may be sent before.
        task.sendPing { error in
            let words = error.map { $0.localizedDescription }
            Task { @MainActor in self.answered(task, words) }
        }
    }

    private func answered(_ task: URLSessionWebSocketTask, _ problem: String?) {
        guard task === self.task else { return }
        if let problem { return ended(task, problem) }
        machine?.opened()
        receive(task)
    }

    private func receive(_ task: URLSessionWebSocketTask) {
        Task {
            do {
                while task === self.task {
                    let message = try await task.receive()
                    guard task === self.task else { return }
                    take(message)
                }
            } catch {
                ended(task, error.localizedDescription)
            }
        }
    }

    private func take(_ message: URLSessionWebSocketTask.Message) {
        machine?.heard()
        guard case .string(let text) = message else { return }
        machine?.received(Array(text.utf8))
        machine?.acknowledge()
    }

    private func ended(_ task: URLSessionWebSocketTask, _ problem: String) {
        guard task === self.task else { return }
        self.task = nil
        let code = task.closeCode.rawValue
        let reason = task.closeReason.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let isClosed = code > 0 && code != 1006
        machine?.ended(
            isClosed
                ? .closed(UInt16(clamping: code), reason) : .network(NetworkFault(problem)))
    }

    fileprivate func send(_ message: [UInt8]) {
        guard let task else { return }
        task.send(.string(String(decoding: message, as: UTF8.self))) { error in
            guard let words = error?.localizedDescription else { return }
            Task { @MainActor in self.ended(task, words) }
        }
    }

    fileprivate func close(_ code: Int, _ reason: String) {
        let code = URLSessionWebSocketTask.CloseCode(rawValue: code) ?? .goingAway
        task?.cancel(with: code, reason: Data(reason.utf8))
        task = nil
    }

    // MARK: The clock

    fileprivate func wake(at moment: Int64, from now: Int64) {
        timer?.invalidate()
        timer = nil
        guard moment != .max else { return }
        let wait = Double(max(moment - now, 0)) / 1_000
        timer = .scheduledTimer(withTimeInterval: wait, repeats: false) { _ in
            MainActor.assumeIsolated { self.machine?.woken() }
        }
    }
}

/// What the machine sees: it is called on the main thread, and so calls there.
private final class OnMain: ClientTransport {
    private let transport: URLSessionTransport
    private let start = ContinuousClock.now

    init(_ transport: URLSessionTransport) { self.transport = transport }

    deinit {
        let transport = transport
        Task { @MainActor in
            transport.close(1001, "")
            transport.wake(at: .max, from: 0)
        }
    }

    var now: Int64 { Int64((ContinuousClock.now - start) / .milliseconds(1)) }
    func dial() { act { $0.dial() } }
    func send(_ message: [UInt8]) { act { $0.send(message) } }
    func close(_ code: WebSocketCloseCode, _ reason: String) {
        act { $0.close(Int(code.rawValue), reason) }
    }
    func abandon() { act { $0.close(1001, "") } }
    func wake(at moment: Int64) {
        let now = now
        act { $0.wake(at: moment, from: now) }
    }

    private func act(_ part: @MainActor @Sendable (URLSessionTransport) -> Void) {
        let transport = transport
        MainActor.assumeIsolated { part(transport) }
    }
}
