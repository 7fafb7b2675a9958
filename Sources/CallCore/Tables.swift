// Containers with the words of calls.

import CallModel
import Collections

extension TimerWheel {
    init(at now: Moment) { self.init(at: now.milliseconds) }

    /// Puts `key` into the wheel; it comes out at `moment`.
    mutating func schedule(_ key: TimerKey, at moment: Moment) -> TimerHandle {
        schedule(key.packed, at: moment.milliseconds)
    }

    /// The moment at which to look again; nil: the wheel is empty.
    var nextMoment: Moment? { nextDeadline.map { Moment($0) } }
}

extension FingerprintFilter {
    /// Whether a reply may be kept for `key` of `user` (B25).
    func mayContain(_ user: UserID, _ key: String) -> Bool {
        mayContain(fingerprint(user, key))
    }

    /// Whether a reply may be kept for this very request of `user` under `key`.
    func mayContain(_ user: UserID, _ key: IdempotencyKey) -> Bool {
        mayContain(fingerprint(user, key.text), mark: key.bodyHash)
    }

    /// Remembers that a reply is kept for `key` of `user`. A user's surplus keys stay in the filter
    /// until they are too old: the store has dropped them, so a hit there is a miss.
    mutating func insert(_ user: UserID, _ key: IdempotencyKey, at now: Moment) {
        insert(fingerprint(user, key.text), mark: key.bodyHash, at: now.milliseconds)
    }

    private func fingerprint(_ user: UserID, _ key: String) -> UInt64 {
        seed.mixed(with: user.text).mixed(with: key)
    }
}

extension Cause: SeededHash {
    /// A digest of both users.
    public func hash(_ seed: UInt64) -> UInt32 {
        let user = user?.hash(seed) ?? 0
        // Mostly the two are the same user: one hash is enough.
        guard caller != self.user else { return user }
        return user &* 31 &+ (caller?.hash(seed) ?? 0)
    }
}
