// Links: what is said arrives as it was said, and what no node says is refused and changes nothing.

import Testing

@testable import ClusterCore

@Suite struct LinkTests {
    private static let stream = StreamID(7)
    private static let session = StreamSession(high: 1 << 63, low: 5)
    private static let greeting = LinkMessage.greets(LinkGreeting(space: "default", node: "b"))

    /// One of each kind, as the side says it.
    private static let ofFrontEnd: [LinkMessage] = [
        greeting, .lives, .opens(stream, StreamOpening(host: "192.0.2.1", agent: "é")),
        .returns(stream, StreamReturn(hello: [0, 1], session: session, seq: .max)),
        .says(stream, []),
        .asks(
            stream,
            StreamRequest(
                method: "POST", target: "/v1/call/accept?x", headers: ["A", "b"], body: [9])),
        .manages(
            stream, StreamManager(name: "unix:ann", role: "viewer", proof: [1, 2]),
            StreamRequest(method: "GET", target: "/admin/v1/calls", headers: [], body: [])),
        .reports(stream, StreamReply(status: 404, headers: [], body: [7])),
        .took(stream, 1 << 40), .leaves(stream, isSilent: true), .leaves(stream, isSilent: false),
    ]
    private static let ofOwner: [LinkMessage] = [
        greeting, .lives, .tells(stream, [1, 2, 3]), .begins(stream, session), .keeps(stream),
        .settles(stream, StreamMark(settled: 3, isIdle: true)),
        .answers(stream, StreamReply(status: 503, headers: ["Retry-After", "1"], body: [])),
        .inquires(
            stream, StreamManager(name: "unix:ann", role: "viewer", proof: []),
            StreamRequest(method: "GET", target: "/admin/v1/log?node=b", headers: [], body: [])),
        .ends(stream, 4001, "so"),
    ]

    private func bytes(_ messages: [LinkMessage], epoch: UInt32 = 3) -> [UInt8] {
        var writer = LinkWriter(epoch: epoch)
        for message in messages { writer.append(message) }
        return writer.bytes
    }

    private func decoder(
        _ speaker: LinkDecoder.Speaker = .frontEnd, most: Int = 1_000
    ) -> LinkDecoder {
        LinkDecoder(from: speaker, space: "default", epoch: 3, frameBytes: most)
    }

    /// What is read of `bytes`, and why no more.
    private func read(
        _ decoder: inout LinkDecoder, _ bytes: [UInt8], piece: Int = .max
    ) -> ([LinkMessage], LinkFault?) {
        var found: [LinkMessage] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(piece))
            rest = rest.dropFirst(part.count)
            part.withUnsafeBytes { decoder.add($0) }
            do throws(LinkFault) {
                while let message = try decoder.next() { found.append(message) }
            } catch {
                return (found, error)
            }
        }
        return (found, nil)
    }

    @Test(arguments: [1, 3, 17, 10_000])
    func whatIsSaidArrivesHoweverItIsCut(_ piece: Int) {
        for (speaker, said) in [
            (LinkDecoder.Speaker.frontEnd, Self.ofFrontEnd), (.owner, Self.ofOwner),
        ] {
            var decoder = decoder(speaker)
            let (found, fault) = read(&decoder, bytes(said), piece: piece)
            #expect(found == said)
            #expect(fault == nil)
            #expect(decoder.waitingBytes == 0)
            #expect(decoder.peer == LinkGreeting(space: "default", node: "b"))
        }
    }

    @Test func messagesInTwoPartsAndFromBuffersAreTheSame() {
        var writer = LinkWriter(epoch: 3)
        let (head, tail): ([UInt8], [UInt8]) = ([1, 2], [3])
        head.withUnsafeBytes { head in
            tail.withUnsafeBytes { writer.tell(Self.stream, head, $0) }
            writer.say(Self.stream, head)
        }
        #expect(
            writer.take() == bytes([.tells(Self.stream, [1, 2, 3]), .says(Self.stream, [1, 2])]))
        #expect(writer.bytes.isEmpty)
    }

    @Test func theOtherSideIsRefusedWhatOnlyThisOneSays() {
        for message in Self.ofOwner where !Self.ofFrontEnd.contains(message) {
            var decoder = decoder(.frontEnd)
            #expect(read(&decoder, bytes([Self.greeting, message])).1 == .wrongSide)
        }
        for message in Self.ofFrontEnd where !Self.ofOwner.contains(message) {
            var decoder = decoder(.owner)
            #expect(read(&decoder, bytes([Self.greeting, message])).1 == .wrongSide)
        }
    }

    @Test func aFrameOfAnotherEpochIsRefused() {
        for epoch in [UInt32(2), 4, 0, .max] {
            var decoder = decoder()
            #expect(
                read(&decoder, bytes([Self.greeting], epoch: epoch)) == ([], .foreignEpoch(epoch)))
        }
    }

    @Test func replayedAndMissingFramesAreRefusedAndNothingFollows() {
        let first = bytes([Self.greeting])
        let both = bytes([Self.greeting, .lives])
        let second = Array(both[first.count...])
        var replayed = decoder()
        #expect(read(&replayed, first + first) == ([Self.greeting], .outOfOrder(1)))
        // What is good again comes too late.
        #expect(read(&replayed, second) == ([], .outOfOrder(1)))
        var twice = decoder()
        #expect(read(&twice, both + second) == ([Self.greeting, .lives], .outOfOrder(2)))
        var missing = decoder()
        #expect(read(&missing, second) == ([], .outOfOrder(2)))
    }

    @Test func aLongFrameIsRefusedAsSoonAsItsLengthIsThere() {
        let message = LinkMessage.says(Self.stream, Array(repeating: 1, count: 100))
        let greeting = bytes([Self.greeting])
        let all = bytes([Self.greeting, message])
        // The length itself does not count.
        let length = all.count - greeting.count - 4
        var fits = decoder(most: length)
        #expect(read(&fits, all) == ([Self.greeting, message], nil))
        var short = decoder(most: length - 1)
        let begun = Array(all.prefix(greeting.count + 4))
        #expect(read(&short, begun) == ([Self.greeting], .tooLong(length)))
        #expect(short.waitingBytes == 0)
    }

    @Test func whoHasNotSaidWhoItIsMayNotSayMuch() {
        let head = bytes([Self.greeting]).count - 4 - 1
        for (extra, isTaken) in [(1_024 - head, true), (1_025 - head, false)] {
            let long = LinkGreeting(
                space: "default", node: String(repeating: "b", count: extra))
            var decoder = decoder(most: 1 << 20)
            let (found, fault) = read(&decoder, bytes([.greets(long)]))
            #expect(found == (isTaken ? [.greets(long)] : []))
            #expect(fault == (isTaken ? nil : .tooLong(1_025)))
        }
    }

    @Test func truncatedAndPaddedFramesAreRefused() {
        for message in Self.ofFrontEnd.dropFirst() {
            let greeting = bytes([Self.greeting])
            let whole = Array(bytes([Self.greeting, message])[greeting.count...])
            let inside = whole.count - 4
            // A frame that says that it is shorter, or longer, than what its kind needs.
            for count in [inside - 1, inside + 1] where count >= 13 {
                var frame = Array(whole.prefix(count + 4))
                if count > inside { frame.append(0) }
                frame[3] = UInt8(count)
                var decoder = decoder()
                #expect(
                    read(&decoder, greeting + frame) == ([Self.greeting], .malformed),
                    "\(message) of \(count)")
            }
            // One that does not come whole says nothing.
            var half = decoder()
            #expect(read(&half, greeting + whole.dropLast()) == ([Self.greeting], nil))
        }
    }

    @Test func theFirstFrameMustBeAGreetingOfTheSameSpaceAndVersion() {
        var silent = decoder()
        #expect(read(&silent, bytes([.lives])) == ([], .noGreeting))
        var other = decoder()
        let foreign = LinkMessage.greets(LinkGreeting(space: "other", node: "b"))
        #expect(read(&other, bytes([foreign])) == ([], .noGreeting))
        var nameless = decoder()
        let empty = LinkMessage.greets(LinkGreeting(space: "default", node: ""))
        #expect(read(&nameless, bytes([empty])) == ([], .noGreeting))
        var twice = decoder()
        #expect(
            read(&twice, bytes([Self.greeting, Self.greeting])) == ([Self.greeting], .noGreeting))
        var newer = decoder()
        var frame = bytes([Self.greeting])
        frame[17] = 2
        #expect(read(&newer, frame) == ([], .version(2)))
    }

    @Test func textMustBeText() {
        var frame = bytes([Self.greeting])
        frame[frame.count - 1] = 0xFF
        var decoder = decoder()
        #expect(read(&decoder, frame) == ([], .malformed))
    }

    @Test func streamsAreOpenedOnceAndOnlySoMany() throws {
        var table = StreamTable<String>(most: 2)
        try table.open(StreamID(1), "a")
        try table.open(StreamID(5), "b")
        #expect(throws: LinkFault.tooMuch("2 clients")) { try table.open(StreamID(6), "c") }
        #expect(throws: LinkFault.streamTwice(5)) { try table.open(StreamID(5), "c") }
        #expect(throws: LinkFault.streamTwice(3)) { try table.open(StreamID(3), "c") }
        #expect(throws: LinkFault.noStream(6)) { try table.client(StreamID(6)) }
        #expect(try table.client(StreamID(1)) == "a")
        #expect(table.close(StreamID(1)) == "a")
        // The other side may not have heard of it yet.
        #expect(try table.client(StreamID(1)) == nil)
        #expect(throws: LinkFault.streamTwice(1)) { try table.open(StreamID(1), "c") }
        try table.open(StreamID(6), "c")
        #expect(Set(table.removeAll()) == ["b", "c"])
        #expect(table.count == 0)
    }

    @Test func allStreamsAreSeenInPiecesAlsoWhenSomeAreClosed() throws {
        var table = StreamTable<Int>(most: 100)
        for number in 1...10 { try table.open(StreamID(UInt32(number)), number) }
        for gone in [3, 10, 1] { #expect(table.close(StreamID(UInt32(gone))) == gone) }
        var seen: [Int] = []
        for place in stride(from: 0, to: table.count, by: 3) {
            seen += table.some(3, from: place)
        }
        #expect(seen.sorted() == [2, 4, 5, 6, 7, 8, 9])
        #expect(table.some(3, from: 7) == [])
        for left in seen { #expect(try table.client(StreamID(UInt32(left))) == left) }
    }
}
