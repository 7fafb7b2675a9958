// The handshake, and reading what a session decrypts.
import CUV
import Glibc

extension Connection {
    /// Starts the handshake; `completed` comes once, also if the connection ends before.
    func shakeHands(
        within limit: Int64, _ completed: @escaping (Result<Void, EventLoopError>) -> Void
    ) {
        session?.completed = completed
        deadline = Timer(on: loop) { [unowned self] in
            let text = "TLS handshake with \(peer) took longer than \(limit) ms"
            fail(EventLoopError(.timedOut, "\(peer)", text))
        }
        deadline?.arm(after: limit)
        continueHandshake()
    }

    func continueHandshake() {
        guard let session else { return }
        switch session.handshake() {
        case .done:
            phase = .open
            isBlocked = false
            deadline = nil
            session.complete(.success(()))
            // The first request may have come along with the end of the handshake.
            if session.holdsBytes { awaitTurn() }
        case .read: isBlocked = false
        case .write: isBlocked = true
        case .failed(let error): fail(error)
        }
        watch()
    }

    /// Decrypts what is there, at most a buffer full, and delivers it at once. Asks the kernel
    /// again only when the session holds part of a record.
    func read(_ session: TLSSession) {
        let buffer = loop.readBuffer
        var filled = 0
        var last: SocketResult
        repeat {
            last = session.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
            guard case .bytes(let count) = last else { break }
            filled += count
        } while filled < buffer.count && session.holdsBytes
        if filled > 0 { deliver(filled) }
        guard phase != .closed else { return }
        switch last {
        case .bytes: if session.holdsBytes { awaitTurn() }
        case .notNow:
            if session.readWaitsForWrite {
                isBlocked = true
                watch()
            }
        case .end: if !isPaused { reachEnd() }
        case .failed(let error): fail(error)
        }
    }
}
