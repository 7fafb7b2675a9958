// An event of the protocol, described once.

/// All that is said of one event. Encoding and decoding, the documents and the notation of
/// scenarios are made of it; `CallEvent.Kind.visit` hands over what the event has, and in which
/// order.
public struct EventDescriptor: Sendable {
    /// The name on the wire.
    public let name: EventName
    /// One line for people.
    public let summary: String
    /// What its data has beside `inEvery`.
    public let members: [DataMember]
    /// How scenarios say it: `{member}` stands for a member's value, and what is in brackets is
    /// left out where the member in it has no value.
    public let words: String
    /// Makes the event of its members; nil: one is missing or not known.
    public let make: @Sendable (any EventMembers) -> CallEvent.Kind?

    init(
        _ name: EventName, _ summary: String, _ members: [DataMember] = [], words: String,
        make: @escaping @Sendable (any EventMembers) -> CallEvent.Kind?
    ) {
        self.name = name
        self.summary = summary
        self.members = members
        self.words = words
        self.make = make
    }

    /// What the data of every event has.
    public static let inEvery: [DataMember] = [
        .callID, DataMember("revision", .integer(1)), DataMember("at", .time),
        DataMember("actor", .named("Actor")),
    ]

    /// Every event, in the order of the names.
    public static let all = ofInvitations + ofCalls

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The event `name`.
    public static func of(_ name: EventName) -> EventDescriptor {
        guard let found = byName[name] else { preconditionFailure("\(name) is not described") }
        return found
    }
}
