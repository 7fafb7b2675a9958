// The cases of the Autobahn suite, groups 1-7 and 10, as tests of the decoder alone. Numbers in
// names are the suite's.

import Testing
import WebProtocols

@Suite struct ConformanceCaseTests {
    static let sizes = [0, 125, 126, 127, 128, 65_535, 65_536]

    @Test(arguments: sizes)
    func group1TextAndBinaryOfEverySize(_ size: Int) {
        let text = String(repeating: "*", count: size)
        let bytes = [UInt8](repeating: 0xFE, count: size)
        #expect(decode([clientText(text)]) == [.text(text)])
        #expect(decode([clientFrame(.binary, bytes)]) == [.binary(bytes)])
        let frame = clientText(text)
        let step = 997
        let chopped = stride(from: 0, to: frame.count, by: step).map {
            Array(frame[$0..<min($0 + step, frame.count)])
        }
        #expect(decode(chopped) == [.text(text)])
    }

    @Test func group2PingsOfEverySizeAndUnsolicitedPongs() {
        for size in [0, 5, 8, 125] {
            let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0 * 7 + 0xF0) }
            #expect(decodeAtEverySplit(clientFrame(.ping, payload)) == [.ping(payload)])
            #expect(decodeAtEverySplit(clientFrame(.pong, payload)) == [.pong(payload)])
        }
        let tooLong: [UInt8] =
            [0x89, 0xFE, 0x00, 0x7E, 0, 0, 0, 0] + [UInt8](repeating: 1, count: 126)
        #expect(decodeAtEverySplit(tooLong) == [.failed(.controlTooLong)])
        let pings = (0..<10).map { clientFrame(.ping, [UInt8($0)]) }
        #expect(decodeAtEverySplit(pings.flatMap { $0 }) == (0..<10).map { .ping([UInt8($0)]) })
    }

    @Test func group3ReservedBitsInEveryCombination() {
        for bits in 1...7 {
            for opcode: WebSocketOpcode in [.text, .binary, .close, .ping, .pong] {
                var frame = clientFrame(opcode, [])
                frame[0] |= UInt8(bits) << 4
                let stream = clientText("ok") + frame + clientFrame(.ping)
                #expect(decode([stream]) == [.text("ok"), .failed(.reservedBits)])
                #expect(decode(stream.map { [$0] }) == [.text("ok"), .failed(.reservedBits)])
            }
        }
    }

    @Test(arguments: [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] as [UInt8])
    func group4ReservedOpcodes(_ opcode: UInt8) {
        var frame = clientFrame(.text, [1, 2])
        frame[0] = 0x80 | opcode
        #expect(decodeAtEverySplit(frame) == [.failed(.reservedOpcode(opcode))])
        #expect(
            decodeAtEverySplit(clientText("x") + frame)
                == [.text("x"), .failed(.reservedOpcode(opcode))])
    }

    // MARK: Group 5, fragmentation

    @Test func group5ControlFramesMustNotBeFragmented() {
        for opcode in [0x09, 0x0A, 0x08] as [UInt8] {
            var frame = clientFrame(.ping, [1])
            frame[0] = opcode
            #expect(decodeAtEverySplit(frame) == [.failed(.fragmentedControl)])
        }
    }

    @Test func group5FragmentsWithPingsBetween() {
        let first = clientText("fragment1", isFinal: false)
        let last = clientText("fragment2", .continuation)
        let ping = clientFrame(.ping, Array("ping".utf8))
        #expect(decodeAtEverySplit(first + last) == [.text("fragment1fragment2")])
        #expect(
            decodeAtEverySplit(first + ping + last)
                == [.ping(Array("ping".utf8)), .text("fragment1fragment2")])
        let many = (1...4).map { clientText("\($0)", .continuation, isFinal: false) }
        #expect(
            decodeAtEverySplit(
                first + many[0] + ping + many[1] + many[2] + ping + many[3] + last)
                == [
                    .ping(Array("ping".utf8)), .ping(Array("ping".utf8)),
                    .text("fragment11234fragment2"),
                ])
    }

    @Test func group5ContinuationsWithoutABeginning() {
        let stray = clientText("stray", .continuation)
        let strayOpen = clientText("stray", .continuation, isFinal: false)
        let expected: [Decoded] = [.failed(.unexpectedContinuation)]
        #expect(decodeAtEverySplit(stray) == expected)
        #expect(decodeAtEverySplit(strayOpen + clientText("x", .continuation)) == expected)
        #expect(decodeAtEverySplit(strayOpen + clientText("x")) == expected)
        let whole = clientText("a", isFinal: false) + clientText("b", .continuation)
        #expect(
            decodeAtEverySplit(whole + stray) == [.text("ab"), .failed(.unexpectedContinuation)])
    }

    @Test func group5ANewMessageInsideAFragmentedOne() {
        let stream = clientText("a", isFinal: false) + clientText("b")
        #expect(decodeAtEverySplit(stream) == [.failed(.expectedContinuation)])
    }

    // MARK: Group 6, UTF-8

    @Test func group6EmptyFragments() {
        let empty = clientText("", isFinal: false)
        let stream = empty + clientText("", .continuation, isFinal: false)
        #expect(decodeAtEverySplit(stream + clientText("", .continuation)) == [.text("")])
        let middle = clientText("middle frame payload", .continuation, isFinal: false)
        #expect(
            decodeAtEverySplit(empty + middle + clientText("", .continuation))
                == [.text("middle frame payload")])
    }

    @Test func group6FragmentsMayCutCharacters() {
        let bytes = Array("Hello-µ@ßöäüàá-UTF-8!!𝄞€".utf8)
        let fragments = bytes.enumerated().flatMap { index, byte in
            clientFrame(
                index == 0 ? .text : .continuation, [byte], isFinal: index == bytes.count - 1)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(decodeAtEverySplit(fragments) == [.text(text)])
        for place in 1..<bytes.count {
            let halves =
                clientFrame(.text, Array(bytes[..<place]), isFinal: false)
                + clientFrame(.continuation, Array(bytes[place...]))
            #expect(decode([halves]) == [.text(text)])
        }
    }

    /// 6.3 and 6.4: refused at the bad byte, not at the end of the frame or message.
    @Test func group6InvalidTextFailsAtItsFirstBadByte() {
        let valid: [UInt8] = Array("κόσμε".utf8)
        let bad: [UInt8] = [0xF4, 0x90]
        let first = clientFrame(.text, valid, isFinal: false)
        let second = clientFrame(.continuation, bad, isFinal: false)
        #expect(decode([first, second]) == [.failed(.invalidUTF8)])
        let frame = clientFrame(.text, valid + bad + [0x80, 0x80] + valid)
        let upToBad = Array(frame[..<(6 + valid.count + 2)])
        #expect(decode([upToBad]) == [.failed(.invalidUTF8)])
        #expect(decode([Array(upToBad.dropLast())]) == [])
    }

    static let validTexts: [[UInt8]] = [
        [0x00], [0x7F], [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xEF, 0xBF, 0xBF],
        [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBD], [0xF0, 0x90, 0x80, 0x80],
        [0xF4, 0x8F, 0xBF, 0xBF], [0xEF, 0xBF, 0xBE], [0xF0, 0x9F, 0xBF, 0xBE],
        [0xCE, 0xBA, 0xE1, 0xBD, 0xB9, 0xCF, 0x83, 0xCE, 0xBC, 0xCE, 0xB5],
    ]

    @Test(arguments: validTexts)
    func group6AcceptsValidText(_ bytes: [UInt8]) {
        let padding = [UInt8](repeating: 0x61, count: 13)
        for text in [bytes, padding + bytes, bytes + padding, padding + bytes + bytes] {
            let expected = String(decoding: text, as: UTF8.self)
            #expect(decodeAtEverySplit(clientFrame(.text, text)) == [.text(expected)])
        }
    }

    static let invalidTexts: [[UInt8]] = [
        [0x80], [0xBF], [0x80, 0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x20], [0xE0],
        [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xED, 0xA0, 0x80],
        [0xED, 0xAF, 0xBF],
        [0xED, 0xB0, 0x80], [0xED, 0xBF, 0xBF], [0xED, 0xA0, 0x80, 0xED, 0xB0, 0x80],
        [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9D, 0x84],
        [0xF4, 0x90, 0x80, 0x80],
        [0xF5, 0x80, 0x80, 0x80], [0xF7, 0xBF, 0xBF, 0xBF], [0xF8, 0x88, 0x80, 0x80, 0x80],
        [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xFE, 0xFE, 0xFF, 0xFF],
        [0xCE, 0xBA, 0xE1, 0xBD], [0xC3, 0xC3],
    ]

    @Test(arguments: invalidTexts)
    func group6RefusesInvalidText(_ bytes: [UInt8]) {
        let padding = [UInt8](repeating: 0x61, count: 13)
        for text in [bytes, padding + bytes, bytes + padding] {
            #expect(decodeAtEverySplit(clientFrame(.text, text)) == [.failed(.invalidUTF8)])
            #expect(decodeAtEverySplit(clientFrame(.binary, text)) == [.binary(text)])
        }
    }

    // MARK: Group 7, closing

    @Test func group7NothingIsReadAfterAClose() {
        let close = clientClose(1000, Array("bye".utf8))
        for late in [clientFrame(.ping), clientText("x"), close] {
            #expect(decodeAtEverySplit(close + late) == [.close(1000, "bye")])
        }
        let open = clientText("a", isFinal: false)
        #expect(
            decodeAtEverySplit(open + close + clientText("b", .continuation)) == [
                .close(1000, "bye")
            ])
    }

    @Test func group7ClosePayloads() {
        #expect(decodeAtEverySplit(clientFrame(.close)) == [.close(nil, "")])
        #expect(decodeAtEverySplit(clientFrame(.close, [0])) == [.failed(.closePayloadTooShort)])
        let longest = String(repeating: "*", count: 123)
        #expect(
            decodeAtEverySplit(clientClose(1000, Array(longest.utf8))) == [.close(1000, longest)])
        let tooLong: [UInt8] =
            [0x88, 0xFE, 0, 126, 0, 0, 0, 0] + [UInt8](repeating: 0x2A, count: 126)
        #expect(decodeAtEverySplit(tooLong) == [.failed(.controlTooLong)])
        let invalid = clientClose(1000, [0xCE, 0xBA, 0xED, 0xA0, 0x80])
        #expect(decodeAtEverySplit(invalid) == [.failed(.invalidUTF8)])
    }

    @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999])
    func group7ValidCloseCodes(_ code: UInt16) {
        #expect(decodeAtEverySplit(clientClose(code)) == [.close(code, "")])
    }

    @Test(arguments: [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535])
    func group7InvalidCloseCodes(_ code: UInt16) {
        #expect(decodeAtEverySplit(clientClose(code)) == [.failed(.badCloseCode(code))])
    }

    @Test func group10AMessageInManyFrames() {
        let text = String(repeating: "*", count: 65_536)
        let bytes = Array(text.utf8)
        let step = 1300
        let frames = stride(from: 0, to: bytes.count, by: step).flatMap { start in
            let end = min(start + step, bytes.count)
            return clientFrame(
                start == 0 ? .text : .continuation, Array(bytes[start..<end]),
                isFinal: end == bytes.count)
        }
        #expect(decode([frames]) == [.text(text)])
        #expect(decode(frames.map { [$0] }) == [.text(text)])
    }
}
