// The decision log: what a record holds, reading it back, and asking again what was asked.

import CallModel
import Configuration
import JSON
import PolicyTestSupport
import Testing
import WebProtocols

@testable import Decisions
@testable import PolicyHost

/// A host whose waits are answered at once, and everything that it recorded.
private final class Recorder {
    let rig: Rig
    var records: [DecisionRecord] = []

    init(_ plugins: [(String, String)]) throws {
        rig = try Rig(plugins) { plan in
            for place in plan.plugins.indices {
                plan.plugins[place].setting.grants = ["http:crm.example.com"]
            }
        }
    }

    convenience init(_ text: String) throws { try self.init([("p", text)]) }

    /// Takes what came of an input, answering waits until nothing is waited for.
    func take(_ effects: [PolicyEffect]) {
        for effect in effects {
            switch effect {
            case .record(let record): records.append(record)
            case .perform(let wait, _, let request, _):
                take(rig.pass(3))
                take(rig.host.handle(.replied(wait, reply(to: request)), at: rig.now))
            case .operate(let wait, _, _, _, _):
                take(rig.host.handle(.replied(wait, .operation(nil)), at: rig.now))
            default: continue
            }
        }
    }

    private func reply(to request: WaitRequest) -> WaitReply {
        switch request {
        case .lookUp(let user, _): .user(UserFacts(user, calls: 3, devices: 1))
        case .call: .call(nil, [])
        case .store(.get): .value(["seen": 7])
        case .store: .value(1)
        case .fetch:
            .fetched(
                FetchReply(
                    status: 200, headers: [.init("Content-Type", "application/json")],
                    body: Array(#"{"vip":true}"#.utf8)))
        }
    }

    func report(_ plugins: [(String, String)]) throws -> ReplayReport {
        ReplayReport(records, by: try generation(plugins))
    }

    func generation(_ plugins: [(String, String)]) throws -> Generation {
        try Rig.generation(plugins) { plan in
            for place in plan.plugins.indices {
                plan.plugins[place].setting.grants = ["http:crm.example.com"]
            }
        }
    }
}

@Suite struct ReplayTests {
    private static let everything = """
        on.invite(function(call)
          call.vars.asked = (call.vars.asked or 0) + 1
          local user = users.get("carol")
          local kept = kv.get("k")
          local page = http.get("https://crm.example.com/vip?key=secret")
          if page.json.vip and kept.seen == 7 and user.calls == 3 and random(100) > 50 then
            return accept { wait = "3s", extended_data = { n = call.vars.asked } }
          end
          sleep "5ms"
          return reject "out to lunch"
        end)
        on.dial(function(call) return allow { timeout = "20s", invitees = { "bob" } } end)
        on.token(function(call, user) return { for_ = user.id, uuid = uuid() } end)
        on.extended_data(function(data, call, dir)
          if dir == "in" then return "in " .. tostring(data) end
          return "out to " .. call.receiver.id
        end)
        on.push(function(push, call) push.title = call.caller.id return push end)
        """

    /// One decision of every kind.
    private func recorded() throws -> Recorder {
        let recorder = try Recorder(Self.everything)
        let rig = recorder.rig
        for number in 0..<20 {
            recorder.take(rig.ask(rig.call(data: "{\"n\":\(number)}", id: UInt64(number / 2 + 1))))
            recorder.take(rig.pass(50))
        }
        var call = rig.call(data: "text")
        call.items = [Call.Item(key: "a", value: "b")]
        call.views = [Call.View(receiver: UserID("bob"), owner: .call, text: nil)]
        let (ann, bob) = (UserID("ann"), UserID("bob"))
        recorder.take(rig.ask(.dial(call, user: ann, invitees: [bob, UserID("eve")])))
        recorder.take(rig.ask(.token(call, user: bob)))
        recorder.take(rig.ask(.incomingData(call, user: ann, data: "x")))
        let texts = [
            Question.OutgoingText(owner: .call, receiver: bob, data: "x"),
            Question.OutgoingText(owner: .participant(ann), receiver: bob, data: "y"),
            Question.OutgoingText(owner: .end, receiver: ann, data: "z"),
        ]
        recorder.take(rig.ask(.outgoingData(call, texts)))
        let draft = PushDraft(
            user: bob, provider: "fcm", kind: "alert", reason: "invite", expiresIn: 30)
        recorder.take(rig.host.handle(.pushing(PushID(1), draft, call, []), at: rig.now))
        #expect(recorder.records.count == 25)
        return recorder
    }

    // MARK: state

    private static let counting = """
        state.n = state.n or 0
        on.invite(function(call)
          if call.extended_raw ~= "look" then state.n = state.n + 1 end
          return reject("no", { extended_data = { n = state.n, gap = (state.list or {})[7] } })
        end)
        on.ended(function() state.n, state.list = nil, { [7] = "x" } end)
        """

    @Test func aRecordNamesTheStateBeforeIt() throws {
        let recorder = try Recorder([("quiet", "on.invite(function() end)"), ("p", Self.counting)])
        let rig = recorder.rig
        for data in ["a", "b", "look", "look"] { recorder.take(rig.ask(rig.call(data: data))) }
        recorder.take(rig.tell(.ended))
        recorder.take(rig.ask(rig.call(data: "look")))
        let states = recorder.records.map { $0.input?.states ?? [] }
        // A plugin without any is not named.
        #expect(states.map { $0.map(\.plugin) } == Array(repeating: ["p"], count: 5))
        let copies = states.compactMap { $0.first?.copy }
        #expect(copies.count == 5 && Set(copies.map(\.id)).count == 4)
        #expect(copies[2] === copies[3], "one for each change")
        #expect(states.map { $0[0].isFirst } == [true, true, true, false, true])
        // What was copied is what a crash of the Lua state would begin with.
        #expect(rig.host.generation.plugins[1].lineage.state == copies[4].bytes)
    }

    @Test func whatWasAskedIsAskedAgainWithTheStateOfThen() throws {
        let recorder = try Recorder(Self.counting)
        let rig = recorder.rig
        for data in ["a", "b", "c"] { recorder.take(rig.ask(rig.call(data: data))) }
        recorder.take(rig.tell(.ended))
        recorder.take(rig.ask(rig.call(data: "look")))
        for record in recorder.records.reversed() {
            let replay = Replay(try recorder.generation([("p", Self.counting)]))
            replay.givesStates = true
            let answered = try #require(replay.ask(record))
            #expect(answered.outcome == record.outcome && replay.stateProblems.isEmpty)
        }
        let without = Replay(try recorder.generation([("p", Self.counting)]))
        #expect(without.ask(recorder.records[2])?.outcome != recorder.records[2].outcome)
    }

    @Test func anotherVersionMigratesTheStateOfThen() throws {
        let recorder = try Recorder(Self.counting)
        for data in ["a", "b"] {
            recorder.take(recorder.rig.ask(recorder.rig.call(data: data)))
        }
        let record = recorder.records[1]
        func asked(_ head: String) throws -> (Replay, DecisionRecord.Outcome?) {
            let text = head + Self.counting
            let replay = Replay(try recorder.generation([("p", text)]))
            replay.givesStates = true
            return (replay, replay.ask(record)?.outcome)
        }
        let head = "plugin { state_version = 2 }\n"
        let (_, migrated) = try asked(
            head + "migrate(function(old, from) return { n = old.n + 10 * from } end)\n")
        guard case .answer(.invite(.reject(_, let data), _, _))? = migrated else {
            Issue.record("\(String(describing: migrated))")
            return
        }
        #expect(data?.contains("\"n\":12") == true, "\(data ?? "")")
        let (replay, _) = try asked(head)
        #expect(
            replay.stateProblems == [
                "p.lua: 'state' was written under the state_version 1, here it is 2 without migrate"
            ])
    }

    @Test func aLineNamesTheCopyAndOlderLinesNone() throws {
        let recorder = try Recorder(Self.counting)
        recorder.take(recorder.rig.ask(recorder.rig.call(data: "a")))
        let record = recorder.records[0]
        let copy = try #require(record.input?.states?.first?.copy)
        let read = try #require(DecisionRecord(line: record.line))
        #expect(read.input?.states?.first?.id == copy.id && read.copies["p"] == nil)
        let line = String(decoding: record.line, as: UTF8.self)
        let old = line.replacing(",\"states\":{\"p\":\"\(String(copy.id, radix: 16))\"}", with: "")
        #expect(old != line)
        let before = try #require(DecisionRecord(line: Array(old.utf8)))
        #expect(before.input != nil && before.input?.states == nil && before.copies.isEmpty)
    }

    @Test func copiesCostNoMoreThanSoMuchInASecond() {
        var copies = StateCopies()
        let start = Moment(1_790_000_000_000)
        var (made, last): (Int, UInt64) = (0, 0)
        while copies.hasRoom(for: "p", at: start) {
            let id = copies.add(65_536, for: "p", at: start)
            #expect(id > last)
            (made, last) = (made + 1, id)
        }
        #expect((15...17).contains(made))
        let rooms = [start + 1, start + 200].map { copies.hasRoom(for: "p", at: $0) }
        #expect(rooms == [false, true])
        last = copies.add(1, for: "p", at: start + 200)
        // After a restart.
        var later = StateCopies()
        let first = later.add(1, for: "p", at: start + 1_000)
        #expect(first > last)
    }

    /// Plugins that change much take nothing from one that changes little; together they cost no
    /// more than one could.
    @Test func copiesAreSharedOut() {
        var copies = StateCopies()
        let start = Moment(1_790_000_000_000)
        var bytes: [String: Int] = [:]
        var refused = 0
        func make(_ plugin: String, _ count: Int, at now: Moment) {
            guard copies.hasRoom(for: plugin, at: now) else {
                refused += plugin == "quiet" ? 1 : 0
                return
            }
            _ = copies.add(count, for: plugin, at: now)
            bytes[plugin, default: 0] += count
        }
        for tick in 0..<1_000 {
            for _ in 0..<4 {
                for plugin in ["a", "b", "c"] { make(plugin, 60_000, at: start + Int64(tick) * 10) }
            }
            if tick % 10 == 0 { make("quiet", 2_000, at: start + Int64(tick) * 10) }
        }
        #expect(refused == 0)
        #expect(bytes["quiet"] == 200_000)
        // Ten seconds, and what there was at the beginning.
        #expect(bytes.values.reduce(0, +) < 12 << 20)
        #expect(bytes.values.reduce(0, +) > 9 << 20)
    }

    /// As a host does it: what one plugin writes leaves the other's record whole.
    @Test func aBusyPluginLeavesTheStatesOfOthers() throws {
        let busy = """
            on.invite(function(call)
              state.n = (state.n or 0) + 1
              state.data = ("x"):rep(50000) .. state.n
            end)
            """
        let quiet = """
            on.invite(function(call)
              state.asked = (state.asked or 0) + 1
              return reject "busy"
            end)
            """
        let recorder = try Recorder([("busy", busy), ("quiet", quiet)])
        for number in 1...60 {
            recorder.take(recorder.rig.ask(recorder.rig.call(id: UInt64(number))))
        }
        func missing(_ plugin: String) -> Int {
            recorder.records.flatMap { $0.input?.states ?? [] }
                .count { $0.plugin == plugin && $0.id == nil }
        }
        #expect(recorder.records.count == 60)
        #expect(missing("quiet") == 0)
        #expect(missing("busy") > 0)
    }

    @Test func aRecordReadsBackAsItWasWritten() throws {
        for record in try recorded().records {
            let again = try #require(DecisionRecord(line: record.line))
            #expect(
                String(decoding: again.line, as: UTF8.self)
                    == String(decoding: record.line, as: UTF8.self))
            #expect(again.input?.subject != nil && again.hook == record.hook)
        }
    }

    @Test func aRecordNamesNobodyWhoIsForgotten() throws {
        let substitute = UserID("deleted:0123456789012345")
        for user in ["ann", "bob", "carol"] {
            let gone = Forgotten(UserID(user), as: substitute)
            var changed = 0
            for record in try recorded().records {
                let new = record.forgetting(gone)
                let old = String(decoding: record.line, as: UTF8.self)
                let line = String(decoding: new.line, as: UTF8.self)
                #expect(!gone.isNamed(in: line), "\(line)")
                #expect(gone.isNamed(in: old) || line == old)
                if line != old { changed += 1 }
                #expect(new.hook == record.hook && new.call == record.call)
                #expect(new.asked.map(\.plugin) == record.asked.map(\.plugin))
                let isRead = DecisionRecord(line: new.line).map { $0.input != nil }
                #expect(isRead == (record.input != nil))
                let whole = DecisionRecord.forgetting(gone, in: record.line)
                #expect(whole.map { String(decoding: $0, as: UTF8.self) } == line)
            }
            #expect(changed > 0, "\(user)")
        }
    }

    /// A line that cannot be read goes if it may name somebody, and stays otherwise.
    @Test func aDamagedLineOfADecisionIsNotKeptForHim() {
        let gone = Forgotten(UserID("ann"), as: UserID("deleted:0123456789012345"))
        #expect(DecisionRecord.forgetting(gone, in: Array("{\"user\":\"ann\"".utf8)) == nil)
        let other = Array("{\"user\":\"bob\"".utf8)
        #expect(DecisionRecord.forgetting(gone, in: other) == other)
        // Words of ours, and names of plugins, are nobody's.
        let words = Forgotten(UserID("invite"), as: UserID("deleted:0123456789012345"))
        let line = Array(#"{"event":"invite","user":"invite","asked":[{"plugin":"invite"}]}"#.utf8)
        let new = DecisionRecord.forgetting(words, in: line)
        #expect(
            new.map { String(decoding: $0, as: UTF8.self) }
                == #"{"event":"invite","user":"deleted:0123456789012345","#
                + #""asked":[{"plugin":"invite"}]}"#)
    }

    @Test func aRecordHoldsWhatThePluginSaw() throws {
        let record = try #require(try recorded().records.first)
        let seen = record.input?.seen ?? []
        #expect(seen.map(\.request).prefix(2) == ["users.get carol", "kv.get k"])
        #expect(seen.map(\.after) == [3, 3, 3])
        #expect(seen[2].request.hasPrefix("http.get https://crm.example.com/vip #"))
        let line = String(decoding: record.line, as: UTF8.self)
        #expect(!line.contains("secret"), "a query may be one")
        #expect(record.took >= 9 && record.asked.count == 1)
    }

    /// A record of a decision about a call of `caller` that took so many milliseconds.
    private func decision(_ number: Int, by caller: String, took time: UInt64) throws
        -> DecisionRecord
    {
        let rig = try Rig("on.invite(function() return ring {} end)")
        rig.now = rig.now + Int64(number)
        let record = try #require(rig.ask(rig.call(id: UInt64(number), by: caller)).record)
        let asked = DecisionRecord.Asked(
            plugin: "p", processor: time * 1_000_000, wall: 0, verdict: .decided)
        return record.decided(record.outcome, by: [asked])
    }

    @Test func theDecisionsOfAccountsAreChosenInTurn() throws {
        var records: [DecisionRecord] = []
        for number in 1...3 { records.append(try decision(number, by: "ann", took: 0)) }
        for number in 4...13 { records.append(try decision(number, by: "eve", took: 4)) }
        func chosen(_ milliseconds: UInt64) -> [UInt64] {
            records.inTurn(within: milliseconds * 1_000_000).map(\.call.low)
        }
        #expect(chosen(1_000) == Array(1...13), "all of them")
        #expect(chosen(13) == [1, 2, 3, 11, 12, 13], "the newest of each, in their order")
        #expect(chosen(5) == [1, 2, 3, 13])
        #expect(chosen(0).isEmpty)
    }

    @Test func thereIsAnEndToAskingAgain() throws {
        let records = try (1...5).map { try decision($0, by: "ann", took: 1) }
        func report(within time: UInt64, while hasTime: () -> Bool) throws -> ReplayReport {
            ReplayReport(
                records, within: time,
                by: try Rig.generation([("p", "on.invite(function() return ring {} end)")]),
                while: hasTime)
        }
        let whole = try report(within: 1_000_000_000) { true }
        #expect(whole.asked == 5 && whole.left == 0)
        var looks = 0
        let stopped = try report(within: 1_000_000_000) {
            looks += 1
            return looks <= 2
        }
        #expect(stopped.asked == 2 && stopped.left == 3)
        #expect(stopped.json["left"] == 3)
        let short = try report(within: 2_200_000) { true }
        #expect(short.asked == 2 && short.left == 3)
    }

    @Test func theSamePluginsDecideTheSameAgain() throws {
        let recorder = try recorded()
        let accepted = recorder.records.count {
            if case .answer(.invite(.accept, _, _)) = $0.outcome { true } else { false }
        }
        #expect((1..<20).contains(accepted), "the dice decide")
        let report = try recorder.report([("p", Self.everything)])
        #expect(report.asked == 25 && report.changed == 0 && report.failing == 0)
        #expect(report.unsure == 0 && report.unknown == 0 && report.changes.isEmpty)
        // And so do records that went through a file.
        let kept = recorder.records.compactMap { DecisionRecord(line: $0.line) }
        let again = ReplayReport(kept, by: try recorder.generation([("p", Self.everything)]))
        #expect(again == report)
    }

    @Test func whatOthersWouldDecideIsTold() throws {
        let recorder = try recorded()
        let plugins = [
            ("strict", "on.invite(function(call) return reject 'busy' end)"),
            ("p", Self.everything),
        ]
        let report = try recorder.report(plugins)
        #expect(report.asked == 25 && report.changed == 20)
        let change = try #require(report.changes.first)
        #expect(change.after == "reject busy, by strict" && change.before.hasSuffix(", by p"))
        #expect(change.user == UserID("bob") && change.hook == .invite && change.problem == nil)
        #expect(try recorder.report(plugins) == report, "the same once more")
        // Compared with what those would decide, nothing changes.
        let same = ReplayReport(
            recorder.records, by: try recorder.generation(plugins),
            against: try recorder.generation(plugins))
        #expect(same.asked == 25 && same.changed == 0)
    }

    @Test func nobodyIsAskedForAnAccountThatIsNotAnsweredFor() throws {
        let recorder = try recorded()
        let other = try recorder.generation([("p", Self.everything)])
        other.plan.answerFor = Accounts(["desk-*"])
        let report = ReplayReport(recorder.records, by: other)
        #expect(report.changed == 20)
        #expect(report.changes.allSatisfy { $0.hook == .invite }, "\(report.changes)")
    }

    @Test func aPluginThatFailsOnlyNowIsTold() throws {
        let recorder = try recorded()
        let report = try recorder.report([
            ("new", "on.invite(function(call) return call.nothing.here end)"),
            ("p", Self.everything),
        ])
        // After five failures the breaker keeps it out, as it would.
        #expect(report.failing == 5)
        #expect(report.changes.first?.problem?.hasPrefix("new.lua:1: ") == true)
    }

    @Test func whatWasLateIsLateAgain() throws {
        let text =
            "on.invite(function(call) http.get 'https://crm.example.com/' return accept {} end)"
        let recorder = try Recorder(text)
        _ = recorder.rig.ask(recorder.rig.call())
        recorder.take(recorder.rig.pass(2_000))
        let record = try #require(recorder.records.first)
        #expect(record.asked.first?.verdict == .failed(.late) && record.took == 2_000)
        #expect(record.input?.seen.first?.reply == nil)
        let report = try recorder.report([("p", text)])
        #expect(report.changed == 0 && report.failing == 0 && report.asked == 1)
    }

    @Test func whatNobodyWasAskedForThenMakesAnAnswerUnsure() throws {
        let recorder = try Recorder("on.invite(function() return ring {} end)")
        recorder.take(recorder.rig.ask(recorder.rig.call()))
        let report = try recorder.report([
            (
                "p",
                """
                on.invite(function(call)
                  local page, problem = http.get "https://crm.example.com/"
                  local bob = users.get "bob"
                  kv.set("n", 1)
                  if kv.incr("n", 1) == 2 and not page and bob.devices == 2 then
                    return ring {}
                  end
                end)
                """
            )
        ])
        #expect(report.unsure == 1 && report.changed == 0 && report.asked == 1)
    }

    @Test func aRecordWithoutInputIsCounted() throws {
        let recorder = try Recorder("on.invite(function() return ring {} end)")
        recorder.rig.host.recordsInputs = false
        recorder.take(recorder.rig.ask(recorder.rig.call()))
        let report = try recorder.report([("p", "on.invite(function() end)")])
        #expect(report.unknown == 1 && report.asked == 0)
    }

    @Test func nonsenseIsNoRecord() {
        for line in ["", "{", "[]", "{}", #"{"at":1}"#, #"{"at":1,"call":"x","event":"invite"}"#] {
            #expect(DecisionRecord(line: Array(line.utf8)) == nil)
        }
    }

    /// Whoever gets the file of another machine asks again what stands in it.
    @Test(arguments: [Int64.max, .min]) func numbersOfAnySizeAreReckonedWith(number: Int64) throws {
        let recorder = try recorded()
        let replay = Replay(try recorder.generation([("p", Self.everything)]))
        var asked = 0
        for record in recorder.records {
            let line = String(decoding: record.line, as: UTF8.self)
            for match in line.matches(of: /":-?[0-9]+/) {
                var other = line
                other.replaceSubrange(match.range, with: "\":\(number)")
                guard let read = DecisionRecord(line: Array(other.utf8)) else { continue }
                asked += replay.ask(read) == nil ? 0 : 1
            }
        }
        #expect(asked > 100)
    }

    @Test func partsOfAllAreSeenToo() throws {
        let text = """
            on.invite(function(call)
              local function get(key) return function() return kv.get(key) end end
              local a, b = all { get "a", get "b" }
              if a.seen == 7 and b.seen == 7 then return accept {} end
            end)
            """
        let recorder = try Recorder(text)
        recorder.take(recorder.rig.ask(recorder.rig.call()))
        let record = try #require(recorder.records.first)
        #expect(record.input?.seen.map(\.request) == ["kv.get a", "kv.get b"])
        #expect(record.input?.seen.allSatisfy { $0.reply != nil } == true)
        #expect(try recorder.report([("p", text)]).changed == 0)
    }
}
