// Packed entries of a journal, written and read.

import CallModel
import JSON

/// Writes entries as bytes, one behind the other: the length of the rest in two bytes, five bytes
/// of time, one of the kind, and the fields.
struct JournalPen: ~Copyable {
    private static let head = 8
    /// The bytes that there are for one text.
    private static let textRoom = 255
    /// What a number may take.
    private static let numberRoom = 10

    private var buffer: TextBuffer
    /// Where the entry begins that was begun last.
    private(set) var start = 0
    private var kind = JournalKind.note

    /// No entries yet, and room for so many bytes of them.
    init(capacity: Int) { buffer = TextBuffer(capacity: capacity) }

    /// Goes on behind `entries`.
    init(after entries: [UInt8], capacity: Int) {
        buffer = TextBuffer(capacity: max(entries.count, capacity))
        entries.withUnsafeBytes { bytes in
            if let first = bytes.baseAddress {
                copy(first, bytes.count, to: buffer.reserve(bytes.count))
                buffer.commit(bytes.count)
            }
        }
    }

    /// All entries; valid until the next change.
    var bytes: UnsafeRawBufferPointer { buffer.bytes }

    /// Begins the next entry.
    mutating func begin(_ kind: JournalKind) {
        (start, self.kind) = (buffer.bytes.count, kind)
        _ = buffer.reserve(Self.head)
        buffer.commit(Self.head)
    }

    /// Ends the entry: its fields are there, so its length is known.
    mutating func end(after time: UInt64) {
        // Two bytes are enough for `Settings.participantsMax` names, and for every other entry.
        let size = UInt64(UInt16(truncatingIfNeeded: buffer.bytes.count - start - 2))
        // Five bytes are enough for a call of 397 days; then the time stands still.
        let time = min(time, 1 << 35 - 1)
        let head = size | time << 16 | UInt64(kind.rawValue) << 56
        UnsafeMutableRawPointer(buffer.start + start).storeBytes(
            of: head.littleEndian, as: UInt64.self)
    }

    mutating func put(_ byte: UInt8) {
        buffer.reserve(1).pointee = byte
        buffer.commit(1)
    }

    /// A number of seven bits a byte, the lower ones first.
    mutating func put(number: UInt64) {
        let start = buffer.reserve(Self.numberRoom)
        var (rest, place) = (number, 0)
        while rest >= 0x80 {
            start[place] = UInt8(truncatingIfNeeded: rest) | 0x80
            rest >>= 7
            place += 1
        }
        start[place] = UInt8(rest)
        buffer.commit(place + 1)
    }

    /// A text of at most 255 bytes; of a longer one its beginning.
    mutating func put(_ text: String) {
        text.withBytes { put(utf8: $0) }
    }

    @inline(__always)
    private mutating func put(utf8: UnsafeBufferPointer<UInt8>) {
        let size = min(utf8.count, Self.textRoom)
        let start = buffer.reserve(size + 1)
        start.pointee = UInt8(size)
        if let text = utf8.baseAddress { copy(text, size, to: start + 1) }
        buffer.commit(size + 1)
    }

    /// A word of our own.
    mutating func put(word: StaticString) {
        let size = word.utf8CodeUnitCount
        let start = buffer.reserve(size + 1)
        start.pointee = UInt8(truncatingIfNeeded: size)
        copy(word.utf8Start, size, to: start + 1)
        buffer.commit(size + 1)
    }

    /// A trace, as the last field of an entry; without one there is no such field.
    mutating func put(_ trace: TraceParent?) {
        if let trace { put(trace.description) }
    }

    /// A text or none; an empty text counts as none.
    mutating func put(optional text: String?) {
        if let text { put(text) } else { put(0) }
    }
}

/// Reads the fields of one entry.
struct JournalFields {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// The next byte; 0 where there is none: what is damaged is shown as far as it goes.
    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func number() -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while let byte = rest.popFirst(), shift < 64 {
            value |= UInt64(byte & 0x7F) << shift
            guard byte & 0x80 != 0 else { break }
            shift += 7
        }
        return value
    }

    mutating func text() -> String {
        let count = min(Int(byte()), rest.count)
        defer { rest = rest.dropFirst(count) }
        return String(decoding: rest.prefix(count), as: UTF8.self)
    }

    mutating func optionalText() -> String? {
        let text = text()
        return text.isEmpty ? nil : text
    }
}

/// What an entry tells of.
enum JournalKind: UInt8, CaseIterable {
    case request = 1
    case change, told, acknowledged, connected, disconnected, asked, answered, timer, push, webhook
    case media, note

    /// Its name outside.
    var name: String { "\(self)" }
}
