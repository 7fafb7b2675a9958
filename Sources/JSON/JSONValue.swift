// A small generic tree for JSON whose shape is not known beforehand.

/// Any JSON value.
///
/// Integers stay integers (`1` is `.integer`, `1.0` is `.number`), objects keep the order of their
/// members. Equality is that of the value: the order of members and the spelling of a number do not
/// count, and strings are compared byte for byte (Swift's `==` would take canonically equivalent
/// ones for the same). Two values are equal exactly when their `JSONCanonical` bytes are.
public enum JSONValue: Sendable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number written without fraction and exponent that fits into 64 bits.
    case integer(Int64)
    /// Any other number. Not finite ones are written as `null`.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)
}

extension JSONValue {
    /// The type of the value.
    public var kind: JSONKind {
        switch self {
        case .null: .null
        case .bool: .bool
        case .integer, .number: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }

    /// The member `key` of an object; nil for another value or when it has none.
    public subscript(key: String) -> JSONValue? { object?[key] }

    /// The number under `key`, for calculations: nothing overflows, whatever the other end or a
    /// file says. What is beyond 100,000 years in milliseconds counts as that.
    package func figure(_ key: String) -> Int64? {
        self[key]?.integer.map { min(max($0, -Self.farAway), Self.farAway) }
    }

    private static let farAway: Int64 = 100_000 * 366 * 86_400_000

    /// The element `index` of an array; nil for another value or beyond its end.
    public subscript(index: Int) -> JSONValue? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }

    /// Whether this is `null`.
    public var isNull: Bool { kind == .null }

    /// The boolean, if it is one.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The integer, if it was written as one.
    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }

    /// The number as a `Double`, also of an integer.
    public var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        case .null, .bool, .string, .array, .object: nil
        }
    }

    /// The string, if it is one.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The elements, if it is an array.
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    /// The members, if it is an object.
    public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }
}

extension JSONValue: Equatable {
    /// Whether both are the same JSON value.
    public static func == (a: JSONValue, b: JSONValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.integer(let integer), .number(let number)),
            (.number(let number), .integer(let integer)):
            number.wholeInteger == integer
        case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// `null`
    public init(nilLiteral: ()) { self = .null }
    /// `true` or `false`
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A number that is not an integer.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object; of equal names the last one counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements.map { .init(key: $0.0, value: $0.1) }))
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as JSON text.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    /// The value for a person: a string as it is, anything else as JSON text.
    public var shown: String { string ?? description }
}
