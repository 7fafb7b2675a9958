// Front ends, an owner and what is between them in virtual time, and a checker that sees all of it.

import CallModel
import ClusterCore
import StoreContract

/// Some front ends with clients of an owner, with whatever happens to their links.
struct LinkWorld {
    private(set) var now: Milliseconds = 0
    var owners: [OwnerOfWorld] = []
    var fronts: [FrontOfWorld] = []
    var clients: [ClientOfWorld] = []
    var links: [LinkOfWorld] = []
    var dice: SeededGenerator
    let weather: LinkWeather
    let fault: PlantedLinkFault?
    private let times = LinkTimes()
    private var beat: Int64 = 0
    private var takesOverAt: Milliseconds?
    /// Sessions of all owners, for names that are never given twice.
    var lastSession: UInt64 = 0
    /// What the checker found, and what came about.
    var findings: Set<String> = []
    var told = 0
    var refused = 0
    private(set) var resumed = 0
    private(set) var takeovers = 0

    private static let step: Milliseconds = 10
    /// How long a request may wait for an answer, or for the end of its connection.
    private static let answerWithin: Milliseconds = 5_000

    init(
        seed: UInt64, _ weather: LinkWeather, fault: PlantedLinkFault? = nil, fronts count: Int = 3
    ) {
        (self.weather, self.fault) = (weather, fault)
        dice = SeededGenerator(seed: seed)
        owners = [OwnerOfWorld(term: Term(owner: "o1", epoch: 1))]
        for place in 0..<count {
            var state = FrontEndState(times)
            if let fault { state.faults.plant(fault) }
            fronts.append(FrontOfWorld(state: state))
            for _ in 0..<4 {
                clients.append(ClientOfWorld(front: place))
                fronts[place].clients.append(clients.count - 1)
            }
        }
    }

    /// Lets so much time pass.
    mutating func run(for time: Milliseconds) {
        let end = now + time
        while now < end {
            now += Self.step
            happen()
            for place in fronts.indices where now >= fronts[place].pausedUntil {
                turn(front: place)
            }
            for place in owners.indices where now >= owners[place].pausedUntil {
                turn(owner: place)
            }
            check()
        }
    }

    var owner: Int { owners.count - 1 }

    mutating func chance(_ oneIn: Int) -> Bool { Int.random(in: 0..<oneIn, using: &dice) == 0 }

    mutating func time(_ range: ClosedRange<Int>) -> Milliseconds {
        Milliseconds(Int.random(in: range, using: &dice))
    }

    // MARK: What happens

    private mutating func happen() {
        if takesOverAt.map({ now >= $0 }) == true { takeOver() }
        if now % 500 == 0, owners[owner].isAlive, now >= owners[owner].pausedUntil { beat += 1 }
        if weather.takeovers, takesOverAt == nil, chance(1_500) { harmOwner() }
        let place = Int.random(in: fronts.indices, using: &dice)
        if weather.pauses, chance(900) { fronts[place].pausedUntil = now + time(200...6_000) }
        guard let link = fronts[place].link, links[link].isAtFront else { return }
        if weather.resets, chance(400) { reset(link) }
        if weather.silences, chance(700) { links[link].silentUntil = now + time(300...7_000) }
        guard fronts[place].isLinked else { return }
        if weather.replays, chance(300) { replay(link) }
        if weather.gaps, chance(300) {
            _ = flip() ? links[link].toFront.loseOne() : links[link].toOwner.loseOne()
        }
        if weather.oldFrames, chance(300) { forge(link) }
    }

    private mutating func flip() -> Bool { chance(2) }

    /// The connection ends, and both are told.
    private mutating func reset(_ link: Int) {
        let front = links[link].front
        leave(link)
        if fronts[front].link == link { cutOff(front, since: now) }
        if chance(3) { fronts[front].triesAt = now + time(1_000...6_000) }
    }

    private mutating func replay(_ link: Int) {
        if flip() {
            links[link].toFront.put(links[link].toFront.last, now)
        } else {
            links[link].toOwner.put(links[link].toOwner.last, now)
        }
    }

    /// A frame of an earlier epoch with the number that comes next.
    private mutating func forge(_ link: Int) {
        guard let stream = fronts[links[link].front].streams.keys.max() else { return }
        let epoch = owners[links[link].owner].term.epoch - 1
        if flip() {
            let text = #"{"seq":1,"t":"of an owner that is gone"}"#
            let message = LinkMessage.tells(stream, Array(text.utf8))
            links[link].toFront.put(old(message, epoch, links[link].toFront.sent), now)
        } else {
            let message = LinkMessage.says(stream, Array("of an epoch that is over".utf8))
            links[link].toOwner.put(old(message, epoch, links[link].toOwner.sent), now)
        }
    }

    private func old(_ message: LinkMessage, _ epoch: UInt32, _ before: UInt64) -> [UInt8] {
        var writer = LinkWriter(epoch: epoch)
        for _ in 0..<before {
            writer.append(.lives)
            writer.removeAll()
        }
        writer.append(message)
        return writer.take()
    }

    private mutating func harmOwner() {
        takesOverAt = now + time(2_600...4_500)
        if flip() {
            owners[owner].pausedUntil = now + time(3_000...9_000)
            return
        }
        owners[owner].isAlive = false
        for link in links.indices where links[link].owner == owner && links[link].isAtFront {
            leave(link)
            cutOff(links[link].front, since: now)
        }
    }

    private mutating func takeOver() {
        let epoch = owners[owner].term.epoch + 1
        takesOverAt = nil
        takeovers += 1
        owners.append(OwnerOfWorld(term: Term(owner: "o\(epoch)", epoch: epoch)))
    }

    // MARK: Front ends

    private mutating func turn(front: Int) {
        if now >= fronts[front].looksAt {
            fronts[front].looksAt = now + 500
            fronts[front].state.sees(owners[owner].term, beat: beat, at: now)
        }
        if let link = fronts[front].link {
            hear(front, over: link)
        } else if now >= fronts[front].triesAt {
            connect(front)
        }
        if let order = fronts[front].state.due(at: now) { carryOut(order, front) }
        for client in fronts[front].clients { live(client) }
    }

    private mutating func connect(_ front: Int) {
        fronts[front].triesAt = now + 100
        guard owners[owner].isAlive, now >= owners[owner].pausedUntil, takesOverAt == nil else {
            return
        }
        var link = LinkOfWorld(from: front, to: owner, owners[owner].term.epoch, at: now)
        if let fault {
            link.toFront.decoder.faults.plant(fault)
            link.toOwner.decoder.faults.plant(fault)
        }
        links.append(link)
        fronts[front].link = links.count - 1
        let greeting = LinkMessage.greets(LinkGreeting(space: "default", node: "n"))
        say(greeting, over: front)
        tell(greeting, over: links.count - 1)
    }

    private mutating func hear(_ front: Int, over link: Int) {
        if now >= links[link].pulseAt {
            links[link].pulseAt = now + times.pulse
            say(.lives, over: front)
        }
        var heard: [LinkMessage] = []
        do throws(LinkFault) {
            if now >= links[link].silentUntil,
                try links[link].toFront.arrive(at: now, &heard)
            {
                links[link].heardByFront = now
            }
        } catch {
            refused += 1
            for message in heard { hear(message, front) }
            leave(link)
            return cutOff(front, since: now)
        }
        for message in heard { hear(message, front) }
        let since = links[link].heardByFront
        guard now - since > times.silence else { return }
        leave(link)
        cutOff(front, since: since)
    }

    private mutating func linked(_ front: Int, _ epoch: UInt32) {
        forgetStreams(front)
        (fronts[front].isLinked, fronts[front].brokeAt) = (true, nil)
        guard case .present(let isSame) = fronts[front].state.links(epoch) else { return }
        for client in fronts[front].clients where !clients[client].isGone {
            guard isSame || !clients[client].state.isBusy else {
                close(client)
                continue
            }
            guard let before = clients[client].state.returns() else { continue }
            if !isSame, clients[client].isInCall {
                findings.insert("a client in a call goes on with another owner")
            }
            if clients[client].waitsSince != nil {
                findings.insert("a request is forgotten, and its client stays")
            }
            resumed += 1
            let stream = stream(of: client)
            say(.returns(stream, before), over: front)
        }
    }

    private mutating func forgetStreams(_ front: Int) {
        (fronts[front].streams, fronts[front].lastStream) = ([:], 0)
        for client in fronts[front].clients { clients[client].stream = nil }
    }

    private mutating func cutOff(_ front: Int, since moment: Milliseconds) {
        (fronts[front].link, fronts[front].isLinked) = (nil, false)
        fronts[front].brokeAt = fronts[front].brokeAt ?? moment
        forgetStreams(front)
        if let order = fronts[front].state.breaks(at: moment) { carryOut(order, front) }
    }

    private mutating func carryOut(_ order: FrontEndOrder, _ front: Int) {
        for client in fronts[front].clients where !clients[client].isGone {
            switch order {
            case .closeAsking where clients[client].state.unsettled > 0: close(client)
            case .closeBusy where clients[client].state.isBusy: close(client)
            case .closeAll: close(client)
            case .closeAsking, .closeBusy, .present: break
            }
        }
    }

    private mutating func hear(_ message: LinkMessage, _ front: Int) {
        switch message {
        case .greets:
            if let link = fronts[front].link { linked(front, owners[links[link].owner].term.epoch) }
        case .tells(let stream, let text):
            guard let client = fronts[front].streams[stream] else { return }
            clients[client].state.hears(text)
            clients[client].isInCall = true
            judge(text, client)
        case .begins(let stream, let session):
            guard let client = fronts[front].streams[stream] else { return }
            clients[client].state.begins(session)
        case .settles(let stream, let mark):
            guard let client = fronts[front].streams[stream] else { return }
            _ = clients[client].state.settles(mark)
            clients[client].isInCall = !mark.isIdle
            if clients[client].state.unsettled == 0 { clients[client].waitsSince = nil }
        default: break
        }
    }

    // MARK: Clients

    private mutating func live(_ client: Int) {
        if clients[client].isGone {
            guard now >= clients[client].comesAt, fronts[clients[client].front].isLinked else {
                return
            }
            var new = ClientOfWorld(front: clients[client].front)
            new.said = clients[client].said
            if let fault { new.state.faults.plant(fault) }
            clients[client] = new
        }
        guard now >= clients[client].asks, fronts[clients[client].front].isLinked,
            clients[client].state.unsettled == 0
        else { return }
        clients[client].asks = now + time(50...1_500)
        clients[client].said += 1
        let isFirst = clients[client].state.session == nil
        let kind = isFirst ? "h" : chance(3) ? "c" : "e"
        let text = Array("\(kind)\(client)-\(clients[client].said)".utf8)
        clients[client].waitsSince = now
        let stream = stream(of: client)
        text.withUnsafeBytes { clients[client].state.says($0) }
        say(.says(stream, text), over: clients[client].front)
    }

    private mutating func stream(of client: Int) -> StreamID {
        if let stream = clients[client].stream { return stream }
        let front = clients[client].front
        fronts[front].lastStream += 1
        let stream = StreamID(fronts[front].lastStream)
        say(.opens(stream, StreamOpening(host: "", agent: "")), over: front)
        clients[client].stream = stream
        fronts[front].streams[stream] = client
        return stream
    }

    private mutating func say(_ message: LinkMessage, over front: Int) {
        guard let link = fronts[front].link else { return }
        links[link].toOwner.send(message, arrivingAt: now + time(1...40))
    }

    private mutating func close(_ client: Int) {
        let front = clients[client].front
        if let stream = clients[client].stream {
            fronts[front].streams[stream] = nil
            say(.leaves(stream, isSilent: false), over: front)
        }
        (clients[client].isGone, clients[client].stream) = (true, nil)
        (clients[client].waitsSince, clients[client].comesAt) = (nil, now + time(50...2_000))
    }

    // MARK: Checks

    private mutating func check() {
        guard now % 50 == 0 else { return }
        for front in fronts.indices where now >= fronts[front].pausedUntil { check(front) }
    }

    private mutating func check(_ front: Int) {
        let some = fronts[front].clients.filter { !clients[$0].isGone }
        for client in some {
            // A front end that stood still looks at its link when it goes on.
            let since = max(clients[client].waitsSince ?? now, fronts[front].pausedUntil)
            if now - since > Self.answerWithin { findings.insert("a request has no answer") }
        }
        guard let brokeAt = fronts[front].brokeAt, fronts[front].link == nil else { return }
        let long = now - max(brokeAt, fronts[front].pausedUntil)
        if long > times.silence + 100, fronts[front].state.isReady(at: now) {
            findings.insert("a front end without a link is ready")
        }
        if long > times.patience + 200, !some.isEmpty {
            findings.insert("clients stay where nobody serves them")
        }
        let isWell = takesOverAt == nil && owners[owner].isAlive && now >= owners[owner].pausedUntil
        if isWell, takeovers == 0, long > times.silence + 1_200, !some.isEmpty {
            findings.insert("clients stay at a node that does not reach the owner")
        }
        let inCall = some.filter { clients[$0].isInCall }
        if long > times.silence + 200, !inCall.isEmpty {
            findings.insert("a client in a call stays without an owner")
        }
    }
}
