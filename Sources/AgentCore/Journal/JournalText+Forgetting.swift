// Packed entries without somebody.

import CallModel

extension JournalText {
    /// Packed entries in which `gone` is not named any more: the same ones, in the same order.
    public static func forgetting(_ gone: Forgotten, in bytes: [UInt8]) -> [UInt8] {
        var new: [UInt8] = []
        new.reserveCapacity(bytes.count)
        for entry in split(bytes) {
            var rewriting = EntryRewriting(entry, gone)
            new += rewriting.done
        }
        return new
    }
}

/// Writes one entry again, without somebody.
private struct EntryRewriting: ~Copyable {
    private let gone: Forgotten
    private let time: UInt64
    private let kind: JournalKind
    private var old: JournalFields
    private var pen = JournalPen(capacity: 256)

    init(_ entry: ArraySlice<UInt8>, _ gone: Forgotten) {
        self.gone = gone
        var time: UInt64 = 0
        for (place, byte) in entry.prefix(5).enumerated() { time |= UInt64(byte) << (8 * place) }
        self.time = time
        old = JournalFields(entry.dropFirst(5))
        kind = JournalKind(rawValue: old.byte()) ?? .note
    }

    /// The whole entry.
    var done: [UInt8] {
        mutating get {
            pen.begin(kind)
            rewrite()
            pen.end(after: time)
            return Array(pen.bytes)
        }
    }

    private mutating func rewrite() {
        switch kind {
        case .request:
            copy()
            address()
            copy()
            trace()
        case .change: change()
        case .told:
            pen.put(old.byte())
            address()
            pen.put(number: old.number())
        case .acknowledged, .connected: address()
        case .disconnected:
            address()
            copy()
        case .asked:
            copy()
            user()
            trace()
        case .answered: answered()
        case .push, .webhook: sent()
        case .timer, .media: pen.put(old.byte())
        case .note: text()
        }
    }

    private mutating func change() {
        pen.put(number: old.number())
        // Plugins and the server act without a device, and may have a user's name.
        let (actor, device) = (old.text(), old.text())
        let isGone = actor == gone.user.text && !device.isEmpty
        pen.put(isGone ? gone.substitute.text : actor)
        pen.put(isGone ? "" : device)
        pen.put(old.byte())
        let reason = old.text()
        pen.put(reason)
        if !reason.isEmpty {
            copy()
            user()
        }
        let count = min(old.number(), 1_024)
        pen.put(number: count)
        for _ in 0..<count {
            user()
            pen.put(old.byte())
            pen.put(old.byte())
        }
    }

    private mutating func answered() {
        copy()
        user()
        copy()
        copy()
        text()
        text()
        pen.put(number: old.number())
        pen.put(number: old.number())
        text()
    }

    private mutating func sent() {
        if kind == .push { address() }
        copy()
        copy()
        text()
        pen.put(number: old.number())
        let (trace, event) = (old.optionalText(), old.optionalText())
        if let event {
            pen.put(optional: trace)
            pen.put(event)
        } else if let trace {
            pen.put(trace)
        }
    }

    // MARK: Fields

    /// The trace at the end, which names nobody.
    private mutating func trace() {
        if let trace = old.optionalText() { pen.put(trace) }
    }

    private mutating func copy() { pen.put(old.text()) }
    /// What somebody wrote, which may name the user.
    private mutating func text() { pen.put(gone.replacing(in: old.text())) }

    private mutating func user() {
        let user = old.text()
        pen.put(user == gone.user.text ? gone.substitute.text : user)
    }

    /// A user and their device; a device's name may tell whose it is.
    private mutating func address() {
        let (user, device) = (old.text(), old.text())
        let isGone = user == gone.user.text
        pen.put(isGone ? gone.substitute.text : user)
        pen.put(isGone ? "" : device)
    }
}
