// A batch of changes, folded so that each row is written once.

import CallModel
import JSON
import Storage
import StoreContract

/// What a batch does to each table. Changes of one row are folded in their order; those of
/// different rows are independent of each other, so a table needs one statement for each kind.
struct Turn {
    var live = CallRows()
    var ended = CallRows()
    var participations: [(user: UserID, call: CallID)] = []
    var keys: [KeyEntry] = []
    var missed: [MissedName: Moment] = [:]
    /// Up to when each user has seen what was missed.
    var seen: [UserID: Moment] = [:]
    /// The record of each push job; nil: removed.
    var pushes: [JobID: (call: CallID, record: [UInt8])?] = [:]
    var outcomes: [OutcomeName: PushOutcome] = [:]
    var webhooks: [JobID: StoredWebhook] = [:]
    /// Of webhooks that are not in `webhooks`.
    var progress: [JobID: WebhookProgress] = [:]
    /// nil: removed.
    var timers: [JobID: NamedTimer?] = [:]
    var removedWebhooks: Set<JobID> = []
    /// Whose replies go.
    var forgotten: [UserID] = []
    /// What happens one after the other, because it is rare.
    var single: [StoreChange] = []
    /// Changes of values, in order.
    var values: [ValueChange] = []
    /// The highest id of a job or timer that is new.
    var highestJob: Int64 = 0

    /// Rows of calls.
    struct CallRows {
        var ids: [[UInt8]?] = []
        var records: [[UInt8]?] = []
        var endedAt: [Int64?] = []
        var reasons: [[UInt8]?] = []
    }

    struct MissedName: Hashable {
        let user: UserID
        let call: CallID
    }

    struct OutcomeName: Hashable {
        let call: CallID
        let job: JobID
        let address: Address
        let provider: String
    }

    /// Folds `batch`. `known` tells how many participants of a live call are indexed already.
    init(_ batch: [StoreChange], known: (CallID) -> Int) {
        let superseded = Superseded(batch)
        for place in batch.indices where !superseded.contains(place) {
            add(batch[place], known)
        }
    }

    private mutating func add(_ change: StoreChange, _ known: (CallID) -> Int) {
        if let job = change.jobID { highestJob = max(highestJob, job.value) }
        switch change {
        case .call(let call): add(call, known(call.id))
        case .key(let entry): keys.append(entry)
        case .registration, .deadRegistration, .generation, .name, .forgotten:
            single.append(change)
        case .forget(let user):
            keys.removeAll { $0.user == user }
            forgotten.append(user)
            single.append(change)
        case .push(let change): add(change)
        case .webhook(let change): add(change)
        case .timer(.set(let timer)): timers[timer.id] = .some(timer)
        case .timer(.remove(let id)): timers[id] = .some(nil)
        case .value(let change): values.append(change)
        case .missed(let user, let call, let at):
            missed[MissedName(user: user, call: call)] = at
        case .seen(let user, let moment):
            missed = missed.filter { $0.key.user != user || $0.value > moment }
            seen[user] = max(seen[user] ?? moment, moment)
        }
    }

    private mutating func add(_ call: Call, _ known: Int) {
        var writer = JSONWriter()
        CallRecord.write(call, to: &writer)
        if let end = call.end {
            ended.ids.append(call.id.stored)
            ended.records.append(writer.bytes)
            ended.endedAt.append((call.endedAt ?? call.createdAt).milliseconds)
            ended.reasons.append(Array(end.reason.rawValue.utf8))
        } else {
            live.ids.append(call.id.stored)
            live.records.append(writer.bytes)
        }
        for participant in call.participants.dropFirst(known) {
            participations.append((participant.user, call.id))
        }
    }

    private mutating func add(_ change: PushChange) {
        switch change {
        case .add(let id, let job):
            var writer = JSONWriter()
            PushRecord.write(job, to: &writer)
            pushes[id] = .some((job.callID, writer.bytes))
        case .finish(let id): pushes[id] = .some(nil)
        case .outcome(let outcome):
            let name = OutcomeName(
                call: outcome.callID, job: outcome.job, address: outcome.address,
                provider: outcome.provider)
            outcomes[name] = outcome
        }
    }

    private mutating func add(_ change: WebhookChange) {
        switch change {
        case .add(let job):
            webhooks[job.id] = StoredWebhook(
                job: job, progress: WebhookProgress(dueAt: job.at))
            progress[job.id] = nil
        case .update(let id, let update):
            if webhooks[id] != nil {
                webhooks[id]?.progress = update
            } else {
                progress[id] = update
            }
        case .remove(let id):
            (webhooks[id], progress[id]) = (nil, nil)
            removedWebhooks.insert(id)
        }
    }
}
