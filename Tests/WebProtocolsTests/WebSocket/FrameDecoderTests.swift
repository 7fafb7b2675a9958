// The frame decoder: the examples of RFC 6455, its refusals, its limits and its memory.

import Testing
import WebProtocols

@Suite struct FrameDecoderTests {
    /// RFC 6455 section 5.7.
    @Test func decodesTheExamplesOfTheSpecification() {
        let hello: [UInt8] = [0x48, 0x65, 0x6C, 0x6C, 0x6F]
        let masked: [UInt8] = [0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(decodeAtEverySplit([0x81, 0x05] + hello, role: .client) == [.text("Hello")])
        #expect(decodeAtEverySplit([0x81, 0x85] + masked) == [.text("Hello")])
        let fragments: [UInt8] = [0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F]
        #expect(decodeAtEverySplit(fragments, role: .client) == [.text("Hello")])
        #expect(decodeAtEverySplit([0x89, 0x05] + hello, role: .client) == [.ping(hello)])
        #expect(decodeAtEverySplit([0x8A, 0x85] + masked) == [.pong(hello)])
        let block = (0..<256).map { UInt8($0) }
        #expect(
            decodeAtEverySplit([0x82, 0x7E, 0x01, 0x00] + block, role: .client) == [.binary(block)])
        let large = [UInt8](repeating: 7, count: 65_536)
        #expect(
            decode([[0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + large], role: .client)
                == [.binary(large)])
    }

    @Test func decodesManyFramesOfOneRead() {
        let stream =
            clientText("eins") + clientFrame(.ping, [1]) + clientText("")
            + clientText("zw", isFinal: false)
            + clientFrame(.pong) + clientText("ei", .continuation) + clientFrame(.binary, [9, 8])
            + clientClose(1000, Array("tschüss".utf8))
        #expect(
            decodeAtEverySplit(stream) == [
                .text("eins"), .ping([1]), .text(""), .pong([]), .text("zwei"), .binary([9, 8]),
                .close(1000, "tschüss"),
            ])
    }

    static let refusals: [([UInt8], WebSocketError)] = [
        ([0xC1, 0x80], .reservedBits), ([0xA1, 0x80], .reservedBits),
        ([0x91, 0x80], .reservedBits),
        ([0x83, 0x80], .reservedOpcode(3)), ([0x87, 0x80], .reservedOpcode(7)),
        ([0x8B, 0x80], .reservedOpcode(11)), ([0x8F, 0x80], .reservedOpcode(15)),
        ([0x81, 0x00], .maskMissing), ([0x88, 0x00], .maskMissing),
        ([0x81, 0xFE, 0x00, 0x7D, 0, 0, 0, 0], .badLength),
        ([0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0], .badLength),
        ([0x81, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], .badLength),
        ([0x09, 0x80], .fragmentedControl), ([0x08, 0x80], .fragmentedControl),
        ([0x89, 0xFE], .controlTooLong), ([0x88, 0xFF], .controlTooLong),
        (clientText("x", .continuation), .unexpectedContinuation),
        (clientText("a", isFinal: false) + clientText("b"), .expectedContinuation),
        (
            clientFrame(.binary, isFinal: false) + clientText("b", isFinal: false),
            .expectedContinuation
        ),
        (clientFrame(.close, [3]), .closePayloadTooShort),
        (clientClose(1005), .badCloseCode(1005)),
        (clientClose(1000, [0xFF]), .invalidUTF8), (clientClose(1000, [0xC3]), .invalidUTF8),
        (clientFrame(.text, [0xC3]), .invalidUTF8), (clientFrame(.text, [0x80]), .invalidUTF8),
    ]

    @Test(arguments: refusals)
    func refuses(_ bytes: [UInt8], _ error: WebSocketError) {
        #expect(decodeAtEverySplit(bytes) == [.failed(error)])
        let later = decodeAtEverySplit(clientText("before") + bytes + clientText("after"))
        #expect(later == [.text("before"), .failed(error)])
    }

    @Test func aClientRefusesMaskedFrames() {
        #expect(decodeAtEverySplit(clientText("x"), role: .client) == [.failed(.maskUnexpected)])
    }

    @Test(arguments: [
        (WebSocketError.maskMissing, WebSocketCloseCode.protocolError),
        (.badCloseCode(1005), .protocolError), (.invalidUTF8, .invalidPayload),
        (.messageTooBig(limit: 1), .messageTooBig),
    ])
    func tellsTheCloseCode(_ error: WebSocketError, _ code: WebSocketCloseCode) {
        #expect(error.closeCode == code)
        #expect(!error.description.isEmpty && error.description.utf8.count <= 123)
    }

    @Test func aMessageOfExactlyTheLimitPasses() {
        let text = String(repeating: "x", count: 65_536)
        #expect(decode([clientText(text)]) == [.text(text)])
        #expect(decode([clientText(text + "x")]) == [.failed(.messageTooBig(limit: 65_536))])
    }

    @Test func theLimitCountsAfterReassembly() {
        let half = String(repeating: "y", count: 32_768)
        let first = clientText(half, isFinal: false)
        #expect(decode([first, clientText(half, .continuation)]) == [.text(half + half)])
        #expect(
            decode([first, clientFrame(.ping), clientText(half + "z", .continuation)])
                == [.ping([]), .failed(.messageTooBig(limit: 65_536))])
    }

    @Test func refusesAnAnnouncedLengthBeforeItArrives() {
        let header: [UInt8] = [
            0x82, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4,
        ]
        #expect(decodeAtEverySplit(header) == [.failed(.messageTooBig(limit: 65_536))])
        #expect(
            decode([clientFrame(.text, [0x41])], limit: 0) == [.failed(.messageTooBig(limit: 0))])
        #expect(decode([clientFrame(.text)], limit: 0) == [.text("")])
    }

    @Test func nothingFollowsAClose() {
        let stream = clientClose(1001) + clientText("late") + [0xFF, 0xFF]
        #expect(decodeAtEverySplit(stream) == [.close(1001, "")])
        #expect(decodeAtEverySplit(clientFrame(.close) + [1]) == [.close(nil, "")])
    }

    @Test func anErrorIsFinal() {
        var decoder = FrameDecoder(role: .server)
        var thrown: [WebSocketError] = []
        for piece in [[0x81, 0x00], clientText("x"), []] {
            var piece = piece as [UInt8]
            piece.withUnsafeMutableBytes { buffer in
                var input = buffer
                do throws(WebSocketError) {
                    _ = try decoder.next(&input)
                } catch {
                    thrown.append(error)
                }
            }
        }
        #expect(thrown == [.maskMissing, .maskMissing, .maskMissing])
    }

    /// Delivers frames that are whole in the input from there, without memory of its own.
    @Test func holdsMemoryOnlyForWhatIsIncomplete() throws {
        #expect(MemoryLayout<FrameDecoder>.size <= 80)
        var decoder = FrameDecoder(role: .server)
        func feed(_ bytes: [UInt8]) throws -> (events: Int, reserved: Int) {
            var bytes = bytes
            return try bytes.withUnsafeMutableBytes { buffer in
                var input = buffer
                var events = 0
                while try decoder.next(&input) != nil { events += 1 }
                return (events, decoder.reservedBytes)
            }
        }
        #expect(try feed(clientText("one") + clientText("two")) == (2, 0))
        let frame = clientText(String(repeating: "x", count: 1000))
        #expect(try feed(Array(frame[..<10])) == (0, 256))
        #expect(try feed(Array(frame[10...])).events == 1)
        #expect(try feed([]) == (0, 0))
        #expect(try feed(clientFrame(.binary, [1], isFinal: false)) == (0, 256))
        #expect(try feed(clientFrame(.ping, [1]) + clientFrame(.continuation, [2])) == (2, 0))
    }

    /// A connection that is sent away may take seconds to go: what it had begun is not kept.
    @Test func keepsNothingOnceGivenUp() throws {
        var decoder = FrameDecoder(role: .server)
        func feed(_ bytes: some Sequence<UInt8>) throws -> (events: Int, rest: Int) {
            var bytes = Array(bytes)
            return try bytes.withUnsafeMutableBytes { buffer in
                var input = buffer
                var events = 0
                while try decoder.next(&input) != nil { events += 1 }
                return (events, input.count)
            }
        }
        let frame = clientText(String(repeating: "x", count: 60_000))
        #expect(try feed(frame[..<50_000]) == (0, 0))
        #expect(decoder.reservedBytes >= 49_000)
        decoder.giveUp()
        #expect(decoder.reservedBytes == 0 && decoder.incompleteBytes == 0)
        #expect(try feed(clientText("more")) == (0, 0))
    }

    /// An announced length alone must not make the server reserve it.
    @Test func reservesNoMoreThanTwiceWhatArrived() throws {
        var decoder = FrameDecoder(role: .server)
        let frame = clientFrame(.binary, [UInt8](repeating: 1, count: 60_000))
        for start in stride(from: 0, to: frame.count, by: 500) {
            let end = min(start + 500, frame.count)
            var piece = Array(frame[start..<end])
            try piece.withUnsafeMutableBytes { buffer in
                var input = buffer
                while try decoder.next(&input) != nil {}
            }
            #expect(decoder.reservedBytes <= max(1000, 2 * end))
        }
    }
}
