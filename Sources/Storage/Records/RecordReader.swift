// Reads a stored JSON record and remembers where it is, so that damage can be named.

import CallModel
import JSON

/// Why a stored record cannot be read, and at which member.
package struct RecordDamage: Error, Equatable {
    /// The member as a path, such as `users.bob.state`; empty: the record as a whole.
    package let field: String
    /// What is wrong with it.
    package let problem: String
}

/// A reader of records. `members` walks over an object; the other methods read the value of the
/// member that it stands at.
struct RecordReader {
    private var json: JSONReader
    private var path: [JSONText] = []

    init(_ bytes: UnsafeRawBufferPointer) { json = JSONReader(bytes) }

    /// Damage at the member that the reader stands at, or at `member` of it.
    func damage(_ problem: String, at member: String? = nil) -> RecordDamage {
        var names = path.map(\.string)
        if let member { names.append(member) }
        return RecordDamage(field: names.joined(separator: "."), problem: problem)
    }

    /// Reads an object; `body` gets each name and tells whether it read the value.
    mutating func members(
        _ body: (inout RecordReader, JSONText) throws(RecordDamage) -> Bool
    ) throws(RecordDamage) {
        try located { (json) throws(JSONError) in try json.beginObject() }
        while let name = try located({ (json) throws(JSONError) in try json.nextKey() }) {
            path.append(name)
            let isRead = try body(&self, name)
            if !isRead {
                try located { (json) throws(JSONError) in try json.skip() }
            }
            path.removeLast()
        }
    }

    /// Reads an array of objects; `body` must read each.
    mutating func elements(
        _ body: (inout RecordReader) throws(RecordDamage) -> Void
    ) throws(RecordDamage) {
        try located { (json) throws(JSONError) in try json.beginArray() }
        while try located({ (json) throws(JSONError) in try json.nextElement() }) {
            try body(&self)
        }
    }

    /// Checks that nothing follows the record.
    mutating func end() throws(RecordDamage) {
        try located { (json) throws(JSONError) in try json.expectEnd() }
    }

    mutating func text() throws(RecordDamage) -> String {
        try located { (json) throws(JSONError) in try json.readString() }
    }

    mutating func flag() throws(RecordDamage) -> Bool {
        try located { (json) throws(JSONError) in try json.readBool() }
    }

    mutating func integer() throws(RecordDamage) -> Int64 {
        try located { (json) throws(JSONError) in try json.readInteger() }
    }

    mutating func moment() throws(RecordDamage) -> Moment { Moment(try time()) }

    /// Milliseconds, since 1970 or as a length: small enough that sums do not overflow.
    mutating func time() throws(RecordDamage) -> Milliseconds {
        let value = try integer()
        guard (0..<1 << 53).contains(value) else { throw damage("\(value) is out of range") }
        return value
    }

    mutating func integer<Number: FixedWidthInteger>(
        as type: Number.Type
    ) throws(RecordDamage) -> Number {
        let value = try integer()
        guard let number = Number(exactly: value) else {
            throw damage("\(value) is out of range")
        }
        return number
    }

    /// One of the words of `Choice`.
    mutating func word<Choice: RawRepresentable<String>>(
        of type: Choice.Type
    ) throws(RecordDamage) -> Choice {
        let text = try text()
        guard let choice = Choice(rawValue: text) else {
            throw damage("unknown word \"\(text.prefix(40))\"")
        }
        return choice
    }

    private mutating func located<Value>(
        _ body: (inout JSONReader) throws(JSONError) -> Value
    ) throws(RecordDamage) -> Value {
        do {
            return try body(&json)
        } catch {
            throw damage("\(error)")
        }
    }
}
