// A fuzzer that must fail: were its planted bug not found, the others would prove nothing.

extension Fuzzer {
    static let canary = Fuzzer(
        name: "canary", property: "finds the planted bug of a line splitter", mustFail: true
    ) { (random) throws(FuzzFailure) in
        let lines = (0..<random.pick(1...4)).map { _ in
            String(repeating: "x", count: random.pick(0...5)) + "\r\n"
        }
        let text = Array(lines.joined().utf8)
        var (whole, split) = (ForgetfulSplitter(), ForgetfulSplitter())
        whole.feed(text)
        for piece in random.cut(text) { split.feed(piece) }
        try expect(whole.lines == split.lines, "other lines when cut", text)
    }
}

/// Counts the bytes of lines that end with CR LF. The bug: it forgets a CR at the end of a piece.
private struct ForgetfulSplitter {
    private(set) var lines: [Int] = []
    private var length = 0

    mutating func feed(_ piece: [UInt8]) {
        for (index, byte) in piece.enumerated() {
            if byte == 0x0A, index > 0, piece[index - 1] == 0x0D {
                lines.append(length - 1)
                length = 0
            } else {
                length += 1
            }
        }
    }
}
