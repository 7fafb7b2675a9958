// What the encoder writes, the decoder reads: at the edges of the length forms, and at random.

import Testing
import WebProtocols

@Suite struct FrameRoundTripTests {
    static let lengths =
        Array(0...140) + Array(65_530...65_540) + [1000, 4095, 4096, 65_534, 100_000]

    @Test(arguments: lengths)
    func framesOfEveryLengthSurvive(_ length: Int) {
        let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for mask: UInt32 in [0x1234_5678, 0, .max] {
            let frame = clientFrame(.binary, payload, mask: mask)
            #expect(decode([frame], limit: 1 << 20) == [.binary(payload)])
            let header = length <= 125 ? 6 : length <= 65_535 ? 8 : 14
            #expect(frame.count == header + length)
        }
        var frame: [UInt8] = []
        FrameEncoder.append(.binary, payload, to: &frame)
        #expect(decode([frame], role: .client, limit: 1 << 20) == [.binary(payload)])
    }

    /// The mask must stay aligned however the payload is cut and wherever it lies in memory.
    @Test func masksSurviveEveryAlignmentAndSplit() {
        let payload = (0..<37).map { UInt8($0) }
        let frame = clientFrame(.binary, payload, mask: 0xA1B2_C3D4)
        for first in 0..<frame.count {
            for second in first..<frame.count {
                let pieces = [
                    Array(frame[..<first]), Array(frame[first..<second]), Array(frame[second...]),
                ]
                #expect(decode(pieces) == [.binary(payload)])
            }
        }
    }

    @Test func masksAsTheSpecificationSays() {
        var frame: [UInt8] = []
        FrameEncoder.append(.text, Array("Hello".utf8), mask: 0x3D21_FA37, to: &frame)
        #expect(frame == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
    }

    @Test func appendsAfterWhatIsThere() {
        var output: [UInt8] = [1, 2, 3]
        FrameEncoder.append(.text, [0x41], to: &output)
        FrameEncoder.append(.ping, [], to: &output)
        #expect(output == [1, 2, 3, 0x81, 1, 0x41, 0x89, 0])
    }

    @Test func cutsControlFramesAndCloseReasonsToTheirLimit() {
        var output: [UInt8] = []
        FrameEncoder.append(.ping, [UInt8](repeating: 1, count: 126), isFinal: false, to: &output)
        #expect(decode([output], role: .client) == [.ping([UInt8](repeating: 1, count: 125))])
        for (reason, count) in [("x", 123), ("é", 122), ("€", 123), ("𝄞", 120)] {
            output = []
            let long = String(repeating: reason, count: 124)
            FrameEncoder.appendClose(.goingAway, reason: long, to: &output)
            let expected = String(repeating: reason, count: count / reason.utf8.count)
            #expect(decode([output], role: .client) == [.close(1001, expected)])
        }
        output = []
        FrameEncoder.appendClose(nil, reason: "dropped without a code", to: &output)
        #expect(output == [0x88, 0])
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func randomConversationsSurviveRandomCuts(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var stream: [UInt8] = []
            var expected: [Decoded] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                appendMessage(to: &stream, &expected, &random)
            }
            var pieces: [[UInt8]] = []
            while !stream.isEmpty {
                let count = Int.random(in: 1...stream.count, using: &random)
                pieces.append(Array(stream[..<count]))
                stream.removeFirst(count)
            }
            #expect(decode(pieces) == expected, "seed \(seed)")
        }
    }

    /// A message in one to four fragments with pings between them.
    private func appendMessage(
        to stream: inout [UInt8], _ expected: inout [Decoded], _ random: inout SeededGenerator
    ) {
        let alphabet: [Character] = ["a", "é", "€", "𝄞", "\0"]
        let isText = Bool.random(using: &random)
        let count = Int.random(in: 0...200, using: &random)
        let text = String((0..<count).map { _ in alphabet.randomElement(using: &random)! })
        var rest = Array(text.utf8)[...]
        for index in 0..<Int.random(in: 1...4, using: &random) {
            let opcode: WebSocketOpcode = index > 0 ? .continuation : isText ? .text : .binary
            let part = rest.prefix(Int.random(in: 0...rest.count, using: &random))
            rest = rest.dropFirst(part.count)
            stream += clientFrame(opcode, Array(part), isFinal: false, mask: random.next32())
            if Bool.random(using: &random) {
                stream += clientFrame(.ping, [UInt8(index)], mask: random.next32())
                expected.append(.ping([UInt8(index)]))
            }
        }
        stream += clientFrame(.continuation, Array(rest), mask: random.next32())
        expected.append(isText ? .text(text) : .binary(Array(text.utf8)))
    }

    /// Any bytes at all: the same events however they are cut, and no crash.
    @Test func randomBytesAreJudgedTheSameHoweverCut() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            var bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                UInt8(truncatingIfNeeded: random.next())
            }
            if bytes.count > 1 {
                bytes[0] = [0x81, 0x82, 0x01, 0x88, 0x89].randomElement(using: &random)!
                bytes[1] |= 0x80
            }
            let whole = decode([bytes])
            #expect(decode(bytes.map { [$0] }) == whole, "seed \(seed)")
        }
    }
}

extension SeededGenerator {
    mutating func next32() -> UInt32 { UInt32(truncatingIfNeeded: next()) }
}
