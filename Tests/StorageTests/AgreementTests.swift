// All stores agree on everything, whatever is committed.

import CallModel
import StoreContract
import Testing

/// Random commits for a handful of users, keys and calls, so that they meet often.
struct Workload {
    private(set) var dice: Dice
    var now = start
    private(set) var calls: [Call] = []
    private var job: Int64 = 0
    let users = ["ann", "bob", "cid", "dan"]

    init(seed: UInt64) { dice = Dice(seed: seed) }

    mutating func batch() -> [StoreChange] {
        now = now + Milliseconds(dice.number(0...2_000))
        return (0..<dice.number(1...8)).map { _ in record() }
    }

    private mutating func record() -> StoreChange {
        switch dice.number(0...9) {
        case 0...3: .call(call())
        case 4: .key(key())
        case 5: .value(value())
        case 6: push()
        case 7: webhook()
        case 8: timer()
        default: missed()
        }
    }

    private mutating func call() -> Call {
        guard !calls.isEmpty, dice.chance(70) else {
            let new = ringingCall(now - start, [user().text, user().text + "2"])
            guard !calls.contains(where: { $0.id == new.id }) else {
                return change(calls.count - 1)
            }
            calls.append(new)
            return new
        }
        return change(dice.number(0...calls.count - 1))
    }

    private mutating func change(_ place: Int) -> Call {
        var call = calls[place]
        call.revision += 1
        // Calls without items lie in memory otherwise, once they have ended.
        if dice.chance(50) { call.items = [Call.Item(key: dice.text(), value: dice.text())] }
        call.extendedData = dice.text()
        let newcomer = user()
        if call.isLive, call.index(of: newcomer) == nil {
            call.participants.append(
                Participant(user: newcomer, role: .joiner, state: .joined, at: now))
        }
        if call.isLive, dice.chance(40) {
            call = ended(call, at: now, dice.one(of: [.rejected, .completed]))
        }
        calls[place] = call
        return call
    }

    private mutating func user() -> UserID { UserID(dice.one(of: users)) }

    private mutating func key() -> KeyEntry {
        KeyEntry(
            user: user(), key: "k\(dice.number(1...12))", at: now,
            kept: KeptReply(bodyHash: dice.generator.next(), reply: Array(dice.text().utf8)))
    }

    private mutating func value() -> ValueChange {
        let (plugin, key) = (dice.one(of: ["p", "q"]), "key\(dice.number(1...5))")
        let until = dice.maybe { $0.number(0...5_000) }.map { now + Milliseconds($0) }
        switch dice.number(0...3) {
        case 0: return .remove(plugin: plugin, key: key)
        case 1:
            let text = dice.one(of: ["1", "\"x\"", "-9"])
            return .set(plugin: plugin, key: key, value: Array(text.utf8), expiresAt: until)
        default:
            return .increment(
                plugin: plugin, key: key, by: Int64(dice.number(0...9)), expiresAt: until)
        }
    }

    private mutating func push() -> StoreChange {
        guard job > 0, dice.chance(60) else {
            job += 1
            return .push(.add(JobID(job), dice.pushJob()))
        }
        let id = JobID(Int64(dice.number(1...Int(job))))
        guard dice.chance(50) else { return .push(.finish(id)) }
        return .push(
            .outcome(
                PushOutcome(
                    job: id, call: calls.last?.id ?? callID(0),
                    address: Address(user(), DeviceID("phone")), provider: "fcm", kind: .invite,
                    at: now, result: dice.one(of: ["sent", "gone"]))))
    }

    private mutating func webhook() -> StoreChange {
        guard job > 0, dice.chance(60) else {
            job += 1
            return .webhook(
                .add(
                    WebhookJob(
                        JobID(job), endpoint: "crm", call: callID(0), type: "call.ended", at: now,
                        body: Array(dice.text().utf8))))
        }
        let progress = WebhookProgress(
            dice.one(of: WebhookProgress.State.allCases), attempts: dice.number(0...9), dueAt: now,
            lastError: dice.maybe { $0.text() })
        return .webhook(.update(JobID(Int64(dice.number(1...Int(job)))), progress))
    }

    private mutating func timer() -> StoreChange {
        guard job > 0, dice.chance(60) else {
            job += 1
            return .timer(
                .set(NamedTimer(JobID(job), plugin: "p", name: "t", dueAt: now, data: [1])))
        }
        return .timer(.remove(JobID(Int64(dice.number(1...Int(job))))))
    }

    private mutating func missed() -> StoreChange {
        guard dice.chance(80), let call = calls.last else { return .seen(user(), upTo: now) }
        return .missed(user(), call.id, at: now)
    }
}

/// Everything that a reader can tell.
struct Picture: Equatable {
    var live: [Call] = []
    var marks: [KeyMark] = []
    var timers: [NamedTimer] = []
    var newest: Moment?
    var lastJob: JobID?
    var pages: [CallPage] = []
    var replies: [KeptReply?] = []
    var missed: [[MissedCall]] = []
    var pushes: [StoredPush] = []
    var outcomes: [PushOutcome] = []
    var versions: [StoredVersion?] = []
    var webhooks: [StoredWebhook] = []
    var values: [String: [UInt8]] = [:]

    init(_ rig: Rig, _ load: Workload, in term: Term = .alone) throws {
        let state = try rig.restored(at: load.now, in: term)
        (live, marks, timers) = (state.core.calls, state.core.keys, state.timers)
        (newest, lastJob) = (state.newestMoment, state.lastJob)
        for user in load.users {
            pages.append(try rig.page(user) { $0.limit = 50 })
            pages.append(try rig.page(user) { $0.endReasons = [.rejected] })
            missed.append(try rig.reader.missedCalls(of: UserID(user), limit: 99))
            for key in 1...12 {
                replies.append(try rig.reader.reply(of: UserID(user), under: "k\(key)"))
            }
        }
        pushes = try rig.reader.openPushes(after: nil, limit: 999)
        for call in load.calls {
            outcomes += try rig.reader.pushOutcomes(of: call.id)
            versions.append(try rig.reader.version(of: call.id))
        }
        for state in WebhookProgress.State.allCases {
            webhooks += try rig.reader.webhooks(state, after: nil, limit: 999)
        }
        for key in try rig.reader.keys(of: "p", prefix: "", limit: 99, at: load.now) {
            values[key] = try rig.reader.value(of: "p", key: key, at: load.now)
        }
    }
}

extension Picture {
    /// What is the same whoever stored it: not the terms, nor what follows from them.
    var withoutTerms: Picture {
        var picture = self
        picture.lastJob = nil
        picture.versions = versions.map { version in
            version.map { StoredVersion(term: .alone, revision: $0.revision) }
        }
        return picture
    }
}

@Suite struct AgreementTests {
    @Test(arguments: 1...UInt64(12))
    func allStoresAgree(seed: UInt64) throws {
        var limits = StoreLimits()
        (limits.keysPerUser, limits.keysMax, limits.sweepStep) = (5, 14, 7)
        limits.retention = 600_000
        limits.keyLifetime = 400_000
        limits.webhookRetention = 300_000
        limits.webhookPatience = 150_000
        limits.recentParticipations = Int(seed % 4) * 7
        let rigs = try Kind.allCases.map { try Rig($0, limits: limits) }
        var load = Workload(seed: seed)
        for round in 0..<120 {
            let batch = load.batch()
            let results = try rigs.map { try $0.commit(batch, at: load.now) }
            #expect(results.allSatisfy { $0 == results[0] }, "seed \(seed), round \(round)")
            if round % 10 == 9 {
                load.now = load.now + 60_000
                for rig in rigs { try rig.sweep(at: load.now) }
                let pictures = try rigs.map { try Picture($0, load) }
                let agrees = pictures.allSatisfy { $0 == pictures[0] }
                #expect(agrees, "seed \(seed), round \(round)")
            }
        }
    }
}
