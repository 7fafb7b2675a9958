// Reads JSON, and names the field that is not as it should be.

import CallModel
import JSON

/// A reader whose every failure is a `bad_request` with the path of the field (D49).
///
/// What it refuses is a value of another type, size or range than the protocol asks for; paths are
/// built only then. Of a text that is no JSON it says so too, but not where: whoever reads one that
/// was not checked yet reads it again when it was.
struct FormReader {
    /// Where it stands.
    private(set) var reader: JSONReader

    init(_ text: UnsafeRawBufferPointer) { reader = JSONReader(text) }

    /// Goes on where `reader` stands.
    init(_ reader: JSONReader) { self.reader = reader }

    // MARK: Structure

    /// Enters an object; `nextKey` follows.
    mutating func beginObject(_ path: @autoclosure () -> String) throws(Refusal) {
        do { try reader.beginObject() } catch { throw .badField(path(), error) }
    }

    /// The next member name of the object entered last.
    mutating func nextKey() throws(Refusal) -> JSONText? {
        do { return try reader.nextKey() } catch { throw .badField("data", error) }
    }

    /// Enters an array; `nextElement` follows.
    mutating func beginArray(_ path: @autoclosure () -> String) throws(Refusal) {
        do { try reader.beginArray() } catch { throw .badField(path(), error) }
    }

    /// Whether another element follows in the array entered last.
    mutating func nextElement() throws(Refusal) -> Bool {
        do { return try reader.nextElement() } catch { throw .badField("data", error) }
    }

    /// Passes over a value.
    mutating func skip() throws(Refusal) {
        do { try reader.skip() } catch { throw .badField("data", error) }
    }

    /// Reads `null` if that is the next value: an optional member that is null is absent.
    mutating func isNull() throws(Refusal) -> Bool {
        do { return try reader.readNullIfPresent() } catch { throw .badField("data", error) }
    }

    /// The bytes of the next value as they stand.
    mutating func raw(_ path: @autoclosure () -> String) throws(Refusal) -> UnsafeRawBufferPointer {
        do { return try reader.readRaw() } catch { throw .badField(path(), error) }
    }

    /// The type of the next value.
    mutating func kind(_ path: @autoclosure () -> String) throws(Refusal) -> JSONKind {
        do { return try reader.peek() } catch { throw .badField(path(), error) }
    }

    // MARK: Scalars

    /// A string where it stands.
    mutating func text(_ path: @autoclosure () -> String) throws(Refusal) -> JSONText {
        do { return try reader.readText() } catch { throw .badField(path(), error) }
    }

    /// A string of `sizes` UTF-8 bytes.
    mutating func string(
        _ path: @autoclosure () -> String, bytes sizes: ClosedRange<Int>
    ) throws(Refusal) -> String {
        let text = try text(path())
        guard text.hasSize(in: sizes) else {
            throw .badField(path(), "must have \(sizes.lowerBound)-\(sizes.upperBound) bytes")
        }
        return text.string
    }

    /// `true` or `false`.
    mutating func flag(_ path: @autoclosure () -> String) throws(Refusal) -> Bool {
        do { return try reader.readBool() } catch { throw .badField(path(), error) }
    }

    /// An integer.
    mutating func integer(_ path: @autoclosure () -> String) throws(Refusal) -> Int64 {
        do { return try reader.readInteger() } catch { throw .badField(path(), error) }
    }

    /// One word of a closed list.
    mutating func word<Word: RawRepresentable<String> & CaseIterable>(
        _ path: @autoclosure () -> String, _: Word.Type
    ) throws(Refusal) -> Word {
        if let word = Word(rawValue: try text(path()).string) { return word }
        let words = Word.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        throw .badField(path(), "must be one of \(words)")
    }

    // MARK: Identifiers

    /// A user id.
    mutating func user(_ path: @autoclosure () -> String) throws(Refusal) -> UserID {
        if let user = UserID(checking: try text(path()).string) { return user }
        throw .badField(path(), Self.identifierRule)
    }

    /// A device id.
    mutating func device(_ path: @autoclosure () -> String) throws(Refusal) -> DeviceID {
        if let device = DeviceID(checking: try text(path()).string) { return device }
        throw .badField(path(), Self.identifierRule)
    }

    /// A call id.
    mutating func callID(_ path: @autoclosure () -> String) throws(Refusal) -> CallID {
        if let id = CallID(hex: try text(path())) { return id }
        throw .badField(path(), "must be 32 lower-case hex digits")
    }

    private static let identifierRule = "must be 1-64 bytes of printable ASCII without space"
}

extension JSONText {
    /// Whether the text has at most `count` UTF-8 bytes. Escapes only make the raw text longer, so
    /// they are resolved only when it is too long.
    func isWithin(_ count: Int) -> Bool { raw.count <= count || utf8Count <= count }

    /// Whether the number of UTF-8 bytes is one of `sizes`.
    func hasSize(in sizes: ClosedRange<Int>) -> Bool {
        guard hasEscapes, raw.count > sizes.upperBound || sizes.lowerBound > 1 else {
            return raw.count >= sizes.lowerBound && raw.count <= sizes.upperBound
        }
        return sizes.contains(utf8Count)
    }
}

extension CallID {
    /// The id written as 32 lower-case hex digits, read without making a `String` of them.
    init?(hex text: JSONText) {
        guard text.raw.count == 32, !text.hasEscapes else { return nil }
        let text = text.raw
        var halves: (UInt64, UInt64) = (0, 0)
        for index in 0..<16 {
            guard let first = Self.digit(text[index]), let second = Self.digit(text[index + 16])
            else { return nil }
            halves.0 = halves.0 << 4 | first
            halves.1 = halves.1 << 4 | second
        }
        self.init(high: halves.0, low: halves.1)
    }

    private static func digit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case 0x30...0x39: UInt64(byte &- 0x30)
        case 0x61...0x66: UInt64(byte &- 0x57)
        default: nil
        }
    }
}

extension Refusal {
    /// The field at `path` is not as the protocol says, because it `rule`.
    static func badField(_ path: String, _ rule: String) -> Refusal {
        Refusal(.badRequest, "\(path) \(rule)", detail: .field(path))
    }

    /// The field at `path` is not of the type that was read.
    static func badField(_ path: String, _ error: JSONError) -> Refusal {
        Refusal(.badRequest, "\(path): \(error.reason)", detail: .field(path))
    }

    /// The field at `path` has more than `bytes` bytes (D49).
    static func tooLarge(_ path: String, bytes: Int) -> Refusal {
        Refusal(.tooLarge, "\(path) has more than \(bytes) bytes", detail: .field(path))
    }
}
