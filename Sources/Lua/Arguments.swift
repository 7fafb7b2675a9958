// What a script gives to a function of its host, and why that is refused.

import JSON

/// Why a host function was not carried out: raised in Lua at the caller's line, or trouble where
/// the function says so (`CALLUA_GIVES_TROUBLE`) and no type is wrong.
public struct Refused: Error {
    /// What the script is told.
    public let message: String
    /// Whether the script gave something that it can never give.
    public var isWrongType = false

    /// A refusal with this message.
    public init(_ message: String, isWrongType: Bool = false) {
        self.message = message
        self.isWrongType = isWrongType
    }
}

/// The arguments of a host function.
public struct Arguments: Sendable {
    /// As they were given.
    public let values: [LuaValue]
    /// The name of the function, for messages.
    public let name: String

    /// `values`, given to the function `name`.
    public init(values: [LuaValue], name: String) {
        self.values = values
        self.name = name
    }

    /// The argument at `index`, from 0; null where none was given.
    @inlinable
    public subscript(index: Int) -> LuaValue { index < values.count ? values[index] : .null }
    /// How many were given.
    @inlinable public var count: Int { values.count }

    /// A string.
    ///
    /// - Throws: a message that names the argument and what was given, as the others do.
    public func text(_ index: Int) throws(Refused) -> String {
        if let text = self[index].text { return text }
        throw wrong(index, "string")
    }

    /// A whole number.
    public func integer(_ index: Int) throws(Refused) -> Int64 {
        if let integer = self[index].integer { return integer }
        throw wrong(index, "integer")
    }

    /// The reference of a function.
    public func function(_ index: Int) throws(Refused) -> Int32 {
        if let function = self[index].function { return function }
        throw wrong(index, "function")
    }

    /// A table, or a list.
    public func table(_ index: Int) throws(Refused) -> LuaValue {
        switch self[index] {
        case .table, .list: return self[index]
        default: throw wrong(index, "table")
        }
    }

    /// A duration as text (`"3s"`).
    public func duration(_ index: Int) throws(Refused) -> Int64 {
        guard let text = self[index].text else {
            throw wrong(index, "duration such as \"3s\"")
        }
        guard let span = Duration.parse(text) else {
            throw Refused("bad duration '\(text)' (write \"250ms\", \"3s\", \"10m\", \"2h\")")
        }
        return span
    }

    /// Plain data.
    public func json(_ index: Int) throws(Refused) -> JSONValue {
        do throws(LuaProblem) {
            return try self[index].json()
        } catch {
            throw Refused("bad argument #\(index + 1) to '\(name)' (\(error.message))")
        }
    }

    /// The bytes of a string, whatever they are.
    public func bytes(_ index: Int) throws(Refused) -> [UInt8] {
        switch self[index] {
        case .text(let text): return Array(text.utf8)
        case .bytes(let bytes): return bytes
        default: throw wrong(index, "string")
        }
    }

    /// The refusal of an argument that is not what was expected.
    public func wrong(_ index: Int, _ expected: String) -> Refused {
        if case .bytes = self[index] {
            return Refused("bad argument #\(index + 1) to '\(name)' (a string that is not UTF-8)")
        }
        let given = index < count ? self[index].typeName : "no value"
        // Of numbers those that are none or endless are wrong.
        let wanted = given == expected ? "finite \(expected)" : expected
        return Refused(
            "bad argument #\(index + 1) to '\(name)' (\(wanted) expected, got \(given))",
            isWrongType: true)
    }
}

extension LuaValue {
    /// Refuses a table with other fields than these.
    public func only(_ names: [String], _ step: String) throws(Refused) {
        for pair in table ?? [] where !names.contains(pair.key.shown) {
            throw Refused(
                "\(step): unknown field '\(pair.key.shown)'"
                    + Suggestion.text(for: pair.key.shown, among: names))
        }
    }
}
