// How bytes move: one read per announcement into the loop's buffer, one write per turn.
import CUV
import Glibc

/// The result of one attempt to read or write.
enum SocketResult {
    /// This many bytes, at least one.
    case bytes(Int)
    /// Nothing now; libuv will tell when.
    case notNow
    /// The peer will send no more.
    case end
    /// The connection is broken.
    case failed(EventLoopError)
}

extension Connection {
    /// Tells libuv what to watch for, if that changed.
    func watch() {
        guard phase != .closed, !isPutOff, let handle = handle(uv_poll_t.self) else { return }
        var wanted: Int32 = 0
        // A handshake that has to write first would see the same unread bytes again and again.
        let readsLater = isPaused || peerEnded || (isBlocked && phase == .handshaking)
        if !readsLater { wanted |= Int32(UV_READABLE.rawValue) }
        if isBlocked { wanted |= Int32(UV_WRITABLE.rawValue) }
        guard wanted != interest else { return }
        interest = wanted
        if wanted == 0 {
            uv_poll_stop(handle)
        } else {
            uv_poll_start(handle, wanted) { handle, status, events in
                owner(handle, Connection.self)?.announced(events, status)
            }
        }
    }

    private func announced(_ events: Int32, _ status: Int32) {
        if status < 0 { (interest, isBroken) = (0, true) }
        // Other unknown connections were put off before: this one comes behind them.
        if !isKnown, loop.strangers.waiting > 0 { return putOff() }
        inTurn {
            if status < 0 || phase == .handshaking { return lookAtSocket() }
            if events & Int32(UV_WRITABLE.rawValue) != 0 {
                flush()
                if phase != .closed, session?.readWaitsForWrite == true { read() }
            }
            // The number of a closed socket may belong to another one already.
            if phase != .closed, events & Int32(UV_READABLE.rawValue) != 0 { read() }
        }
    }

    /// The state of the socket is not known. If libuv has seen an error it has stopped watching,
    /// and bytes that came before may still be there: the next read or write returns them, or the
    /// error.
    private func lookAtSocket() {
        if phase == .handshaking { return continueHandshake() }
        if isBlocked { flush() }
        if phase != .closed, isBroken || !isPaused && !peerEnded { read() }
        isBroken = false
        watch()
    }

    // MARK: Reading

    private func read() {
        if let session, phase == .open { return read(session) }
        switch receive() {
        case .bytes(let count): deliver(count)
        case .notNow: break
        case .end: reachEnd()
        case .failed(let error): if !endsLater(error) { fail(error) }
        }
    }

    /// Very many may go at once, as behind a proxy that is started anew: in a long turn the end of
    /// one more waits for its own. Returns whether it does.
    private func endsLater(_ error: EventLoopError? = nil) -> Bool {
        guard phase == .open, loop.isTurnLong else { return false }
        (peerEnded, wantsEnd) = (true, true)
        failure = error
        watch()
        awaitTurn()
        return true
    }

    /// Does what was put off in the last turn.
    func takeTurn() {
        isAwaitingTurn = false
        inTurn { goOn() }
    }

    private func goOn() {
        if wantsEnd {
            wantsEnd = false
            if failure != nil { return finish() }
            if phase == .open { handler?.connectionReachedEnd(self) }
        }
        if isPutOff {
            endPuttingOff()
            lookAtSocket()
        }
        if wantsTurn && phase == .open {
            wantsTurn = false
            handler?.connectionHasTurn(self)
        }
        if wantsDrained && out.count == 0 && phase == .open {
            wantsDrained = false
            handler?.connectionDrained(self)
        }
        if session != nil && !isPaused && !peerEnded && phase == .open { read() }
    }

    func awaitTurn() {
        guard !isAwaitingTurn else { return }
        isAwaitingTurn = true
        loop.callInNextTurn(self)
    }

    private func receive() -> SocketResult {
        let buffer = loop.readBuffer
        let count = cuv_receive(socket, buffer.baseAddress, buffer.count)
        if count > 0 { return .bytes(count) }
        return count == 0 ? .end : outcome(ofCode: Int32(count), "reading from")
    }

    /// What arrives after `close` is read and dropped: unread bytes would turn our end into a
    /// reset.
    func deliver(_ count: Int) {
        guard phase == .open else { return }
        handler?.connection(
            self, received: UnsafeRawBufferPointer(rebasing: loop.readBuffer[..<count]))
    }

    func reachEnd() {
        if endsLater() { return }
        peerEnded = true
        watch()
        switch phase {
        case .open: handler?.connectionReachedEnd(self)
        case .lingering: finish()
        case .handshaking, .finishing, .closed: break
        }
    }

    private func outcome(ofCode code: Int32, _ action: String) -> SocketResult {
        if code == -EAGAIN || code == -EINTR { return .notNow }
        return .failed(EventLoopError(code: code, doing: action, "\(peer)"))
    }

    // MARK: Writing

    /// Has the loop write this connection at the end of the turn.
    func queue() {
        guard !isQueued else { return }
        isQueued = true
        loop.flushAtEndOfTurn(self)
    }

    /// The end of a turn. A blocked connection waits for the socket instead; when it closes, only
    /// for a limited time.
    func flushTurn() {
        isQueued = false
        if !isBlocked {
            flush()
        } else if phase == .finishing {
            boundClosing()
        }
    }

    /// Writes what the socket takes without waiting for the end of this turn.
    public func sendNow() {
        loop.assertOwner()
        if phase == .open, !isBlocked { flush() }
    }

    private func flush() {
        guard phase == .open || phase == .finishing else { return }
        isBlocked = false
        while out.count > 0 && !isBlocked {
            switch transmit() {
            case .bytes(let count):
                out.consume(count)
                sentBytes += UInt64(count)
            case .notNow: isBlocked = true
            case .end: return fail(EventLoopError(code: -EPIPE, doing: "writing to", "\(peer)"))
            case .failed(let error): return fail(error)
            }
        }
        if !isBlocked { out.release(to: &loop.pool) }
        if !isBlocked && wantsDrained { awaitTurn() }
        if phase == .finishing { finishWriting() }
        watch()
    }

    private func transmit() -> SocketResult {
        let bytes = out.bytes
        if let session { return session.write(bytes) }
        let count = cuv_send(socket, bytes.baseAddress, bytes.count)
        return count >= 0 ? .bytes(count) : outcome(ofCode: Int32(count), "writing to")
    }

    // MARK: Closing

    private func finishWriting() {
        if !isBlocked {
            session?.shutdown()
            shutdown(socket, Int32(SHUT_WR))
            if peerEnded { return finish() }
            phase = .lingering
        }
        boundClosing()
    }

    private func boundClosing() {
        guard deadline == nil else { return }
        deadline = Timer(on: loop) { [unowned self] in finish() }
        deadline?.arm(after: loop.options.closeTimeout)
    }

    func fail(_ error: EventLoopError) {
        failure = error
        finish()
    }

    /// Frees everything at once; the handler is told in this turn.
    func finish() {
        guard phase != .closed else { return }
        phase = .closed
        deadline = nil
        isBlocked = false
        out.release(to: &loop.pool)
        closeHandle()
        Glibc.close(socket)
    }
}
