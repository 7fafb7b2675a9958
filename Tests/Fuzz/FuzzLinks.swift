// Frames of links: judged the same however they are cut, and after a fault nothing is told.

import ClusterCore

extension Fuzzer {
    static let links = Fuzzer(
        name: "links", property: "frames of links are judged the same however they are cut"
    ) { (random) throws(FuzzFailure) in try judgeLink(&random) { $0 } }

    static let linksCanary = Fuzzer(
        name: "links-canary",
        property: "finds a decoder of links that forgets a byte where it is cut",
        mustFail: true
    ) { (random) throws(FuzzFailure) in
        try judgeLink(&random) { piece in piece.count > 9 ? Array(piece.dropLast()) : piece }
    }

    private static func judgeLink(
        _ random: inout FuzzGenerator, _ seen: ([UInt8]) -> [UInt8]
    ) throws(FuzzFailure) {
        var writer = LinkWriter(epoch: 3)
        var said = [LinkMessage.greets(LinkGreeting(space: "default", node: "b"))]
        for _ in 0..<random.pick(0...8) { said.append(message(&random)) }
        for message in said { writer.append(message) }
        let stream = writer.bytes
        let valid = LinkLog(of: random.cut(stream).map(seen), most: 1 << 20)
        try expect(valid.fault == nil, "refused: \(valid.fault as Any)", stream)
        try expect(valid.messages == said, "something else was decoded", stream)
        let damaged = random.damage(stream, dictionary: ["\u{0}", "\u{1}", "\u{7F}", "é"])
        let most = random.pick([100, 1_000, 1 << 20])
        let whole = LinkLog(of: [damaged], most: most)
        let pieces = LinkLog(of: random.cut(damaged).map(seen), most: most)
        try expect(whole == pieces, "another judgement when cut", damaged)
    }

    private static func message(_ random: inout FuzzGenerator) -> LinkMessage {
        let stream = StreamID(UInt32(random.pick(1...5)))
        let content = random.bytes(random.pick([0, 1, 30, 300]))
        return switch random.pick(0...6) {
        case 0: .opens(stream, StreamOpening(host: "192.0.2.1", agent: "é"))
        case 1: .says(stream, content)
        case 2: .took(stream, random.next())
        case 3: .leaves(stream, isSilent: random.once(in: 2))
        case 4:
            .asks(
                stream,
                StreamRequest(
                    method: "POST", target: "/", headers: ["A", "b", "C", ""], body: content))
        case 5:
            .returns(
                stream,
                StreamReturn(
                    hello: content, session: StreamSession(high: 1, low: random.next()), seq: 4))
        default: .lives
        }
    }
}

/// What a decoder of links said about a stream.
private struct LinkLog: Equatable {
    var messages: [LinkMessage] = []
    var fault: LinkFault?

    init(of pieces: [[UInt8]], most: Int) {
        var decoder = LinkDecoder(
            from: .frontEnd, space: "default", epoch: 3, frameBytes: most)
        for piece in pieces where fault == nil {
            piece.withUnsafeBytes { decoder.add($0) }
            do throws(LinkFault) {
                while let message = try decoder.next() { messages.append(message) }
            } catch {
                fault = error
            }
        }
    }
}
