// Reads a whole store on disk, to bring it into another one.

import CallModel
import Glibc
import StoreContract

/// Everything in a state directory, as changes that make the same store again.
public final class StoreExport {
    private let directory: StateDirectory
    private let connection: DatabaseConnection
    /// The newest moment ever committed.
    public let newest: Moment?
    /// Whether the process that had it ended in good order.
    public let endedCleanly: Bool
    /// Records that were left out because they cannot be read.
    public private(set) var damage = DamagedCalls()

    /// Opens the store in `directory`; its tables are brought to the newest version.
    public init(of directory: StateDirectory) throws(StoreError) {
        self.directory = directory
        try directory.prepareDatabase()
        connection = try Opening.writer(at: directory.database, StoreOptions(), .current)
        newest = try connection.newestMoment()
        endedCleanly = try connection.mark("clean", most: 1) == 1
    }

    /// Whether there is a store in the directory at `path`. Otherwise `init` makes one, and there
    /// is nothing in it.
    public static func hasStore(at path: String) -> Bool {
        var status = stat()
        return stat(StateDirectory.database(in: path), &status) == 0 && status.st_size > 0
    }

    /// Gives all changes in batches, each with the moment of its commit.
    public func read(
        _ body: @escaping ([StoreChange], Moment) throws(StoreError) -> Void
    ) throws(StoreError) {
        var batch = Batch(at: newest ?? Moment(0), body: body)
        try readCalls(&batch)
        try readKeys(&batch)
        try readNames(&batch)
        try readRegistrations(&batch)
        try readOutbox(&batch)
        try readPlugins(&batch)
        // Also where there was nothing else: the newest moment is kept.
        batch.changes.append(.value(.remove(plugin: "", key: "")))
        try batch.flush()
    }

    /// Changes that are written together.
    private struct Batch {
        var changes: [StoreChange] = []
        let at: Moment
        let body: ([StoreChange], Moment) throws(StoreError) -> Void

        init(
            at: Moment, body: @escaping ([StoreChange], Moment) throws(StoreError) -> Void
        ) {
            (self.at, self.body) = (at, body)
        }

        mutating func add(_ change: StoreChange) throws(StoreError) {
            changes.append(change)
            if changes.count >= Self.size { try flush() }
        }

        mutating func flush(at moment: Moment? = nil) throws(StoreError) {
            guard !changes.isEmpty else { return }
            try body(changes, moment ?? at)
            changes = []
        }

        private static let size = 500
    }

    private func readCalls(_ batch: inout Batch) throws(StoreError) {
        for table in ["ended_call ORDER BY place", "live_call ORDER BY id"] {
            let all = try connection.prepare(
                "SELECT id, record FROM \(table)", for: "reading calls")
            try all.rows { (row) throws(StoreError) in
                do throws(StoreError) {
                    try batch.add(.call(try connection.call(of: row, id: 0, record: 1)))
                } catch {
                    guard error.kind == .damagedRecord else { throw error }
                    damage.note(error)
                }
                return true
            }
        }
        let missed = try connection.prepare(
            "SELECT user, call, at FROM missed_call", for: "reading missed calls")
        try missed.rows { (row) throws(StoreError) in
            guard let call = row.id(1) else { return true }
            try batch.add(.missed(UserID(row.text(0)), call, at: row.moment(2)))
            return true
        }
    }

    private func readKeys(_ batch: inout Batch) throws(StoreError) {
        let all = try connection.prepare(
            "SELECT user, key, at, body_hash, reply FROM kept_reply ORDER BY place",
            for: "reading kept replies")
        try all.rows { (row) throws(StoreError) in
            let kept = KeptReply(
                bodyHash: UInt64(bitPattern: row.integer(3)), reply: row.bytes(4))
            try batch.add(
                .key(
                    KeyEntry(
                        user: UserID(row.text(0)), key: row.text(1), at: row.moment(2),
                        kept: kept)))
            return true
        }
    }

    private func readNames(_ batch: inout Batch) throws(StoreError) {
        let all = try connection.prepare(
            "SELECT user, name, origin FROM person_name", for: "reading names")
        try all.rows { (row) throws(StoreError) in
            guard let kept = StoredName(row) else { return true }
            try batch.add(.name(kept.user, kept.name, from: kept.origin))
            return true
        }
    }

    /// A registration has the moment of its commit.
    private func readRegistrations(_ batch: inout Batch) throws(StoreError) {
        try batch.flush()
        var last: Moment?
        let all = try connection.prepare(
            """
            SELECT user, device, provider, token, environment, registered_at FROM registration
            ORDER BY registered_at
            """, for: "reading push registrations")
        try all.rows { (row) throws(StoreError) in
            let at = row.moment(5)
            if let last, last != at { try batch.flush(at: last) }
            last = at
            let registration = PushRegistration(
                provider: row.text(2), token: row.text(3), environment: row.optionalText(4))
            batch.changes.append(
                .registration(
                    Address(UserID(row.text(0)), DeviceID(row.text(1))), provider: row.text(2),
                    registration))
            return true
        }
        if let last { try batch.flush(at: last) }
    }

    private func readOutbox(_ batch: inout Batch) throws(StoreError) {
        let reader = try StoreReader(in: directory)
        var last: JobID?
        while true {
            let some = try reader.openPushes(after: last, limit: 500)
            for push in some { try batch.add(.push(.add(push.id, push.job))) }
            guard let next = some.last?.id else { break }
            last = next
        }
        let outcomes = try connection.prepare(
            """
            SELECT call, job, user, device, provider, kind, at, result FROM push_outcome
            """, for: "reading push outcomes")
        try outcomes.rows { (row) throws(StoreError) in
            guard let call = row.id(0) else { return true }
            let outcome = PushOutcome(
                job: JobID(row.integer(1)), call: call,
                address: Address(UserID(row.text(2)), DeviceID(row.text(3))),
                provider: row.text(4), kind: PushJob.Kind(rawValue: row.text(5)) ?? .invite,
                at: row.moment(6), result: row.text(7))
            try batch.add(.push(.outcome(outcome)))
            return true
        }
        for state in WebhookProgress.State.allCases { try readWebhooks(state, reader, &batch) }
    }

    private func readWebhooks(
        _ state: WebhookProgress.State, _ reader: StoreReader, _ batch: inout Batch
    ) throws(StoreError) {
        var last: JobID?
        while true {
            let some = try reader.webhooks(state, after: last, limit: 500)
            for webhook in some {
                try batch.add(.webhook(.add(webhook.job)))
                try batch.add(.webhook(.update(webhook.job.id, webhook.progress)))
            }
            guard let next = some.last?.job.id else { return }
            last = next
        }
    }

    private func readPlugins(_ batch: inout Batch) throws(StoreError) {
        for timer in try PendingTimers.read(by: connection) { try batch.add(.timer(.set(timer))) }
        let values = try connection.prepare(
            "SELECT plugin, key, value, expires_at FROM plugin_value", for: "reading values")
        try values.rows { (row) throws(StoreError) in
            try batch.add(
                .value(
                    .set(
                        plugin: row.text(0), key: row.text(1), value: row.bytes(2),
                        expiresAt: row.optionalMoment(3))))
            return true
        }
        let table = GenerationTable(connection: connection)
        for mark in try table.marks().reversed() {
            guard let kept = try table.generation(named: mark.name) else { continue }
            try batch.add(.generation(.activate(kept, at: mark.activatedAt)))
            guard let at = mark.rolledBackAt else { continue }
            try batch.add(.generation(.rollBack(name: mark.name, at: at)))
        }
    }
}
