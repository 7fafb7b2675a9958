// What happened to calls, kept for whoever asks why.

import CallModel
import Collections

/// The journals of live calls and of those that ended last, packed within a bound of memory. A
/// request tells it what happens by few function calls, each of which costs little. Owner: the
/// loop's thread.
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
    /// When this process began. What happened before that to older calls is in files, as far as a
    /// process that crashed had written it.
    public let begun: Moment
    /// Whether parts are kept until `takeParts`: a file keeps them.
    public var isWritten = false
    /// Requests and devices of people, for whoever asks why a phone did not ring.
    public internal(set) var people = PeopleJournal()
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

    /// What happened to `user` outside of calls is not known any more.
    public func forget(_ user: UserID) { people.forget(user) }

    // MARK: Keeping

    /// The journal of a call, made if there is none.
    func journal(_ id: CallID, isWhole: Bool) -> CallJournal {
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

    /// Says that a process began in the middle of a call: if the process before crashed, its last
    /// entries may be missing, and nothing else would tell that.
    private func noteBeginning(of journal: CallJournal) {
        journal.pen.begin(.note)
        journal.pen.put(word: "the server was started; after a crash its last second is missing")
        endEntry(of: journal, at: begun)
    }

    private func find(_ id: CallID) -> CallJournal? {
        places.find(id.hash) { journals[$0]?.id == id }.flatMap { journals[$0] }
    }

    /// The journal of a call; nil: there is none in memory.
    func known(_ id: CallID) -> CallJournal? {
        if let recent, recent.id == id { return recent }
        guard let found = find(id) else { return nil }
        recent = found
        return found
    }

    /// An entry is written.
    func endEntry(of journal: CallJournal, at now: Moment) {
        bytes += journal.endEntry(at: now)
        guard isWritten, !journal.isDirty else { return }
        journal.isDirty = true
        dirty.append(journal)
    }

    /// A call has ended: the oldest of those may have to go.
    func ends(_ journal: CallJournal) {
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
}
