// What answers and events hold, said without a format.

/// What a member of an answer or an event may be.
public indirect enum ValueType: Sendable {
    /// A call's id.
    case callID
    /// The name of a user or a device.
    case name
    case text, flag
    /// Any JSON value.
    case json
    /// A JSON object whose members a plugin chose.
    case object
    /// An integer of at least so much.
    case integer(Int64)
    /// One word of a closed list.
    case words([String])
    /// A type that has a name of its own in the documents: `Call`, `End`.
    case named(String)
    case list(ValueType)
    /// Values by names that are not known beforehand.
    case map(ValueType)
    /// The same, or null.
    case orNull(ValueType)

    /// One word of `Words`.
    public static func word<Words: RawRepresentable<String> & CaseIterable>(
        _: Words.Type
    ) -> ValueType { .words(Words.allCases.map(\.rawValue)) }

    /// A moment or a length of time in milliseconds.
    public static let time = ValueType.integer(0)
    /// A call as clients see it.
    public static let call = ValueType.named("Call")
}

/// A member of an answer or of an event.
public struct DataMember: Sendable {
    /// The name on the wire.
    public let name: String
    /// What its value is.
    public let type: ValueType
    /// What it is for, where the name does not tell.
    public let about: String
    /// Whether it may be absent.
    public let isOptional: Bool

    /// A member `name` of `type`.
    public init(
        _ name: String, _ type: ValueType, _ about: String = "", optional: Bool = false
    ) {
        self.name = name
        self.type = type
        self.about = about
        isOptional = optional
    }

    static let callID = DataMember("call_id", .callID)
    static let call = DataMember("call", .call)
    /// What whoever writes the event adds to it: the core knows no names.
    static let nameOfInviter = DataMember(
        "inviter_name", .orNull(.text), "what the inviter is called")
    static let errors = DataMember("errors", .list(.named("InviteeError")))
}
