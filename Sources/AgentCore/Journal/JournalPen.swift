// Packed entries of a journal, written and read.

import CallModel
import JSON

/// Writes one entry as bytes: the length of the rest in two bytes, five bytes of time, and the
/// fields. An entry is written here at once and then copied in one piece. Each input writes some,
/// so the room is there beforehand.
final class JournalPen {
    private static let head = 7
    /// What one text may take: its length and its bytes.
    private static let textRoom = 256
    /// What a number may take.
    private static let numberRoom = 10

    private var buffer = TextBuffer(capacity: 1_024)

    /// The entry as it is so far; valid until the next change.
    var bytes: UnsafeRawBufferPointer { buffer.bytes }

    /// Begins the next entry and keeps the memory.
    func begin(_ kind: JournalKind) {
        buffer.cut(to: 0)
        _ = buffer.reserve(Self.head)
        buffer.commit(Self.head)
        put(kind.rawValue)
    }

    /// Ends the entry: its fields are there, so its length is known.
    func end(after time: UInt64) {
        let (room, size) = (buffer.start, buffer.bytes.count - 2)
        // Five bytes are enough for a call of 397 days; then the time stands still.
        let time = min(time, 1 << 35 - 1)
        room[0] = UInt8(truncatingIfNeeded: size)
        room[1] = UInt8(truncatingIfNeeded: size >> 8)
        for place in 0..<5 {
            room[2 + place] = UInt8(truncatingIfNeeded: time >> UInt64(8 * place))
        }
    }

    func put(_ byte: UInt8) {
        buffer.reserve(1).pointee = byte
        buffer.commit(1)
    }

    /// A number of seven bits a byte, the lower ones first.
    func put(number: UInt64) {
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
    func put(_ text: consuming String) {
        // Texts of this platform are contiguous UTF-8, so nothing is copied here.
        text.withUTF8 { utf8 in
            let size = min(utf8.count, Self.textRoom - 1)
            let start = buffer.reserve(Self.textRoom)
            start.pointee = UInt8(size)
            if let text = utf8.baseAddress { (start + 1).update(from: text, count: size) }
            buffer.commit(size + 1)
        }
    }

    /// A trace, as the last field of an entry; without one there is no such field.
    func put(_ trace: TraceParent?) {
        if let trace { put(trace.description) }
    }

    /// A text or none; an empty text counts as none.
    func put(optional text: String?) {
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
