// An operation of the protocol, described once.

/// All that is said of one operation. Decoding, encoding, routes, documents, the notation of
/// scenarios, random actions and the clients' checks are made of it.
public final class OperationDescriptor: Sendable {
    /// The name on the wire.
    public let name: OperationName
    /// The name on the wire again, in the form that is compared in place.
    public let text: StaticString
    /// One line for people.
    public let summary: String
    /// The members that its data must have.
    public let required: FieldSet
    /// The members that its data may have too.
    public let optional: FieldSet
    /// All of these, the required ones first.
    public let fields: [Field]
    /// What the `ok` of its reply has.
    public let reply: [DataMember]
    /// Whether HTTP has it too; else only a session has.
    public let isPosted: Bool
    /// Whether it changes nothing: an idempotency key has no meaning for it (B25).
    public let isReading: Bool
    /// The parameter of a mode that allows it; empty: all modes have it.
    public let needs: Mode.Features
    /// Who may ask for it and when, for people.
    public let rule: String
    /// How scenarios say it. A field that must be there stands as its value, any other as a clause
    /// that may be left out; `{on=true}` is what the phrase means without saying it.
    public let phrases: [String]
    /// Makes the operation of the fields that were given; nil: the session does it by itself.
    public let make: Making
    /// Gives the fields except `call_id` and `extended_data`. What equals the protocol's default is
    /// left out.
    public let give: Giving

    /// It may take values out instead of copying them: nobody looks at them afterwards.
    public typealias Making = @Sendable (inout FieldValues) -> Operation?
    /// Puts an operation into fields.
    public typealias Giving = @Sendable (Operation, inout FieldValues) -> Void
    /// Members that must be there, and those that may.
    typealias Fields = (required: FieldSet, optional: FieldSet)

    init(
        _ name: OperationName, _ text: StaticString, _ summary: String, _ fields: Fields,
        reply: [DataMember] = [], traits: Traits = [], phrases: [String] = [],
        needs: Mode.Features = [], rule: String = "",
        make: @escaping Making = { _ in nil }, give: @escaping Giving = { _, _ in }
    ) {
        self.name = name
        self.text = text
        self.summary = summary
        (required, optional) = fields
        self.fields = required.fields + optional.fields
        self.reply = reply
        isPosted = !traits.contains(.ofSession)
        isReading = traits.contains(.reads)
        self.phrases = phrases
        self.needs = needs
        self.rule = rule
        self.make = make
        self.give = give
    }

    /// An operation on a call that there is.
    convenience init(
        onCall name: OperationName, _ text: StaticString, _ summary: String,
        _ fields: Fields = ([], []), reply: [DataMember] = [], traits: Traits = [],
        phrases: [String], needs: Mode.Features = [], rule: String,
        make: @escaping @Sendable (borrowing FieldValues) -> CallAction,
        give: @escaping @Sendable (CallAction, inout FieldValues) -> Void = { _, _ in }
    ) {
        var fields = fields
        fields.required.insert(.callID)
        self.init(
            name, text, summary, fields, reply: reply, traits: traits, phrases: phrases,
            needs: needs, rule: rule,
            make: { .call($0.callID, make($0), saying: $0.extendedData) },
            give: { operation, values in
                if case .call(_, let action, _) = operation { give(action, &values) }
            })
    }

    /// What few operations are.
    struct Traits: OptionSet {
        let rawValue: UInt8
        /// Changes nothing.
        static let reads = Traits(rawValue: 1)
        /// Only a session has it, HTTP has not.
        static let ofSession = Traits(rawValue: 2)
    }

    /// Whether the data may have `field`.
    public func has(_ field: Field) -> Bool {
        required.contains(field) || optional.contains(field)
    }

    /// Every operation, the frequent ones first.
    public static let all = ringing + inCall + asking + session + people

    /// In the order of the names.
    private static let byName = OperationName.allCases.enumerated().map {
        (place, name) -> OperationDescriptor in
        guard place == name.casePlace, let found = all.first(where: { $0.name == name }) else {
            preconditionFailure("\(name) is not described, or has another place")
        }
        return found
    }

    /// The operation `name`.
    public static func of(_ name: OperationName) -> OperationDescriptor { byName[name.casePlace] }
}

extension Operation {
    /// What is said of it.
    public var descriptor: OperationDescriptor { .of(name) }

    /// The fields of the request that asks for it.
    public var values: FieldValues {
        var values = FieldValues()
        if case .call(let id, _, _) = self { values.give(.callID, id, \.callID) }
        descriptor.give(self, &values)
        values.give(.extendedData, extendedData, \.extendedData)
        return values
    }

    /// Whether an idempotency key has no meaning for it (B25).
    public var isReading: Bool { descriptor.isReading }
}
