// The target of a request: its path, and its query decoded on demand.

/// A request target in origin form (`/v1/call/accept?x=1`), or `*`. The absolute form is reduced to
/// the origin form when it is read, and its host takes the place of `Host` (RFC 9112 section 3.2).
public struct HTTPTarget: Sendable, Equatable {
    /// The path as it was sent, percent encodings included; begins with `/`, or is `*`.
    public let rawPath: String
    /// What follows the `?`; nil without one.
    public let rawQuery: String?

    /// A target from its origin form.
    ///
    /// - Throws: `badTarget` or `badPercentEncoding`.
    public init(_ text: String) throws(HTTPError) {
        guard text.utf8.allSatisfy({ HTTPCharacters.isTarget($0) }) else { throw .badTarget }
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[0].first == "/" || text == "*" else { throw .badTarget }
        rawPath = String(parts[0])
        rawQuery = parts.count > 1 ? String(parts[1]) : nil
        _ = try Self.decode(rawPath)
        if let rawQuery { _ = try Self.decode(rawQuery) }
    }

    /// The query as decoded names and values in order; `+` means a space, a name without `=` has an
    /// empty value.
    public var query: [(name: String, value: String)] {
        (rawQuery ?? "").split(separator: "&").map { item in
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decodeForm(pair[0]), pair.count > 1 ? Self.decodeForm(pair[1]) : "")
        }
    }

    /// The first value of `name` in the query.
    public func query(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    private static func decodeForm(_ text: Substring) -> String {
        let spaced = String(text.map { $0 == "+" ? " " : $0 })
        return (try? decode(spaced)) ?? spaced
    }

    /// A part of a path with its percent encodings resolved; nil: they are wrong.
    public static func decoded(_ text: some StringProtocol) -> String? { try? decode(text) }

    /// `text` with all but letters and digits percent-encoded, for a part of a path or query.
    public static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            let scalar = Unicode.Scalar(byte)
            if scalar.isASCII, Character(scalar).isLetter || Character(scalar).isNumber {
                encoded.unicodeScalars.append(scalar)
            } else {
                encoded +=
                    "%" + (byte < 16 ? "0" : "")
                    + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// `text` with its percent encodings resolved (RFC 3986 section 2.1).
    static func decode(_ text: some StringProtocol) throws(HTTPError) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(HTTPCharacters.hexDigit),
                let low = rest.popFirst().flatMap(HTTPCharacters.hexDigit), high | low != 0
            else { throw .badPercentEncoding }
            bytes.append(high << 4 | low)
        }
        guard bytes.withUnsafeBytes({ UTF8Validator.isValid($0) }) else {
            throw .badPercentEncoding
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension HTTPTarget {
    /// Reads the target of a request line for `method`, and the host in it; nil: it names none.
    static func read(
        _ bytes: some Collection<UInt8>, for method: HTTPMethod
    ) throws(HTTPError) -> (target: HTTPTarget, host: String?) {
        let text = String(decoding: bytes, as: UTF8.self)
        if text == "*" {
            guard method == .options else { throw .badTarget }
            return (try HTTPTarget(text), nil)
        }
        if text.hasPrefix("/") { return (try HTTPTarget(text), nil) }
        let (host, rest) = try parts(ofAbsolute: text)
        return (try HTTPTarget(rest), host)
    }

    private static func parts(
        ofAbsolute text: String
    ) throws(HTTPError) -> (host: String, rest: String) {
        let scheme = text.prefix { $0 != ":" }
        let isKnown = ["http", "https"].contains { HTTPCharacters.equal(scheme, $0) }
        let rest = text.dropFirst(scheme.count)
        guard isKnown, rest.hasPrefix("://") else { throw .badTarget }
        let authority = rest.dropFirst(3).prefix { $0 != "/" && $0 != "?" }
        guard !authority.isEmpty, authority.utf8.allSatisfy({ HTTPCharacters.isHost($0) }) else {
            throw .badTarget
        }
        let path = rest.dropFirst(3 + authority.count)
        return (String(authority), path.hasPrefix("/") ? String(path) : "/" + path)
    }
}
