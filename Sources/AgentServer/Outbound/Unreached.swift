// Who was called and could be told in no way.

import CallModel

/// The newest invitations of users who had neither a connected device nor a registration for
/// pushes, for whoever asks why a phone did not ring.
struct Unreached {
    private struct Entry {
        let call: CallID
        let user: UserID
    }

    /// How many are kept.
    private let most: Int
    private var entries: [Entry] = []
    /// Where the oldest is, once there are that many.
    private var oldest = 0

    init(most: Int = 1_000) { self.most = most }

    /// Keeps an invitation that nobody heard of; other reasons to wake somebody are nothing new.
    mutating func note(_ job: PushJob) {
        guard job.kind == .invite, job.connected.isEmpty else { return }
        let entry = Entry(call: job.callID, user: job.user)
        if entries.count < most { return entries.append(entry) }
        entries[oldest] = entry
        oldest = (oldest + 1) % most
    }

    /// The users of `call` that were not reached, in no order.
    func users(of call: CallID) -> Set<UserID> {
        Set(entries.lazy.filter { $0.call == call }.map(\.user))
    }
}
