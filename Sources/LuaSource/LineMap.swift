// Where the lines of a file begin.

/// Turns places in bytes into lines and columns, and back.
package struct LineMap: Sendable {
    /// A place as editors tell it: line and column from 0, columns in units of UTF-16.
    package struct Spot: Equatable, Comparable, Sendable {
        package let line: Int
        package let column: Int

        package init(line: Int, column: Int) {
            self.line = line
            self.column = column
        }

        package static func < (a: Spot, b: Spot) -> Bool {
            (a.line, a.column) < (b.line, b.column)
        }
    }

    private let bytes: [UInt8]
    private let starts: [Int]

    /// The lines of `bytes`.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var starts = [0]
        bytes.withUnsafeBufferPointer { bytes in
            for place in 0..<bytes.count where bytes[place] == UInt8(ascii: "\n") {
                starts.append(place + 1)
            }
        }
        self.starts = starts
    }

    package var count: Int { starts.count }

    /// The line of a place, from 1.
    package func line(of place: Int) -> Int {
        var (low, high) = (0, starts.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= place { low = middle } else { high = middle }
        }
        return low + 1
    }

    /// The bytes of a line, counted from 1, without its end.
    package func range(ofLine line: Int) -> Range<Int> {
        let line = min(max(line, 1), starts.count)
        let start = starts[line - 1]
        var end = line < starts.count ? starts[line] - 1 : bytes.count
        if end > start, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return start..<end
    }

    /// The same without spaces on either side.
    package func content(ofLine line: Int) -> Range<Int> {
        var range = range(ofLine: line)
        while let first = bytes[range].first, first <= 0x20 {
            range = range.lowerBound + 1..<range.upperBound
        }
        while let last = bytes[range].last, last <= 0x20 {
            range = range.lowerBound..<range.upperBound - 1
        }
        return range
    }

    /// The place as editors tell it.
    package func spot(_ place: Int) -> Spot {
        let place = min(max(place, 0), bytes.count)
        let line = line(of: place)
        let text = bytes[starts[line - 1]..<place]
        let column = text.reduce(0) { $0 + Self.units(of: $1) }
        return Spot(line: line - 1, column: column)
    }

    /// The place of a spot; beyond the end of a line it is that end, as the protocol wants it.
    package func place(_ spot: Spot) -> Int {
        guard spot.line >= 0 else { return 0 }
        guard spot.line < starts.count else { return bytes.count }
        let range = range(ofLine: spot.line + 1)
        var (place, column) = (range.lowerBound, 0)
        while place < range.upperBound, column < spot.column {
            column += Self.units(of: bytes[place])
            place += 1
            while place < range.upperBound, bytes[place] & 0xC0 == 0x80 { place += 1 }
        }
        return place
    }

    /// Units of UTF-16 that begin with this byte of UTF-8.
    private static func units(of byte: UInt8) -> Int {
        byte & 0xC0 == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1
    }
}
