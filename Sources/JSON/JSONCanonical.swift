// The canonical form of a JSON text, for comparing bodies.

/// One spelling for each JSON value, so that bodies can be compared by a hash of their bytes.
///
/// Members are sorted by the UTF-8 bytes of their names, and of two with one name the last counts;
/// white space and optional escapes are gone, and a number that is an integer within 64 bits is
/// written as one: `1`, `1.0` and `10e-1` are the same, and so are `0` and `-0`.
public enum JSONCanonical {
    /// The canonical bytes of the JSON text `text`.
    public static func bytes(
        parsing text: UnsafeRawBufferPointer, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> [UInt8] {
        guard text.count <= limits.bytes else {
            throw JSONError(.tooLarge(limit: limits.bytes), at: limits.bytes)
        }
        var reader = JSONReader(text, maximumDepth: limits.depth)
        var copy = CanonicalCopy(capacity: text.count)
        try copy.value(from: &reader)
        try reader.expectEnd()
        return copy.bytes
    }
}

/// The canonical text as far as it was read. Most bodies are small and need no sorting: they are
/// copied as they are read, without a tree.
private struct CanonicalCopy: ~Copyable {
    private struct Member {
        let name: JSONText
        /// Where it stands in the copy, from its name to the end of its value.
        var place: Range<Int>
    }

    private var writer: JSONWriter
    /// Of the objects under way, those of the innermost one last.
    private var members: [Member] = []

    init(capacity: Int) { writer = JSONWriter(capacity: capacity) }

    var bytes: [UInt8] { writer.bytes }

    mutating func value(from reader: inout JSONReader) throws(JSONError) {
        writer.startText()
        switch try reader.peek() {
        case .null:
            try reader.readNull()
            writer.null()
        case .bool: writer.value(try reader.readBool())
        case .string: string(try reader.readText())
        case .number: number(try reader.readNumber())
        case .array: try array(from: &reader)
        case .object: try object(from: &reader)
        }
    }

    private mutating func string(_ text: JSONText) {
        writer.startText()
        if text.hasEscapes {
            writer.value(text.string)
        } else {
            writer.append(UInt8(ascii: "\""))
            writer.append(text.raw)
            writer.append(UInt8(ascii: "\""))
        }
    }

    private mutating func number(_ number: JSONNumber) {
        switch number {
        case .integer(let value): writer.value(value)
        case .double(let value):
            if let integer = value.wholeInteger {
                writer.value(integer)
            } else {
                writer.value(value)
            }
        }
    }

    private mutating func array(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginArray()
        writer.append(UInt8(ascii: "["))
        var isFirst = true
        while try reader.nextElement() {
            if !isFirst { writer.append(UInt8(ascii: ",")) }
            isFirst = false
            try value(from: &reader)
        }
        writer.append(UInt8(ascii: "]"))
    }

    private mutating func object(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        writer.append(UInt8(ascii: "{"))
        let (first, start) = (members.count, writer.count)
        var isSorted = true
        while let name = try reader.nextKey() {
            if members.count > first {
                writer.append(UInt8(ascii: ","))
                isSorted = isSorted && members[members.count - 1].name.precedes(name)
            }
            let place = writer.count
            string(name)
            writer.append(UInt8(ascii: ":"))
            try value(from: &reader)
            members.append(Member(name: name, place: place..<writer.count))
        }
        if !isSorted { sort(from: first, at: start) }
        members.removeSubrange(first...)
        writer.append(UInt8(ascii: "}"))
    }

    /// Writes the members from `first` on again, whose text begins at `start`, in their order.
    private mutating func sort(from first: Int, at start: Int) {
        let text = Array(UnsafeRawBufferPointer(rebasing: writer.written[start...]))
        writer.cut(to: start)
        // Escapes are resolved once: thousands of names are compared many times each.
        let names = members[first...].map(\.name.string.utf8)
        let order = names.indices.sorted { a, b in
            names[a].lexicographicallyPrecedes(names[b])
                || (a < b && names[a].elementsEqual(names[b]))
        }
        for (position, index) in order.enumerated() {
            let next = position + 1 < order.count ? names[order[position + 1]] : nil
            if let next, next.elementsEqual(names[index]) { continue }
            if writer.count > start { writer.append(UInt8(ascii: ",")) }
            let place = members[first + index].place
            writer.append(text[place.lowerBound - start..<place.upperBound - start])
        }
    }
}

extension JSONText {
    /// Whether the text stands before `other` in the order of their UTF-8 bytes.
    fileprivate func precedes(_ other: JSONText) -> Bool {
        guard hasEscapes || other.hasEscapes else {
            return raw.lexicographicallyPrecedes(other.raw)
        }
        return string.utf8.lexicographicallyPrecedes(other.string.utf8)
    }
}

extension Double {
    /// The same number as an integer, if it is one within 64 bits. `Int64(exactly:)` would pull in
    /// the C mathematics library in debug builds.
    var wholeInteger: Int64? {
        guard self >= -0x1p63, self < 0x1p63 else { return nil }
        let integer = Int64(self)
        return Double(integer) == self ? integer : nil
    }
}
