// Stores as older versions wrote them, row by row: whatever changes, these must be read.

import CallModel
import StoreContract
import Testing

@testable import Storage

/// What each store version wrote, as SQL over the tables of that version. A new version adds its
/// own rows and never changes those of an older one.
private let rows: [Int: String] = [
    1: """
    UPDATE mark SET value = 1795000000777 WHERE name = 'newest';
    UPDATE mark SET value = 12 WHERE name = 'job';
    INSERT INTO participation VALUES ('ann', x'01A1EE565E0000000000000000000001'),
      ('bob', x'01A1EE565E0000000000000000000001'), ('ann', x'01A1EE565E0000010000000000000001');
    INSERT INTO missed_call VALUES ('bob', x'01A1EE565E0000010000000000000001', 1795000000400);
    INSERT INTO kept_reply VALUES (1, 'ann', 'key', 1795000000300, -1, x'7B7D');
    INSERT INTO push_job VALUES (11, x'01A1EE565E0000000000000000000001', CAST('{"user":"bob",
      "kind":"invite","text":{"title":"t","body":"b","payload":"p"},"connected":["tab"],
      "expires":10}' AS BLOB));
    INSERT INTO push_outcome VALUES (x'01A1EE565E0000010000000000000001', 10, 'bob', 'phone',
      'apns', 'missed', 1795000000450, 'sent');
    INSERT INTO timer VALUES (9, 'desk', 'remind', NULL, 1795000009000, x'31');
    INSERT INTO plugin_value VALUES ('desk', 'n', x'35', 1795000009999);
    INSERT INTO generation VALUES ('3fa9', 1, 1795000000001, NULL);
    INSERT INTO generation_file VALUES ('3fa9', 0, 'callagent.lua', x'2D2D');
    """
]

/// The records of a live call and of one that ended.
private let (liveRecord, endedRecord) = (
    """
    CAST('{"v":1,"mode":3,
      "kind":"video","ring":60000,"created":1795000000000,"rev":4,"state":"active",
      "media":"establishing","check":true,"group":true,"data":"hi",
      "items":[{"key":"k","value":"v"}],
      "views":[{"to":"bob","text":"ho"},{"to":"bob","of":"ann"},{"to":"ann","of_end":true}],
      "answered":1795000000100,"connected":1795000000200,"media_alarm":1,"idle_alarm":2,
      "users":{"ann":{"role":"caller","state":"joined","at":1795000000000,"answered":3,
      "device":"tab","audio":false,"video":true,"held":true,"media":true,"was_connected":true},
      "bob":{"state":"failed","reason":"no_ack","by":"ann","data":"x","at":5,"until":6,
      "delivery_alarm":7,"answered_for":true,"hops":2,"ask_from":1,"asking":"waiting",
      "policy_alarm":8,"waiting":{"plugin":"desk","data":"y"}}}}' AS BLOB)
    """,
    """
    CAST('{"v":1,"mode":0,"kind":"audio","ring":1,"created":9,"rev":2,
      "state":"ended","ended":1795000000500,"end":{"reason":"rejected","detail":"mixed","by":"bob",
      "data":"no"},"users":{"ann":{"role":"caller","state":"left","at":9}}}' AS BLOB)
    """
)

/// Version 7 added the term in which a call was stored.
private let calls: [Int: String] = [
    1: """
    INSERT INTO live_call VALUES (x'01A1EE565E0000000000000000000001', \(liveRecord));
    INSERT INTO ended_call VALUES (1, x'01A1EE565E0000010000000000000001', 1795000000500,
      'rejected', \(endedRecord));
    """,
    7: """
    INSERT INTO live_call VALUES (x'01A1EE565E0000000000000000000001', \(liveRecord), 0);
    INSERT INTO ended_call VALUES (1, x'01A1EE565E0000010000000000000001', 1795000000500,
      'rejected', \(endedRecord), 0);
    """,
]

/// Versions that wrote the same rows as an earlier one, but for those that follow.
private let likeEarlier = [2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1, 9: 1]

/// Version 5 added who caused a webhook, version 9 the trace of their request.
private let webhooks: [Int: String] = [
    1: """
    INSERT INTO webhook VALUES (12, 'crm', x'01A1EE565E0000010000000000000001', 'call.ended',
      1795000000500, x'7B7D', 'open', 2, 1795000000900, 'HTTP 503');
    """,
    5: """
    INSERT INTO webhook VALUES (12, 'crm', x'01A1EE565E0000010000000000000001', 'call.ended',
      1795000000500, x'7B7D', 'open', 2, 1795000000900, 'HTTP 503', 'ann', 'bob');
    """,
    9: """
    INSERT INTO webhook VALUES (12, 'crm', x'01A1EE565E0000010000000000000001', 'call.ended',
      1795000000500, x'7B7D', 'open', 2, 1795000000900, 'HTTP 503', 'ann', 'bob', NULL);
    """,
]

/// Version 3 added the moment of a registration.
private let registrations: [Int: String] = [
    1: "INSERT INTO registration VALUES ('bob', 'phone', 'apns', 'token', 'sandbox')",
    3: "INSERT INTO registration VALUES ('bob', 'phone', 'apns', 'token', 'sandbox', 8)",
]

/// Version 4 added calls that wait to be indexed: of ann the one that `rows` has not indexed.
private let participations = """
    DELETE FROM participation WHERE user = 'ann' AND call = x'01A1EE565E0000010000000000000001';
    INSERT INTO recent_participation VALUES (1, x'03616E6E01A1EE565E0000010000000000000001');
    """

/// Version 8 added what people are called.
private let names = "INSERT INTO person_name VALUES ('ann', 'Ann Smith', 1)"

@Suite struct OldVersionTests {
    private let ann = UserID("ann")
    private let bob = UserID("bob")
    private let liveID = CallID(high: 0x01A1_EE56_5E00_0000, low: 1)
    private let endedID = CallID(high: 0x01A1_EE56_5E00_0001, low: 1)

    private var live: Call {
        var call = Call(
            id: liveID, mode: .direct, kind: "video", ringTime: 60_000, deliveryCheck: 5_000,
            createdAt: start)
        (call.state, call.media, call.isGroup, call.revision) = (.active, .establishing, true, 4)
        call.extendedData = "hi"
        call.items = [Call.Item(key: "k", value: "v")]
        call.views = [
            Call.View(receiver: bob, owner: .call, text: "ho"),
            Call.View(receiver: bob, owner: .participant(ann), text: nil),
            Call.View(receiver: ann, owner: .end, text: nil),
        ]
        (call.answeredAt, call.connectedAt) = (start + 100, start + 200)
        (call.mediaAlarm, call.idleAlarm) = (Moment(1), Moment(2))
        call.participants = [caller, callee]
        return call
    }

    private var caller: Participant {
        var one = Participant(user: ann, role: .caller, state: .joined, at: start)
        (one.answeredAt, one.device) = (Moment(3), DeviceID("tab"))
        (one.audio, one.video, one.held) = (false, true, true)
        (one.mediaConnected, one.wasConnected) = (true, true)
        return one
    }

    private var callee: Participant {
        var one = Participant(user: bob, role: .invitee, state: .failed, at: Moment(5))
        (one.reason, one.invitedBy, one.extendedData) = (.noAck, ann, "x")
        (one.deadlineAt, one.deliveryAlarm, one.policyAlarm) = (Moment(6), Moment(7), Moment(8))
        (one.isAnsweredFor, one.hops, one.askFrom, one.asking) = (true, 2, 1, .waiting)
        one.policyNote = PolicyNote(plugin: "desk", extendedData: "y")
        return one
    }

    @Test(arguments: 1...StoreSchema.current.version)
    func whatAnOlderVersionWroteIsRead(version: Int) throws {
        let disk = Disk()
        try disk.build(StoreSchema(steps: Array(StoreSchema.current.steps.prefix(version))))
        let written = rows[likeEarlier[version] ?? version]
        try disk.execute(try #require(written, "a new version needs its rows here"))
        try disk.execute(try #require(calls[version < 7 ? 1 : 7]))
        try disk.execute(try #require(registrations[version < 3 ? 1 : 3]))
        try disk.execute(try #require(webhooks[version < 5 ? 1 : version < 9 ? 5 : 9]))
        if version >= 4 { try disk.execute(participations) }
        if version >= 8 { try disk.execute(names) }
        let store = try disk.open()
        try check(store.wholeState(at: start + 800))
        try checkCalls(store.makeReader())
        try checkJobs(store.makeReader(), registeredAt: Moment(version < 3 ? 0 : 8))
        try checkWebhook(
            store.makeReader(), cause: version < 5 ? .nobody : Cause(bob, caller: ann))
        let kept = try store.makeReader().names(after: nil, limit: 2)
        let name = try #require(PersonName(checking: "Ann Smith"))
        #expect(kept == (version < 8 ? [] : [StoredName(ann, name, from: .server)]))
        try checkPlugins(store.makeReader())
    }

    private func check(_ state: StoredState) throws {
        #expect(state.core.calls == [live])
        let mark = KeyMark(user: ann, key: "key", bodyHash: .max, at: start + 300)
        #expect(state.core.keys == [mark])
        #expect(state.newestMoment == start + 777)
        #expect(state.lastJob == JobID(12))
        #expect(
            state.timers == [
                NamedTimer(
                    JobID(9), plugin: "desk", name: "remind", dueAt: start + 9_000, data: [0x31])
            ])
    }

    private func checkCalls(_ reader: any CallReader) throws {
        let over = try reader.call(endedID)
        #expect(
            over?.end == Call.End(.rejected, detail: .mixed, by: bob, extendedData: "no"))
        #expect(over?.endedAt == start + 500)
        #expect(try reader.version(of: liveID) == StoredVersion(term: .alone, revision: 4))
        #expect(try reader.version(of: endedID) == StoredVersion(term: .alone, revision: 2))
        let page = try reader.page(of: ann, matching: ListQuery())
        #expect(page.calls.map(\.id) == [endedID, liveID])
        #expect(
            try reader.missedCalls(of: bob, limit: 9) == [
                MissedCall(callID: endedID, at: start + 400, call: over)
            ])
        #expect(
            try reader.reply(of: ann, under: "key")
                == KeptReply(bodyHash: .max, reply: Array("{}".utf8)))
    }

    private func checkJobs(_ reader: any CallReader, registeredAt: Moment) throws {
        let registration = PushRegistration(
            provider: "apns", token: "token", environment: "sandbox")
        #expect(
            try reader.registrations(of: bob) == [
                Registration(
                    Address(bob, DeviceID("phone")), registration, at: registeredAt)
            ])
        let text = PushText(title: "t", body: "b", payload: "p")
        let job = PushJob(
            .invite, callID: liveID, user: bob, text: text, connected: [DeviceID("tab")],
            expiresAt: Moment(10))
        #expect(
            try reader.openPushes(after: nil, limit: 9) == [StoredPush(id: JobID(11), job: job)])
        #expect(try reader.pushOutcomes(of: endedID).map(\.result) == ["sent"])
    }

    private func checkWebhook(_ reader: any CallReader, cause: Cause) throws {
        var webhook = WebhookJob(
            JobID(12), endpoint: "crm", call: endedID, type: "call.ended", at: start + 500,
            body: Array("{}".utf8))
        webhook.cause = cause
        let progress = WebhookProgress(attempts: 2, dueAt: start + 900, lastError: "HTTP 503")
        #expect(
            try reader.webhooks(.open, after: nil, limit: 9) == [
                StoredWebhook(job: webhook, progress: progress)
            ])
    }

    private func checkPlugins(_ reader: any CallReader) throws {
        #expect(try reader.value(of: "desk", key: "n", at: start + 9_998) == Array("5".utf8))
        #expect(try reader.value(of: "desk", key: "n", at: start + 9_999) == nil)
        #expect(
            try reader.generations() == [
                GenerationMark(
                    name: "3fa9", activatedAt: start + 1, rolledBackAt: nil, isActive: true)
            ])
        let file = StoredGeneration.File(path: "callagent.lua", source: Array("--".utf8))
        #expect(
            try reader.generation(named: "3fa9") == StoredGeneration(name: "3fa9", files: [file]))
    }

    @Test func aStoreOfBeforeTheTermBelongsToAServerThatIsAlone() throws {
        let disk = Disk()
        try disk.build(StoreSchema(steps: Array(StoreSchema.current.steps.prefix(6))))
        try disk.execute(try #require(calls[1]))
        try disk.execute("UPDATE mark SET value = 12 WHERE name = 'job'")
        let store = try disk.open()
        let state = try store.wholeState(at: start)
        #expect(state.term == .alone && state.core.calls == [live])
        #expect(state.lastJob == JobID(12), "jobs go on where they were")
        try store.commit([.call(live)], at: start)
        let version = StoredVersion(term: .alone, revision: 4)
        #expect(try store.makeReader().version(of: liveID) == version)
        // A cluster that takes it over gives other ids than it ever did.
        let taken = try store.restore(at: start, in: Term(owner: "a", epoch: 1))
        #expect(taken.lastJob == JobID(1 << 32))
    }

    /// What a browser gave, and what is kept of it since version 6.
    private static let given = """
        {"endpoint": "https://push.example/1", "expirationTime": null,
        "keys": {"p256dh": "P", "auth": "A"}}
        """
    private static let kept =
        #"{"endpoint":"https://push.example/1","keys":{"p256dh":"P","auth":"A"}}"#

    @Test func tokensOfBeforeAreBroughtIntoTheFormInWhichTodaysAreFound() throws {
        let disk = Disk()
        try disk.build(StoreSchema(steps: Array(StoreSchema.current.steps.prefix(5))))
        try disk.execute(
            """
            INSERT INTO registration VALUES
            ('ann', 'phone', 'apns', 'ABCD', 'sandbox', 8),
            ('bob', 'phone', 'apns', 'abcd', NULL, 9),
            ('ann', 'tab', 'apns_voip', 'EF01', NULL, 9),
            ('bob', 'tab', 'apns_voip', 'ef01', NULL, 8),
            ('cid', 'phone', 'apns', 'ABCD', 'production', 7),
            ('cid', 'phone', 'fcm', 'ABCD', NULL, 7),
            ('dan', 'phone', 'web', '\(Self.given)', NULL, 5)
            """)
        let store = try disk.open()
        _ = try store.restore(at: start)
        func tokens(of user: String) throws -> [String] {
            try store.makeReader().registrations(of: UserID(user)).map(\.registration.token)
        }
        #expect(try tokens(of: "ann") == ["ef01"])
        #expect(try tokens(of: "bob") == ["abcd"])
        #expect(try tokens(of: "cid") == ["ABCD"], "a token of Google's is what it is")
        #expect(try tokens(of: "dan") == [Self.kept])
        let web = PushRegistration(provider: "web", token: Self.given)
        let eve = Address(UserID("eve"), DeviceID("phone"))
        try store.commit([.registration(eve, provider: "web", web)], at: start)
        #expect(try tokens(of: "dan") == [])
        #expect(try tokens(of: "eve") == [Self.kept])
    }
}
