// The header fields of a message, in order, found whatever their case.

/// Header fields in the order in which they were sent.
public struct HTTPHeaders: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// All fields in order.
    public private(set) var fields: [HTTPHeader] = []

    /// No fields.
    public init() {}

    /// These fields, in this order.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { HTTPHeader($0.0, $0.1) }
    }

    /// Adds a field at the end.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(HTTPHeader(name, value))
    }

    /// Adds all fields of `others` at the end.
    public mutating func append(_ others: HTTPHeaders) { fields += others.fields }

    /// Puts one field in the place of all fields `name`.
    mutating func replace(_ name: String, with value: String) {
        fields.removeAll { HTTPCharacters.equal($0.name, name) }
        append(name, value)
    }

    /// The value of the first field `name`, whatever its case.
    public subscript(name: String) -> String? {
        fields.first { HTTPCharacters.equal($0.name, name) }?.value
    }

    /// The values of all fields `name`.
    public func all(_ name: String) -> [String] {
        fields.filter { HTTPCharacters.equal($0.name, name) }.map(\.value)
    }

    /// The elements of the comma-separated lists of all fields `name`, empty ones left out (RFC
    /// 9110 section 5.6.1).
    public func elements(_ name: String) -> [String] {
        all(name).flatMap { value in
            value.split(separator: ",").map { HTTPCharacters.trim($0) }
                .filter { !$0.isEmpty }.map { String($0) }
        }
    }

    /// Whether `element` is in the lists of the fields `name`, whatever its case.
    public func list(_ name: String, contains element: String) -> Bool {
        elements(name).contains { HTTPCharacters.equal($0, element) }
    }

    /// Whether the client already has what `tag` names, by `If-None-Match` (RFC 9110 section
    /// 13.1.2). A proxy that compresses makes a tag weak on its way (`W/"…"`): it counts like the
    /// strong one.
    public func hasAlready(tag: String) -> Bool { Self.tags(elements("If-None-Match"), name: tag) }

    /// Whether the elements of an `If-None-Match` name `tag`.
    public static func tags(_ tags: [String], name tag: String) -> Bool {
        tags.contains { $0 == "*" || ($0.hasPrefix("W/") ? $0.dropFirst(2) : $0[...]) == tag }
    }
}

extension HTTPHeaders {
    /// Reads the header line `line` (without its CR LF) and adds it.
    mutating func append(line: UnsafeRawBufferPointer) throws(HTTPError) {
        guard line[0] != 0x20, line[0] != 0x09 else { throw .foldedHeader }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            HTTPCharacters.isToken(line[..<colon])
        else { throw .badHeaderName }
        let name = String(decoding: line[..<colon], as: UTF8.self)
        let bytes = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...])
        guard bytes.allSatisfy({ HTTPCharacters.isValue($0) }), UTF8Validator.isValid(bytes) else {
            throw .badHeaderValue(name: name)
        }
        let value = HTTPCharacters.trim(Substring(decoding: bytes, as: UTF8.self))
        append(name, String(value))
    }

    /// Writes the fields. A control character in a value becomes a space, so that no value from
    /// outside can begin another field.
    func write(to output: inout [UInt8]) {
        for field in fields {
            assert(HTTPCharacters.isToken(field.name.utf8), "a header name must be a token")
            output.append(contentsOf: field.name.utf8)
            output.append(contentsOf: ": ".utf8)
            output.append(
                contentsOf: field.value.utf8.map { HTTPCharacters.isValue($0) ? $0 : 0x20 })
            output.append(contentsOf: "\r\n".utf8)
        }
    }
}
