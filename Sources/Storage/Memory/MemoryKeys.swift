// Idempotency keys in memory, within the limits of B25.

import CallModel
import StoreContract

/// What `KeyTable` is on disk.
struct MemoryKeys {
    private struct Name: Hashable {
        let user: UserID
        let key: String
    }

    private var entries: [Int: KeyEntry] = [:]
    private var places: [Name: Int] = [:]
    /// Places of each user's keys, oldest first.
    private var ofUser: [UserID: [Int]] = [:]
    /// No entry has a place below `first`, or `next` or above.
    private var first = 0
    private var next = 0

    func reply(of user: UserID, under key: String) -> KeptReply? {
        places[Name(user: user, key: key)].flatMap { entries[$0]?.kept }
    }

    mutating func put(_ entry: KeyEntry, limits: StoreLimits) {
        let name = Name(user: entry.user, key: entry.key)
        if let old = places[name] { remove(old) }
        entries[next] = entry
        places[name] = next
        ofUser[entry.user, default: []].append(next)
        next += 1
        while let mine = ofUser[entry.user], mine.count > limits.keysPerUser { remove(mine[0]) }
        while entries.count > limits.keysMax { removeOldest() }
    }

    private mutating func remove(_ place: Int) {
        guard let entry = entries.removeValue(forKey: place) else { return }
        places[Name(user: entry.user, key: entry.key)] = nil
        var mine = ofUser.removeValue(forKey: entry.user) ?? []
        mine.removeAll { $0 == place }
        if !mine.isEmpty { ofUser[entry.user] = mine }
    }

    /// Removes all of a user.
    mutating func forget(_ user: UserID) {
        for place in ofUser[user] ?? [] { remove(place) }
    }

    private mutating func removeOldest() {
        while first < next, entries[first] == nil { first += 1 }
        remove(first)
    }

    func marks(after expiry: Moment) -> [KeyMark] {
        entries.sorted { $0.key < $1.key }.map(\.value).filter { $0.at > expiry }
            .map {
                KeyMark(user: $0.user, key: $0.key, bodyHash: $0.kept.bodyHash, at: $0.at)
            }
    }

    /// Removes keys used at `expiry` or before, looking at the `step` oldest; how many.
    mutating func sweep(upTo expiry: Moment, step: Int) -> Int {
        var (looked, removed) = (0, 0)
        while first < next, entries[first] == nil { first += 1 }
        var place = first
        while place < next, looked < step {
            if let entry = entries[place] {
                looked += 1
                if entry.at <= expiry {
                    remove(place)
                    removed += 1
                }
            }
            place += 1
        }
        return removed
    }
}
