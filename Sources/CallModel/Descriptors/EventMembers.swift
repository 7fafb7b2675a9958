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
    mutating func member(_ name: StaticString, _ offer: CallEvent.TransferOffer)
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
    func transfer(_ name: String) -> CallEvent.TransferOffer?
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
