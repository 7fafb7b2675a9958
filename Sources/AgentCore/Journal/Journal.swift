// What happened to calls, kept for whoever asks why.

import CallModel
import Collections

/// One plugin's part of a decision, for the journal.
public struct JournalAnswer: Sendable {
    /// The hook, without `on.`.
    public var hook: String
    /// The account that it was about.
    public var user: UserID
    /// Who was asked.
    public var plugin: String
    /// The generation of the plugin.
    public var generation: String
    /// `accept`, `reject`, …, or what became of the question.
    public var decision: String
    /// More of the decision, for a person.
    public var detail: String?
    /// Processor time of its runs, in nanoseconds.
    public var processor: UInt64
    /// From when it was asked to its answer.
    public var wall: Milliseconds
    /// How the plugin failed; nil: it did not.
    public var failure: String?

    /// `plugin` was asked at `hook` about `user`, and said `decision`.
    public init(hook: String, user: UserID, plugin: String, generation: String, decision: String) {
        (self.hook, self.user, self.plugin) = (hook, user, plugin)
        (self.generation, self.decision) = (generation, decision)
        (processor, wall) = (0, 0)
    }
}

/// Something that was sent out because of a call.
public struct JournalDelivery: Sendable {
    /// Whom a push is to wake; nil: a webhook.
    public var address: (user: UserID, device: DeviceID?)?
    /// The type of an event, such as `call.created`; nil: a push.
    public var event: String?
    /// The provider or receiver.
    public var target: String
    /// `sent`, `failed`, `unreached`, …
    public var state: String
    /// What was said about it.
    public var status: String?
    /// How long it took.
    public var took: Milliseconds
    /// The trace of what brought it about.
    public var trace: TraceParent?

    /// Something was sent to `target`, and became `state`.
    public init(
        to address: (user: UserID, device: DeviceID?)? = nil, _ target: String, _ state: String,
        status: String? = nil, took: Milliseconds = 0
    ) {
        (self.address, self.target, self.state) = (address, target, state)
        (self.status, self.took) = (status, took)
    }
}

/// The journals of live calls and of those that ended last, packed within a bound of memory. It is
/// told of what happens by few calls in the way of a request, each of which costs little. Owner:
/// the loop's thread.
public final class Journal {
    /// How much is kept.
    public struct Limits: Sendable, Equatable {
        /// Ended calls.
        public var calls = 10_000
        /// Bytes of all journals, roughly.
        public var memory = 64 << 20

        /// The defaults.
        public init() {}
    }

    /// What is known of a call.
    public struct Found: Sendable {
        /// Packed entries: `JournalText` makes JSON of them.
        public let bytes: [UInt8]
        /// From when their times count.
        public let since: Moment
        /// Entries that were taken out of the middle.
        public let leftOut: Int
        /// Signals that were sent in the call; they have no entries.
        public let signals: Int
        /// Whether nothing is missing at its beginning.
        public let isWhole: Bool

        /// The packed `bytes`, whose times count `since` a moment.
        public init(
            bytes: [UInt8], since: Moment, leftOut: Int = 0, signals: Int = 0, isWhole: Bool
        ) {
            (self.bytes, self.since, self.isWhole) = (bytes, since, isWhole)
            (self.leftOut, self.signals) = (leftOut, signals)
        }
    }

    /// A part of a journal that is to be written to a file.
    public struct Part: Sendable {
        /// Whose journal.
        public let call: CallID
        /// From when its times count.
        public let since: Moment
        /// Packed entries.
        public let bytes: [UInt8]
    }

    /// How much is kept; a smaller bound counts from the next entry on.
    public var limits = Limits()
    /// When this process began. What happened before to calls that are older is in files, as far
    /// as a process that crashed had written it.
    private let begun: Moment
    /// Whether parts are kept until `takeParts`: a file keeps them.
    public var isWritten = false
    /// Requests and devices of people, for whoever asks why a phone did not ring.
    public private(set) var people = PeopleJournal()
    private var journals = Slab<CallJournal>()
    private var places = HashIndex()
    /// Those of ended calls, in the order in which they ended.
    private var ended = Queue<CallID>()
    /// The ends of the list of all, by their beginnings.
    private unowned(unsafe) var oldest: CallJournal?
    private unowned(unsafe) var newest: CallJournal?
    private var bytes = 0
    private var dirty: [CallJournal] = []
    /// The journal that was written to last: mostly the next entry is of the same call.
    private var recent: CallJournal?

    /// No journals, of a process that began at this moment.
    public init(begun: Moment = Moment(0)) { self.begun = begun }

    /// The packed journal of a call; nil: there is none in memory.
    public func found(_ id: CallID) -> Found? {
        find(id).map {
            Found(
                bytes: $0.bytes, since: $0.since, leftOut: $0.leftOut, signals: $0.signals,
                isWhole: $0.isWhole)
        }
    }

    /// How many journals there are, and their bytes.
    public var size: (calls: Int, bytes: Int) { (journals.count, bytes) }

    /// What is to be written to the file since the last time.
    public func takeParts() -> [Part] {
        defer { dirty.removeAll(keepingCapacity: true) }
        return dirty.map { journal in
            journal.isDirty = false
            return Part(call: journal.id, since: journal.since, bytes: journal.takeUnwritten())
        }
    }

    // MARK: Forgetting

    /// The calls that it has.
    public var callIDs: [CallID] { journals.values.map(\.id) }

    /// The journal of a call names `gone` no more.
    public func forget(_ gone: Forgotten, in id: CallID) {
        guard let journal = find(id) else { return }
        let before = journal.size
        journal.forget(gone)
        bytes += journal.size - before
    }

    /// What happened to `user` beside calls is not known any more.
    public func forget(_ user: UserID) { people.forget(user) }

    // MARK: Entries

    private func journal(_ id: CallID, isWhole: Bool) -> CallJournal {
        if let recent, recent.id == id { return recent }
        if let known = find(id) {
            recent = known
            return known
        }
        let isOlder = id.createdAt < begun
        let new = CallJournal(id, since: id.createdAt, isWhole: isWhole && !isOlder)
        new.place = journals.insert(new)
        places.insert(id.hash, new.place)
        recent = new
        new.older = newest
        newest?.newer = new
        newest = new
        oldest = oldest ?? new
        bytes += Self.headBytes
        while bytes > limits.memory, let oldest, oldest !== new { forget(oldest) }
        if isOlder { noteBeginning(of: new) }
        return new
    }

    /// Says that a process began in the midst of a call: of one that crashed its last entries may
    /// be missing, and nobody else would tell.
    private func noteBeginning(of journal: CallJournal) {
        journal.pen.begin(.note)
        journal.pen.put(word: "the server was started; after a crash its last second is missing")
        endEntry(of: journal, at: begun)
    }

    private func find(_ id: CallID) -> CallJournal? {
        places.find(id.hash) { journals[$0]?.id == id }.flatMap { journals[$0] }
    }

    private func known(_ id: CallID) -> CallJournal? {
        if let recent, recent.id == id { return recent }
        guard let found = find(id) else { return nil }
        recent = found
        return found
    }

    private func endEntry(of journal: CallJournal, at now: Moment) {
        bytes += journal.endEntry(at: now)
        guard isWritten, !journal.isDirty else { return }
        journal.isDirty = true
        dirty.append(journal)
    }

    /// A user asked for something in a call that is there, or makes one.
    ///
    /// - Parameter code: why it was refused; nil: it was not.
    public func asks(
        _ request: Request, _ code: Refusal.Code?, in id: CallID, at now: Moment
    ) {
        // Only a request that makes a call has its beginning.
        var isNew = true
        if case .call = request.operation { isNew = false }
        let journal = journal(id, isWhole: isNew)
        journal.pen.begin(.request)
        journal.pen.put(request.operation.name.rawValue)
        journal.pen.put(request.user.text)
        journal.pen.put(request.device.text)
        journal.pen.put(optional: code?.rawValue)
        journal.pen.put(request.trace)
        endEntry(of: journal, at: now)
    }

    /// A call is as it is now because of what `actor` did.
    public func changed(
        _ call: borrowing Call, by actor: (name: String, device: String?), at now: Moment
    ) {
        let journal = journal(call.id, isWhole: call.revision <= 1)
        journal.pen.begin(.change)
        journal.pen.put(number: UInt64(call.revision))
        journal.pen.put(actor.name)
        journal.pen.put(optional: actor.device)
        journal.pen.put(call.state.place)
        let end = call.end
        journal.pen.put(optional: end?.reason.rawValue)
        if let end {
            journal.pen.put(optional: end.detail?.rawValue)
            journal.pen.put(optional: end.by?.text)
        }
        putChanges(of: call, journal)
        endEntry(of: journal, at: now)
        if call.media.place != journal.media {
            journal.media = call.media.place
            journal.pen.begin(.media)
            journal.pen.put(call.media.place)
            endEntry(of: journal, at: now)
        }
        if !call.isLive { ends(journal) }
    }

    /// The participants whose state is another one than at the last change.
    private func putChanges(of call: borrowing Call, _ journal: CallJournal) {
        // With its end the states are forgotten.
        let isKept = call.isLive || journal.hasEnded
        call.participants.withUnsafeBufferPointer { people in
            var count: UInt64 = 0
            for place in people.indices where isNews(place, people, journal) { count += 1 }
            journal.pen.put(number: count)
            for place in people.indices where isNews(place, people, journal) {
                journal.pen.put(people[place].user.text)
                journal.pen.put(people[place].state.place)
                journal.pen.put(Self.place(of: people[place].reason))
            }
            guard isKept else { return }
            journal.states = people.indices.flatMap {
                [people[$0].state.place, Self.place(of: people[$0].reason)]
            }
        }
    }

    private func isNews(
        _ place: Int, _ people: UnsafeBufferPointer<Participant>, _ journal: CallJournal
    ) -> Bool {
        2 * place + 1 >= journal.states.count
            || journal.states[2 * place] != people[place].state.place
            || journal.states[2 * place + 1] != Self.place(of: people[place].reason)
    }

    private static func place(of reason: Participant.Reason?) -> UInt8 {
        reason.map { $0.place + 1 } ?? 0
    }

    private func ends(_ journal: CallJournal) {
        guard !journal.hasEnded else { return }
        journal.hasEnded = true
        journal.states = []
        ended.append(journal.id)
        while ended.count > limits.calls, let id = ended.removeFirst() {
            if let old = find(id) { forget(old) }
        }
    }

    /// What a journal takes beside its entries, in bytes, roughly.
    private static let headBytes = 256

    /// A journal is in memory no more; a file may have it.
    private func forget(_ old: CallJournal) {
        old.older?.newer = old.newer
        old.newer?.older = old.older
        if oldest === old { oldest = old.newer }
        if newest === old { newest = old.older }
        bytes -= old.size + Self.headBytes
        if recent === old { recent = nil }
        places.remove(old.id.hash, old.place)
        _ = journals.remove(at: old.place)
    }

    /// A question about a call goes to the policies.
    public func asked(_ question: borrowing Question, at now: Moment) {
        let subject = question.subject
        let call = subject.call
        let journal = journal(call.id, isWhole: call.revision <= 1)
        journal.pen.begin(.asked)
        switch subject {
        case .invite(_, let callee, _):
            journal.pen.put(word: "invite")
            journal.pen.put(callee.text)
        case .dial(_, let user, _):
            journal.pen.put(word: "dial")
            journal.pen.put(user.text)
        case .incomingData(_, let user, _):
            journal.pen.put(word: "extended_data")
            journal.pen.put(user.text)
        case .outgoingData:
            journal.pen.put(word: "extended_data")
            journal.pen.put(word: "")
        case .join(_, let user):
            journal.pen.put(word: "join")
            journal.pen.put(user.text)
        case .token(_, let user):
            journal.pen.put(word: "token")
            journal.pen.put(user.text)
        }
        journal.pen.put(question.trace)
        endEntry(of: journal, at: now)
    }

    /// A plugin answered, or did not.
    public func answered(_ answer: borrowing JournalAnswer, in id: CallID, at now: Moment) {
        guard let journal = known(id) else { return }
        journal.pen.begin(.answered)
        journal.pen.put(answer.hook)
        journal.pen.put(answer.user.text)
        journal.pen.put(answer.plugin)
        journal.pen.put(answer.generation)
        journal.pen.put(answer.decision)
        journal.pen.put(optional: answer.detail)
        journal.pen.put(number: answer.processor / 1_000)
        journal.pen.put(number: UInt64(max(0, answer.wall)) * 1_000)
        journal.pen.put(optional: answer.failure)
        endEntry(of: journal, at: now)
    }

    /// A device was told of an event under the number `seq`.
    public func told(
        _ event: borrowing CallEvent, _ address: Address, _ seq: UInt64, at now: Moment
    ) {
        guard let journal = known(event.callID) else { return }
        let name = event.kind.name
        guard name != .signal else {
            journal.signals += 1
            return
        }
        if case .timer(let timer) = event.actor, journal.timerRevision != event.revision {
            journal.timerRevision = event.revision
            journal.pen.begin(.timer)
            journal.pen.put(timer.place)
            endEntry(of: journal, at: now)
        }
        journal.pen.begin(.told)
        journal.pen.put(name.place)
        journal.pen.put(address.user.text)
        journal.pen.put(address.device.text)
        journal.pen.put(number: seq)
        endEntry(of: journal, at: now)
    }

    /// A device has acknowledged that it was called.
    public func acknowledged(_ id: CallID, by address: Address, at now: Moment) {
        note(.acknowledged, address, nil, in: id, at: now)
    }

    /// A device of a participant is there, or gone.
    public func connection(
        of address: Address, isThere: Bool, _ why: String?, in calls: [CallID], at now: Moment
    ) {
        for id in calls {
            note(isThere ? .connected : .disconnected, address, why, in: id, at: now)
        }
        people.connection(of: address, isThere: isThere, why, at: now)
    }

    private func note(
        _ kind: JournalKind, _ address: Address, _ why: String?, in id: CallID, at now: Moment
    ) {
        guard let journal = known(id) else { return }
        journal.pen.begin(kind)
        journal.pen.put(address.user.text)
        journal.pen.put(address.device.text)
        if kind == .disconnected { journal.pen.put(optional: why) }
        endEntry(of: journal, at: now)
    }

    /// Something was sent out because of a call.
    public func sent(_ delivery: JournalDelivery, in id: CallID, at now: Moment) {
        guard let journal = known(id) else { return }
        journal.pen.begin(delivery.address == nil ? .webhook : .push)
        if let address = delivery.address {
            journal.pen.put(address.user.text)
            journal.pen.put(optional: address.device?.text)
        }
        journal.pen.put(delivery.target)
        journal.pen.put(delivery.state)
        journal.pen.put(optional: delivery.status)
        journal.pen.put(number: UInt64(max(0, delivery.took)))
        if let event = delivery.event {
            // A program that knows of no event looks for the trace in this place.
            journal.pen.put(optional: delivery.trace?.description)
            journal.pen.put(event)
        } else {
            journal.pen.put(delivery.trace)
        }
        endEntry(of: journal, at: now)
    }

    /// An invitation was refused before there was a call, or a device was sent away.
    public func noteRefused(
        _ operation: Operation, by user: UserID, _ refusal: Refusal, at now: Moment
    ) {
        people.refused(operation, by: user, refusal, at: now)
    }

    /// A device's token is good no more.
    public func noteRevoked(_ address: Address, at now: Moment) {
        people.connection(of: address, isThere: false, "revoked", at: now)
    }
}

extension CaseIterable where Self: RawRepresentable<String> {
    /// The place among the cases, as an entry has it.
    fileprivate var place: UInt8 { UInt8(truncatingIfNeeded: casePlace) }
}
