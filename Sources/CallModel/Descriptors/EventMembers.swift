// The members of events, on their way out and in.

/// Takes the members of an event, one after the other.
public protocol EventVisitor: ~Copyable {
    mutating func member(_ name: StaticString, _ user: UserID?)
    mutating func member(_ name: StaticString, _ device: DeviceID?)
    mutating func member(_ name: StaticString, text: String?)
    mutating func member(_ name: StaticString, word: String)
    mutating func member(_ name: StaticString, _ flag: Bool)
    mutating func member(_ name: StaticString, _ moment: Moment)
    mutating func member(_ name: StaticString, time: Milliseconds?)
    mutating func member(_ name: StaticString, count: Int)
    mutating func member(_ name: StaticString, _ end: Call.End)
    mutating func member(_ name: StaticString, _ changes: [CallEvent.Change])
    mutating func member(_ name: StaticString, _ texts: [String])
    mutating func member(_ name: StaticString, _ items: [Call.Item])
    /// One JSON value, as it was written.
    mutating func member(_ name: StaticString, json: [UInt8])
}

/// Has the members of an event by name; nil: the member is missing, null or not known.
public protocol EventMembers {
    func call(_ name: String) -> Call?
    func user(_ name: String) -> UserID?
    func device(_ name: String) -> DeviceID?
    func text(_ name: String) -> String?
    func flag(_ name: String) -> Bool?
    func integer(_ name: String) -> Int64?
    func end(_ name: String) -> Call.End?
    func changes(_ name: String) -> [CallEvent.Change]?
    func texts(_ name: String) -> [String]?
    func items(_ name: String) -> [Call.Item]?
    /// One JSON value, byte for byte as it was written.
    func json(_ name: String) -> [UInt8]?
}

extension EventMembers {
    /// One word of a closed list; nil also for a word that is not in it.
    func word<Word: RawRepresentable<String>>(_ name: String) -> Word? {
        text(name).flatMap { Word(rawValue: $0) }
    }
}

extension CallEvent.Kind {
    /// The call that it shows.
    @inlinable
    public var call: Call? {
        if case .created(let call) = self { return call }
        if case .incoming(let call, _, _) = self { return call }
        if case .missed(let call, _) = self { return call }
        return nil
    }

    /// Hands its members to `visitor`, in the order of its row. A call is handed to `show`: how
    /// much of it is seen depends on who looks.
    @inlinable
    public func visit<Visitor: EventVisitor & ~Copyable>(
        _ visitor: inout Visitor, show: (StaticString, Call, inout Visitor) -> Void
    ) {
        switch self {
        case .created(let call): show("call", call, &visitor)
        case .incoming(let call, let inviter, let expiresIn):
            show("call", call, &visitor)
            visitor.member("inviter", inviter)
            visitor.member("expires_in_ms", time: expiresIn)
        case .changed(let changes): visitor.member("changes", changes)
        case .timedOut: break
        case .cancelled(let inviter, let text, let reason):
            visitor.member("inviter", inviter)
            visitor.member("extended_data", text: text)
            visitor.member("reason", word: reason.rawValue)
        case .ended(let end, let at, let duration):
            visitor.member("end", end)
            visitor.member("ended_at", at)
            visitor.member("duration_ms", time: duration)
        case .elsewhere(let what, let device):
            visitor.member("what", word: what.rawValue)
            visitor.member("device", device)
        case .failed(let reason): visitor.member("reason", word: reason.rawValue)
        case .missed(let call, let count):
            show("call", call, &visitor)
            visitor.member("missed", count: count)
        case .mediaPhase, .mediaFlags, .hold, .items, .signal: visitInCall(&visitor)
        }
    }

    @inlinable
    func visitInCall(_ visitor: inout some EventVisitor & ~Copyable) {
        switch self {
        case .mediaPhase(let media): visitor.member("media", word: media.rawValue)
        case .mediaFlags(let user, let audio, let video):
            visitor.member("user", user)
            visitor.member("audio", audio)
            visitor.member("video", video)
        case .hold(let user, let on):
            visitor.member("user", user)
            visitor.member("on", on)
        case .items(let keys, let deleted, let items):
            visitor.member("keys", keys)
            visitor.member("deleted", deleted)
            visitor.member("items", items)
        case .signal(let from, let data):
            visitor.member("from", from)
            visitor.member("data", json: data)
        case .created, .incoming, .changed, .timedOut, .cancelled, .ended, .elsewhere, .failed,
            .missed:
            break
        }
    }
}
