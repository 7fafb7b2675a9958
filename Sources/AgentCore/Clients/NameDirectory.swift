// What people are called: shown, never asked about who somebody is.

import CallModel
import Collections
import StoreContract

/// The names that the server knows (K108): the operator's, those that a server set, and those that
/// tokens say, in this order. Bounded: where there is no more room, a name from a token that was
/// not said again lately is dropped; it comes back with its user. Owner: the exchange's thread.
public final class NameDirectory: NameSource {
    private struct Entry {
        let user: UserID
        var name: PersonName
        var origin: NameOrigin
        /// Whether it was said again since somebody looked for room.
        var isRecent: Bool
    }

    /// The operator's.
    private var fixed: [UserID: PersonName] = [:]
    private var index = HashIndex()
    private var entries = Slab<Entry>()
    /// Where the search for room goes on.
    private var hand: Int32 = 0
    /// The seed is secret, so that nobody can choose users whose hashes collide.
    private let seed: UInt64
    /// Names kept, those of the operator not counted.
    public private(set) var count = 0
    /// How many of them servers set: these do not go for others.
    private var serverCount = 0
    /// How many may be kept.
    public var limit: Int
    /// Another number after each change, so that texts made before are not used again.
    public private(set) var version: UInt64 = 0
    /// Names that were left out because there was no room.
    public private(set) var leftOut: UInt64 = 0
    /// While kept names come in pages: the last user of the page before, and who was named since.
    private var loading: (last: UserID?, changed: Set<UserID>)?
    private var waiting: [() -> Void] = []

    init(limit: Int, seed: UInt64) {
        self.limit = limit
        self.seed = seed
    }

    /// Whether nobody has a name.
    public var isEmpty: Bool { count == 0 && fixed.isEmpty }

    /// What `user` is called, as text; nil: they have no name.
    public func name(of user: UserID) -> String? { person(user)?.text }

    /// What `user` is called; nil: they have no name.
    public func person(_ user: UserID) -> PersonName? {
        if isEmpty { return nil }
        if !fixed.isEmpty, let name = fixed[user] { return name }
        return find(user).flatMap { entries[$0]?.name }
    }

    private func find(_ user: UserID) -> Int32? {
        index.find(user.hash(seed)) { entries[$0]?.user == user }
    }

    // MARK: Who says so

    /// The operator's names from now on.
    func fix(_ names: [UserID: PersonName]) {
        guard names != fixed else { return }
        fixed = names
        version &+= 1
    }

    /// Whether a server may set a name of `user`.
    func hasRoom(for user: UserID) -> Bool {
        serverCount < limit || find(user) != nil
    }

    /// A token says what `user` is called.
    ///
    /// - Returns: what is to be stored; mostly nothing, because the token says the same as the one
    ///   before.
    func learn(_ name: PersonName, of user: UserID) -> [StoreChange] {
        if let place = find(user), let entry = entries[place] {
            if !entry.isRecent { entries.change(at: place) { $0.isRecent = true } }
            guard entry.origin == .token, entry.name != name else { return [] }
        }
        guard let gone = put(name, of: user, from: .token) else { return [] }
        return gone + [.name(user, name, from: .token)]
    }

    /// A server says what `user` is called; nil: what was said is taken back. The change itself is
    /// stored by whoever calls.
    ///
    /// - Returns: what is to be stored besides.
    func set(_ name: PersonName?, of user: UserID) -> [StoreChange] {
        loading?.changed.insert(user)
        if let name { return put(name, of: user, from: .server) ?? [] }
        if let place = find(user) { remove(at: place) }
        return []
    }

    /// Keeps a name.
    ///
    /// - Returns: the names that went for it; nil: it is left out, because none could go.
    private func put(
        _ name: PersonName, of user: UserID, from origin: NameOrigin
    ) -> [StoreChange]? {
        if let place = find(user) {
            change(at: place, to: name, from: origin)
            return []
        }
        guard let gone = makeRoom(for: origin) else {
            leftOut &+= 1
            return nil
        }
        insert(Entry(user: user, name: name, origin: origin, isRecent: true))
        return gone.map { .name($0, nil, from: .token) }
    }

    /// Makes room for one name more.
    ///
    /// - Returns: whose name went; nil: there is no room.
    private func makeRoom(for origin: NameOrigin) -> [UserID]? {
        guard count >= limit else { return [] }
        // Only names of tokens go.
        guard serverCount < count else { return nil }
        // A server waits for its answer: it finds the last place there is. A client's name is
        // looked at with the next token again, so it costs little.
        let most = origin == .server ? 2 * entries.placeCount : Self.looks
        for _ in 0..<most {
            hand = Int(hand) + 1 < entries.placeCount ? hand + 1 : 0
            guard let entry = entries[hand], entry.origin == .token else { continue }
            if entry.isRecent {
                entries.change(at: hand) { $0.isRecent = false }
            } else {
                remove(at: hand)
                return [entry.user]
            }
        }
        return nil
    }

    /// Names that are looked at for one more of a token.
    private static let looks = 64

    private func insert(_ entry: Entry) {
        index.insert(entry.user.hash(seed), entries.insert(entry))
        count += 1
        version &+= 1
        if entry.origin == .server { serverCount += 1 }
    }

    private func change(at place: Int32, to name: PersonName, from origin: NameOrigin) {
        if origin == .server, entries[place]?.origin == .token { serverCount += 1 }
        entries.change(at: place) { ($0.name, $0.origin) = (name, origin) }
        version &+= 1
    }

    private func remove(at place: Int32) {
        guard let entry = entries.remove(at: place) else { return }
        index.remove(entry.user.hash(seed), place)
        count -= 1
        if entry.origin == .server { serverCount -= 1 }
        version &+= 1
    }

    // MARK: What was kept

    /// Forgets what was said: what is kept is about to come, page by page.
    func beginLoading() {
        (index, entries, hand) = (HashIndex(), Slab(), 0)
        (count, serverCount) = (0, 0)
        version &+= 1
        loading = (nil, [])
    }

    /// The next page to ask for; nil: everything is there.
    var nextPage: StoreQuery? { loading.map { .names(after: $0.last, limit: Self.pageSize) } }

    /// Takes a page over.
    ///
    /// - Returns: what is to be stored: names from tokens for which there is no room any more are
    ///   removed.
    func take(_ page: [StoredName]) -> [StoreChange] {
        guard let loading else { return [] }
        var gone: [StoreChange] = []
        for kept in page where !loading.changed.contains(kept.user) {
            if !take(kept) { gone.append(.name(kept.user, nil, from: .token)) }
        }
        if page.count < Self.pageSize {
            loadingEnded()
        } else {
            self.loading?.last = page.last?.user
        }
        return gone
    }

    private func take(_ kept: StoredName) -> Bool {
        if let place = find(kept.user) {
            // A token has said something since; a server's word stays above it.
            if kept.origin == .server { change(at: place, to: kept.name, from: .server) }
            return true
        }
        guard count < limit || kept.origin == .server else { return false }
        insert(Entry(user: kept.user, name: kept.name, origin: kept.origin, isRecent: false))
        return true
    }

    /// Everything is there, or what is left cannot be read.
    func loadingEnded() {
        loading = nil
        let ready = waiting
        waiting = []
        for action in ready { action() }
    }

    /// Does `action` when everything that was kept is there, mostly at once.
    func whenLoaded(_ action: @escaping () -> Void) {
        if loading == nil { action() } else { waiting.append(action) }
    }

    /// Names that come at once: the loop has less than a millisecond to do with them.
    static let pageSize = 1_000
}
