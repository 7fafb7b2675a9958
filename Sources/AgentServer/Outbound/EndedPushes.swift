// Pushes for whoever looks after the server.

import CallModel
import JSON

/// The newest pushes that ended, in memory.
struct EndedPushes {
    /// Pushes that are kept.
    static let most = 1_000

    /// One push, which may not have ended yet.
    struct Entry {
        let name: String
        let job: PushJob
        let address: Address
        let provider: String
        let since: Moment
        /// When it ended; nil: it has not.
        let at: Moment?
        /// How often it was tried; 0: not known yet.
        let attempts: Int
        /// What came of it; nil: nothing yet.
        let result: String?

        /// `open`, `sent` or `failed`.
        var state: String { result == nil ? "open" : result == "sent" ? "sent" : "failed" }

        /// `push`, `call_id`, `user`, `device`, `provider`, `kind`, `state`, `since_at`,
        /// `ended_at`, `attempts`, `result`.
        var json: JSONValue {
            [
                "push": .string(name), "call_id": .string("\(job.callID)"),
                "user": .string(address.user.text), "device": .string(address.device.text),
                "provider": .string(provider), "kind": .string(job.kind.rawValue),
                "state": .string(state), "since_at": .integer(since.milliseconds),
                "ended_at": at.map { .integer($0.milliseconds) } ?? .null,
                "attempts": result == nil ? .null : .integer(Int64(attempts)),
                "result": result.map { .string($0) } ?? .null,
            ]
        }
    }

    private var entries: [Entry] = []
    private var oldest = 0

    mutating func add(_ entry: Entry) {
        guard entries.count == Self.most else { return entries.append(entry) }
        entries[oldest] = entry
        oldest = (oldest + 1) % Self.most
    }

    /// Pushes to `user`, and those of their calls, are not known any more.
    mutating func forget(_ user: UserID) {
        entries = (entries[oldest...] + entries[..<oldest]).filter {
            $0.address.user != user && !$0.job.cause.names(user)
        }
        oldest = 0
    }

    /// The newest first.
    var newest: [Entry] { (entries[oldest...] + entries[..<oldest]).reversed() }

    /// The newest one of that name.
    subscript(name: String) -> Entry? { newest.first { $0.name == name } }
}

extension Cause {
    /// Whether it is `user` who called, or who made the call's event.
    func names(_ user: UserID) -> Bool { caller == user || self.user == user }
}
