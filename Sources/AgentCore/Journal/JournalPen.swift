// Packed entries of a journal, written and read.

import CallModel

/// Writes one entry as bytes: the length of the rest in two bytes, five bytes of time, and the
/// fields. An entry is written here at once and then copied in one piece. Each input writes some,
/// so the room is there beforehand.
struct JournalPen {
    private static let head = 7
    /// What one text may take: its length and its bytes.
    private static let textRoom = 256
    /// What a number may take.
    private static let numberRoom = 10

    private var room = [UInt8](repeating: 0, count: 1_024)
    private var count = 0

    /// The entry as it is so far.
    var bytes: ArraySlice<UInt8> { room[..<count] }

    /// Hands over the entry.
    func withBytes(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        room.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[..<count])) }
    }

    /// Begins the next entry and keeps the memory.
    mutating func begin(_ kind: JournalKind) {
        count = Self.head
        put(kind.rawValue)
    }

    /// Ends the entry: its fields are there, so its length is known.
    mutating func end(after time: UInt64) {
        let size = count - 2
        // Five bytes are enough for a call of 397 days; then the time stands still.
        let time = min(time, 1 << 35 - 1)
        room.withUnsafeMutableBufferPointer {
            $0[0] = UInt8(truncatingIfNeeded: size)
            $0[1] = UInt8(truncatingIfNeeded: size >> 8)
            for place in 0..<5 {
                $0[2 + place] = UInt8(truncatingIfNeeded: time >> UInt64(8 * place))
            }
        }
    }

    mutating func put(_ byte: UInt8) {
        write(atMost: 1) {
            $0[0] = byte
            return 1
        }
    }

    /// A number of seven bits a byte, the lower ones first.
    mutating func put(number: UInt64) {
        write(atMost: Self.numberRoom) {
            var (rest, place) = (number, 0)
            while rest >= 0x80 {
                $0[place] = UInt8(truncatingIfNeeded: rest) | 0x80
                rest >>= 7
                place += 1
            }
            $0[place] = UInt8(rest)
            return place + 1
        }
    }

    /// A text of at most 255 bytes; of a longer one its beginning.
    mutating func put(_ text: String) {
        // Texts of this platform are contiguous UTF-8, so nothing is copied here.
        let done: Void? = text.utf8.withContiguousStorageIfAvailable { put($0) }
        if done == nil { Array(text.utf8).withUnsafeBufferPointer { put($0) } }
    }

    private mutating func put(_ utf8: UnsafeBufferPointer<UInt8>) {
        let size = min(utf8.count, Self.textRoom - 1)
        write(atMost: Self.textRoom) {
            $0[0] = UInt8(size)
            if let text = utf8.baseAddress { ($0 + 1).update(from: text, count: size) }
            return size + 1
        }
    }

    /// Writes what `body` does, which returns how many bytes that were: `most` or fewer.
    @inline(__always)
    private mutating func write(atMost most: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
        while count + most > room.count { room += [UInt8](repeating: 0, count: room.count) }
        let begin = count
        count += room.withUnsafeMutableBufferPointer { all in
            all.baseAddress.map { body($0 + begin) } ?? 0
        }
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
