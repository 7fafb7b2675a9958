// A row of a database, whichever it is, and what is read from it in the same way.

import CallModel
import StoreContract

/// The columns of one row, counted from 0.
package protocol StoredRow {
    func integer(_ column: Int32) -> Int64
    func moment(_ column: Int32) -> Moment
    func text(_ column: Int32) -> String
    func optionalText(_ column: Int32) -> String?
    func bytes(_ column: Int32) -> [UInt8]
    func id(_ column: Int32) -> CallID?
}

extension Row: StoredRow {}

extension StoredWebhook {
    /// The webhook in a row of id, endpoint, call, type, at, body, attempts, due_at, last_error,
    /// caller, user and trace.
    package init(_ row: some StoredRow, _ state: WebhookProgress.State) {
        var job = WebhookJob(
            JobID(row.integer(0)), endpoint: row.text(1),
            call: row.id(2) ?? CallID(high: 0, low: 0), type: row.text(3), at: row.moment(4),
            body: row.bytes(5))
        let (caller, user) = (row.text(9), row.text(10))
        job.cause = Cause(
            user.isEmpty ? nil : UserID(user), caller: caller.isEmpty ? nil : UserID(caller))
        job.trace = row.optionalText(11).flatMap { TraceParent($0) }
        let progress = WebhookProgress(
            state, attempts: Int(Int32(clamping: row.integer(6))), dueAt: row.moment(7),
            lastError: row.optionalText(8))
        self.init(job: job, progress: progress)
    }
}

extension StoredName {
    /// The name in a row of user, name and origin; nil: a name that a later version took and this
    /// one does not is as good as none.
    package init?(_ row: some StoredRow) {
        guard let name = PersonName(checking: row.text(1)) else { return nil }
        let origin = NameOrigin(rawValue: row.integer(2)) ?? .token
        self.init(UserID(row.text(0)), name, from: origin)
    }
}
