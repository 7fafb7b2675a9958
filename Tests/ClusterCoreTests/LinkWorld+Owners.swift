// What owners do in a world of links, and what is held against it.

import CallModel
import ClusterCore
import StoreContract

extension LinkWorld {
    mutating func turn(owner: Int) {
        guard owners[owner].isAlive else { return }
        // It has found out that another one owns, with the next thing that it would commit.
        let isOver = owner != self.owner
        for link in links.indices where links[link].owner == owner && links[link].isAtOwner {
            if isOver { give(up: link) } else { hear(link) }
        }
    }

    private mutating func hear(_ link: Int) {
        let times = LinkTimes()
        if now % times.pulse == 0 { tell(.lives, over: link) }
        var heard: [LinkMessage] = []
        do throws(LinkFault) {
            if now >= links[link].silentUntil, try links[link].toOwner.arrive(at: now, &heard) {
                links[link].heardByOwner = now
            }
            for message in heard { try carryOut(message, link) }
        } catch {
            refused += 1
            return give(up: link)
        }
        if now - links[link].heardByOwner > times.silence { give(up: link) }
    }

    /// The owner has no link any more, and the front end learns it when it looks.
    private mutating func give(up link: Int) {
        leave(link)
        links[link].silentUntil = max(links[link].silentUntil, now)
    }

    /// Both ends have gone, as far as the owner knows.
    mutating func leave(_ link: Int) {
        links[link].isAtFront = false
        links[link].isAtOwner = false
        for stream in links[link].table.removeAll() {
            guard let session = stream.session else { continue }
            guard owners[links[link].owner].sessions[session.low]?.place?.link == link else {
                continue
            }
            owners[links[link].owner].sessions[session.low]?.place = nil
        }
    }

    mutating func tell(_ message: LinkMessage, over link: Int) {
        links[link].toFront.send(message, arrivingAt: now + time(1...40))
    }

    private mutating func carryOut(_ message: LinkMessage, _ link: Int) throws(LinkFault) {
        switch message {
        case .opens(let stream, _): try links[link].table.open(stream, StreamOfOwner())
        case .leaves(let stream, _):
            guard let gone = links[link].table.close(stream)?.session else { return }
            owners[links[link].owner].sessions[gone.low] = nil
        case .says(let stream, let text):
            guard let client = try links[link].table.client(stream) else { return }
            client.received += 1
            hear(text, of: client, stream, link)
        case .returns(let stream, let before):
            guard let client = try links[link].table.client(stream) else { return }
            takeBack(before, client, stream, link)
        default: break
        }
    }

    private mutating func hear(
        _ text: [UInt8], of client: StreamOfOwner, _ stream: StreamID, _ link: Int
    ) {
        let owner = links[link].owner
        if !owners[owner].done.insert(text).inserted {
            findings.insert("a message was carried out twice")
        }
        if text.starts(with: "of ".utf8) { findings.insert("a message of an old epoch was heard") }
        if client.session == nil {
            lastSession += 1
            let session = StreamSession(high: UInt64(owners[owner].term.epoch), low: lastSession)
            client.session = session
            var new = SessionOfWorld(after: 0)
            new.place = (link, stream)
            owners[owner].sessions[session.low] = new
            tell(.begins(stream, session), over: link)
        } else if let session = client.session {
            if text.first == UInt8(ascii: "c") {
                owners[owner].sessions[session.low]?.isInCall.toggle()
            }
            happen(to: session.low, owner)
            // Sorted: the order of a dictionary is another one in each process, and a seed would
            // not give the same run again.
            if let other = owners[owner].sessions.keys.sorted().randomElement(using: &dice) {
                happen(to: other, owner)
            }
        }
        settle(client, stream, link)
    }

    /// An event of this session; who is not connected is told when they come back.
    private mutating func happen(to session: UInt64, _ owner: Int) {
        guard let known = owners[owner].sessions[session] else { return }
        owners[owner].count += 1
        let number = known.base + UInt64(known.events.count) + 1
        let text = Array(
            #"{"seq":\#(number),"t":"\#(owners[owner].term.epoch)-\#(owners[owner].count)"}"#.utf8)
        owners[owner].sessions[session]?.events.append(text)
        guard let place = known.place, links[place.link].isAtOwner else { return }
        tell(.tells(place.stream, text), over: place.link)
        if let client = try? links[place.link].table.client(place.stream) {
            settle(client, place.stream, place.link)
        }
    }

    private mutating func settle(_ client: StreamOfOwner, _ stream: StreamID, _ link: Int) {
        let known = client.session.flatMap { owners[links[link].owner].sessions[$0.low] }
        let mark = StreamMark(settled: client.received, isIdle: known?.isInCall != true)
        tell(.settles(stream, mark), over: link)
    }

    private mutating func takeBack(
        _ before: StreamReturn, _ client: StreamOfOwner, _ stream: StreamID, _ link: Int
    ) {
        let owner = links[link].owner
        client.session = before.session
        var known = owners[owner].sessions[before.session.low] ?? SessionOfWorld(after: before.seq)
        known.place = (link, stream)
        owners[owner].sessions[before.session.low] = known
        tell(.keeps(stream), over: link)
        let behind = Int(before.seq) - Int(known.base)
        for text in known.events.dropFirst(max(0, behind)) {
            tell(.tells(stream, text), over: link)
        }
        settle(client, stream, link)
    }

    // MARK: Checks

    private static func number(of text: [UInt8]) -> UInt64 {
        let digits = text.dropFirst(#"{"seq":"#.utf8.count).prefix { (48...57).contains($0) }
        return digits.reduce(0) { $0 * 10 + UInt64($1 - 48) }
    }

    /// Every event comes once and in its order, as its owner told it.
    mutating func judge(_ text: [UInt8], _ client: Int) {
        told += 1
        let number = Self.number(of: text)
        if number != clients[client].heard + 1 {
            findings.insert(
                number <= clients[client].heard ? "an event came twice" : "an event is missing")
        }
        clients[client].heard = number
        guard let session = clients[client].state.session,
            owners.contains(where: { owner in
                guard let known = owner.sessions[session.low], number > known.base else {
                    return false
                }
                let place = Int(number - known.base) - 1
                return place < known.events.count && known.events[place] == text
            })
        else {
            findings.insert("an event that no owner told")
            return
        }
    }
}
