// Messages on a stream of bytes, as editors send them: a head with `Content-Length`, and a body.

/// Cuts a stream into messages, whatever its pieces are.
public struct MessageFrames {
    /// What came in.
    public enum Frame: Equatable, Sendable {
        case message([UInt8])
        /// A message of so many bytes, over the limit; it is left out.
        case tooLarge(Int)
        /// No head of a message: nothing that follows can be understood.
        case broken(String)
    }

    /// Bytes of the longest message that is taken.
    private let limit: Int
    private static let headRoom = 8_192
    private var bytes: [UInt8] = []
    /// Bytes of a message that is left out which are still to come.
    private var skipping = 0
    private var isBroken = false

    /// A stream whose messages have at most `limit` bytes.
    public init(limit: Int) { self.limit = limit }

    /// The head and body of a message.
    public static func frame(_ body: [UInt8]) -> [UInt8] {
        Array("Content-Length: \(body.count)\r\n\r\n".utf8) + body
    }

    /// What is whole after `piece` has come.
    public mutating func take(_ piece: some Collection<UInt8>) -> [Frame] {
        guard !isBroken else { return [] }
        bytes += piece
        var frames: [Frame] = []
        var place = 0
        while !isBroken {
            if skipping > 0 {
                let count = min(skipping, bytes.count - place)
                skipping -= count
                place += count
            }
            guard skipping == 0, let head = head(from: place) else { break }
            guard let length = Self.length(in: bytes[head.range]) else {
                isBroken = true
                frames.append(.broken("a message begins with 'Content-Length: N'"))
                break
            }
            if length > limit {
                frames.append(.tooLarge(length))
                (place, skipping) = (head.end, length)
                continue
            }
            guard bytes.count - head.end >= length else { break }
            frames.append(.message(Array(bytes[head.end..<head.end + length])))
            place = head.end + length
        }
        if !isBroken, bytes.count - place > Self.headRoom, head(from: place) == nil {
            isBroken = true
            frames.append(.broken("the head of a message has over \(Self.headRoom) bytes"))
        }
        bytes.removeFirst(place)
        return frames
    }

    /// The head at `place`, if it has come as a whole: it ends with an empty line.
    private func head(from place: Int) -> (range: Range<Int>, end: Int)? {
        let newline = UInt8(ascii: "\n")
        var start = place
        for index in place..<min(bytes.count, place + Self.headRoom) where bytes[index] == newline {
            let line = bytes[start..<index]
            if line.isEmpty || line.elementsEqual([UInt8(ascii: "\r")]) {
                return (place..<start, index + 1)
            }
            start = index + 1
        }
        return nil
    }

    /// The length that a head tells.
    private static func length(in head: ArraySlice<UInt8>) -> Int? {
        for line in String(decoding: head, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "content-length" else { continue }
            let digits = parts[1].drop { $0 == " " }.prefix { $0 != " " }
            guard digits.utf8.count <= 12, let length = Int(digits), length >= 0 else { return nil }
            return length
        }
        return nil
    }
}
