// JSON: reader, tree, writer and canonical form agree about any text.

import JSON

extension Fuzzer {
    static let json = Fuzzer(
        name: "json", property: "reader and tree agree, and what is accepted survives a round trip"
    ) { (random) throws(FuzzFailure) in try agree(&random) { $0 } }

    static let jsonCanary = Fuzzer(
        name: "json-canary", property: "finds a tree that passes over commas", mustFail: true
    ) { (random) throws(FuzzFailure) in
        try agree(&random) { text in text.filter { $0 != UInt8(ascii: ",") } }
    }

    /// Judges a text by the reader, and as `seen` by the tree.
    private static func agree(
        _ random: inout FuzzGenerator, _ seen: ([UInt8]) -> [UInt8]
    ) throws(FuzzFailure) {
        let document = JSONDocuments.value(&random, depth: random.pick(0...6))
        let text = random.damage(Array(document.utf8), dictionary: JSONDocuments.words)
        let cut = Array(text.prefix(random.pick(0...text.count)))
        for text in [text, cut] {
            let skipped = judge(text) { (input) throws(JSONError) in try JSONReader.check(input) }
            let read = judge(seen(text)) { (input) throws(JSONError) in
                try JSONValue(parsing: input)
            }
            switch (skipped, read) {
            case (.success, .success(let value)): try checkRoundTrip(value, text)
            case (.success, .failure(let error)):
                try expect(error.reason == .numberOutOfRange, "only the tree says: \(error)", text)
            case (.failure(let error), .failure(let treeError)):
                let isRange = treeError.reason == .numberOutOfRange
                try expect(isRange || error == treeError, "\(error), tree: \(treeError)", text)
                try expect(error.offset <= text.count, "an error beyond the end: \(error)", text)
            case (.failure(let error), .success):
                throw FuzzFailure(what: "only the reader says: \(error)", input: text)
            }
        }
    }

    /// Runs `body` over a copy of `text` that ends where its memory ends, so that a sanitizer sees
    /// any reading beyond it.
    private static func judge<T>(
        _ text: [UInt8], _ body: (UnsafeRawBufferPointer) throws(JSONError) -> T
    ) -> Result<T, JSONError> {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: text)
        return Result { () throws(JSONError) in try body(UnsafeRawBufferPointer(memory)) }
    }

    private static func checkRoundTrip(_ value: JSONValue, _ text: [UInt8]) throws(FuzzFailure) {
        let bytes = value.bytes
        let again = judge(bytes) { (input) throws(JSONError) in try JSONValue(parsing: input) }
        guard case .success(let copy) = again else {
            throw FuzzFailure(what: "what was written is refused: \(again)", input: text)
        }
        try expect(copy == value, "another value after a round trip", text)
        try expect(copy.bytes == bytes, "other bytes after a round trip", text)
        let canonical = try canonicalBytes(of: text)
        // The tree has each name once: which one counts must be the same without a tree.
        try expect(canonical == canonicalBytes(of: bytes), "the tree is spelled differently", text)
        try expect(
            canonical == canonicalBytes(of: canonical), "canonical bytes are not canonical", text)
    }

    private static func canonicalBytes(of text: [UInt8]) throws(FuzzFailure) -> [UInt8] {
        let read = judge(text) { (input) throws(JSONError) in
            try JSONCanonical.bytes(parsing: input)
        }
        switch read {
        case .success(let bytes): return bytes
        case .failure(let error):
            throw FuzzFailure(what: "no canonical bytes: \(error)", input: text)
        }
    }
}

private enum JSONDocuments {
    static let words = [
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud834\\udd1e", "\\ud834", "null",
        "true",
        "false", "-", "0", ".", "e", "1e400", "-0", "9223372036854775808", " ", "\n", "\u{FEFF}",
        "é", "𝄞", "\u{1}", "{\"a\":", "[[[[", "\"\\\"", "0.1e-5",
    ]

    static func value(_ random: inout FuzzGenerator, depth: Int) -> String {
        let space = random.pick(["", "", "", " ", "\n\t"])
        switch random.pick(0...(depth > 0 ? 7 : 5)) {
        case 0: return space + random.pick(["null", "true", "false"])
        case 1: return space + String(Int64(bitPattern: random.next()) >> random.pick(0...63))
        case 2: return space + number(&random)
        case 3, 4, 5: return space + string(&random)
        case 6:
            let elements = (0..<random.pick(0...5)).map { _ in value(&random, depth: depth - 1) }
            return space + "[" + elements.joined(separator: ",") + space + "]"
        default:
            let members = (0..<random.pick(0...20)).map { _ in
                string(&random) + space + ":" + value(&random, depth: depth - 1)
            }
            return space + "{" + members.joined(separator: ",") + space + "}"
        }
    }

    private static func number(_ random: inout FuzzGenerator) -> String {
        let value = Double(bitPattern: random.next())
        guard value.isFinite else { return "0.5E+10" }
        return value.description
    }

    private static func string(_ random: inout FuzzGenerator) -> String {
        let parts = [
            "a", "id", "k", "é", "€", "𝄞", "\\n", "\\\"", "\\\\", "\\/", "\\u00e9",
            "\\ud834\\udd1e",
            "\\u0000", "\u{7F}", "12345678", "\u{301}",
        ]
        return "\"" + (0..<random.pick(0...6)).map { _ in random.pick(parts) }.joined() + "\""
    }
}
