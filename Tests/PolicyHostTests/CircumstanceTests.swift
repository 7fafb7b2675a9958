// What the caller's circumstances make impossible is no failure of the plugin (clarifications 73,
// 74, 77, 85 to 87).

import CallCore
import CallModel
import Configuration
import Decisions
import JSON
import Lua
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct CircumstanceTests {
    private func ask(_ answer: String, ring: Milliseconds) throws -> (Answer?, DecisionRecord) {
        let rig = try Rig("on.invite(function(call) return \(answer) end)")
        let effects = rig.ask(rig.call(ring: ring))
        #expect(effects.lines.isEmpty, "no failure")
        return (effects.answer, try #require(effects.record))
    }

    @Test func aWaitThatIsTooLongIsCut() throws {
        func wait(_ ring: Milliseconds) throws -> Milliseconds? {
            let (answer, record) = try ask("accept { wait = '3s' }", ring: ring)
            #expect((record.asked.first?.message != nil) == (ring <= 3_000), "it is noted")
            guard case .invite(.accept(let wait, _), _, _) = answer else { return nil }
            return wait
        }
        #expect(try wait(3_001) == 3_000)
        #expect(try wait(3_000) == 2_500)
        #expect(try wait(1_000) == 500)
        #expect(try wait(400) == 0)
    }

    @Test func thirtyShortInvitationsTakeThePluginFromNobody() throws {
        let rig = try Rig("on.invite(function() return accept { wait = '3s' } end)")
        for _ in 0..<30 { #expect(rig.ask(rig.call(ring: 1_000)).lines.isEmpty) }
        #expect(rig.invite(by: "alice") == .decided(.accept(wait: 3_000, extendedData: nil)))
    }

    @Test func aRingTimeThatIsTooLongRingsToTheEnd() throws {
        #expect(try ask("ring { for_ = '20s' }", ring: 20_001).0 == .decided(.ring(for: 20_000)))
        let (answer, record) = try ask("ring { for_ = '20s' }", ring: 20_000)
        #expect(answer == .decided(.ring(for: nil)))
        #expect(record.asked.first?.message?.hasPrefix("for_: 20s rings to the end") == true)
    }

    @Test func aForwardIntoTheCallIsUnfit() throws {
        let rig = try Rig([
            ("a", "on.invite(function(call) return forward(call.caller) end)"),
            ("b", "on.invite(function() return reject 'busy' end)"),
        ])
        let effects = rig.ask(rig.call())
        #expect(
            effects.answer
                == .decided(.reject(busy: true, extendedData: nil), by: "b", next: 2))
        let record = try #require(effects.record)
        #expect(record.asked.first?.verdict == .unfit && effects.lines.isEmpty)
        let read = DecisionRecord(line: record.line)?.asked.first
        #expect(read?.verdict == .unfit && read?.message == record.asked.first?.message)
    }

    /// Whose part is over is not in the call, however that part ended: they may be called again.
    @Test func aForwardToSomebodyWhoIsOutOfTheCallIsADecision() throws {
        func forward(_ state: Participant.State) throws -> (Answer?, String?) {
            let rig = try Rig("on.invite(function() return forward 'carl' end)")
            var call = rig.call()
            call.participants.append(
                Participant(
                    user: UserID("carl"), role: .invitee, state: state, at: call.createdAt))
            let effects = rig.ask(call)
            #expect(effects.lines.isEmpty)
            return (effects.answer, effects.record?.asked.first?.message)
        }
        for state in [Participant.State.rejected, .timedOut, .left, .cancelled, .failed] {
            #expect(try forward(state).0 == .decided(.forward([UserID("carl")])))
        }
        #expect(try forward(.joined).1 == "forward: 'carl' is in the call already")
        #expect(try forward(.ringing).1 == "forward: 'carl' is invited already")
    }

    /// (F62)
    @Test func aLoopOfForwardsIsABadReturnAlsoWhenItIsDecidedAtOnce() throws {
        let records = try chain(
            """
            on.invite(function(call)
              return forward(call.callee.id == "one" and "two" or "one")
            end)
            """)
        #expect(records.map(\.user) == [UserID("one"), UserID("two")])
        let second = try #require(records.last?.asked.first)
        #expect(second.verdict == .failed(.badReturn))
        #expect(second.message?.hasSuffix("'one' has forwarded this call: that is a loop") == true)
    }

    /// (F62)
    @Test func aSixthForwardIsUnfitAndSaysSo() throws {
        let records = try chain(
            """
            on.invite(function(call) return forward(call.callee.id .. "x") end)
            """)
        #expect(records.count == 6)
        #expect(records.dropLast().allSatisfy { $0.asked.first?.verdict == .decided })
        let last = try #require(records.last?.asked.first)
        #expect(last.verdict == .unfit)
        #expect(last.message?.hasSuffix("it was forwarded 5 times already") == true)
    }

    /// What is recorded of an invitation of `one` that `script` forwards, decided at once.
    private func chain(_ script: String) throws -> [DecisionRecord] {
        let rig = try Rig(script)
        var settings = Settings()
        settings.hooks = rig.host.generation.hooks
        settings.answerFor = Accounts(["*"])
        var board = Switchboard(settings: settings, seed: 1, at: rig.now)
        let request = Request(
            id: RequestID(1), user: UserID("zoe"), device: DeviceID("d"), key: nil,
            operation: .invite(Invitation(invitees: [UserID("one")])))
        var effects = board.handle(.request(request), at: rig.now)
        var records: [DecisionRecord] = []
        while let question = effects.question {
            let answered = rig.host.handle(.asked(question), at: rig.now)
            records += [answered.record].compactMap { $0 }
            guard let answer = answered.answer else { break }
            effects = board.handle(.answered(question.id, answer), at: rig.now)
        }
        return records
    }

    /// In `handshake` time begins with the acknowledgement: all of it remains before (F63).
    @Test func whatRemainsBeforeAnAcknowledgementIsTheWholeRingTime() throws {
        let rig = try Rig("on.invite(function() return accept { wait = '1500ms' } end)")
        var settings = Settings()
        settings.hooks = rig.host.generation.hooks
        settings.answerFor = Accounts(["*"])
        var board = Switchboard(settings: settings, seed: 1, at: rig.now)
        var invitation = Invitation(invitees: [UserID("one")])
        invitation.mode = .handshake
        let request = Request(
            id: RequestID(1), user: UserID("zoe"), device: DeviceID("d"), key: nil,
            operation: .invite(invitation))
        let question = try #require(board.handle(.request(request), at: rig.now).question)
        let answer = rig.host.handle(.asked(question), at: rig.now).answer
        guard case .invite(.accept(let wait, _), _, _)? = answer else {
            Issue.record("no accept: \(String(describing: answer))")
            return
        }
        #expect(wait == 1_500)
    }

    @Test(arguments: [
        ("kv.set('k', ('x'):rep(70000))", "too_large"),
        ("kv.set('k', ('x'):rep(1200000))", "too_large"),
        ("kv.set(('k'):rep(257), 1)", "kv.set: a key has 1 to 256 bytes"),
        ("kv.get(('k'):rep(257))", "kv.get: a key has 1 to 256 bytes"),
        ("kv.get '\\xFF'", "bad argument #1 to 'kv.get' (a string that is not UTF-8)"),
        (
            "kv.set('k', 1, { ttl = 'bogus' })",
            "kv.set: bad ttl 'bogus' (write \"10m\", \"7d\")"
        ),
        ("call:signal(('x'):rep(1200000))", "too_large"),
        ("call:set_items { a = ('x'):rep(1200000) }", "too_large"),
        ("call:later('1s', 't', ('x'):rep(70000))", "too_large"),
        ("later('1s', 't', ('x'):rep(1200000))", "too_large"),
        (
            "later('100000d', 't')",
            "bad duration '100000d' (write \"250ms\", \"3s\", \"10m\", \"2h\")"
        ),
        ("http.post('https://x.y/', { body = ('x'):rep(1200000) })", "too_large"),
        (
            "http.get('https://x.y/', { timeout = '2m' })",
            "http.get: timeout is a duration of at most \"60s\""
        ),
    ])
    func whatIsTooLargeOrTooLongIsTrouble(_ text: String, _ trouble: String) throws {
        let rig = try Rig(
            """
            timer("t", function() end)
            on.invite(function(call)
              local ok, err = \(text)
              log.info(tostring(ok) .. " " .. err)
              return reject "busy"
            end)
            """
        ) { $0.plugins[0].setting.grants = ["http:x.y"] }
        let effects = rig.ask(rig.call())
        #expect(effects.said == ["nil \(trouble)"])
        #expect(effects.answer == .decided(.reject(busy: true, extendedData: nil)))
        #expect(rig.host.status.first?.failures == [:])
    }

    /// A plugin cannot do anything about these, so that the operator hears of them.
    @Test(arguments: [
        (
            "http.get 'https://evil.example/'",
            "http.get: \"http:evil.example\" is not granted to this plugin", [Failure.denied: 1]
        ),
        (
            "later('1s', 'remid')",
            "unknown timer 'remid' (did you mean 'remind'?)"
                + " (declare it with timer(\"remid\", function … end))", [:]
        ),
    ])
    func whatAPluginMayNotDoIsTroubleAndSaid(
        _ text: String, _ trouble: String, _ failures: [Failure: Int]
    ) throws {
        let rig = try Rig(
            """
            timer("remind", function() end)
            on.invite(function(call)
              local ok, err = \(text)
              return reject(err:sub(1, 20))
            end)
            """)
        let effects = rig.ask(rig.call())
        #expect(effects.said == ["p.lua: \(trouble)"])
        #expect(effects.record?.asked.first?.verdict == .decided)
        #expect(rig.host.status.first?.failures == failures)
    }

    @Test(arguments: ["kv.get {}", "kv.set('k', 1, { tll = '1s' })", "later(5, 't')", "http.get()"])
    func aWrongTypeIsAnError(_ text: String) throws {
        let rig = try Rig("timer('t', function() end) on.invite(function() \(text) end)")
        #expect(rig.ask(rig.call()).record?.asked.first?.verdict == .failed(.error))
    }

    @Test func shapedDataThatIsTooLargeIsTheSendersMatter() throws {
        let rig = try Rig(
            """
            on.extended_data(function(data, call)
              if type(data) == "string" then return data:rep(100) end
              return { inner = data }
            end)
            """)
        func send(_ data: String) -> [PolicyEffect] {
            rig.ask(.incomingData(rig.call(), user: UserID("ann"), data: data))
        }
        let long = String(repeating: "x", count: 100)
        #expect(send(long).answer == .tooLarge(by: "p") && send(long).lines.isEmpty)
        let deep = String(repeating: #"{"a":"#, count: 64) + "1" + String(repeating: "}", count: 64)
        #expect(send(deep).answer == .tooLarge(by: "p") && send(deep).lines.isEmpty)
        let fits = String(repeating: #"{"a":"#, count: 63) + "1" + String(repeating: "}", count: 63)
        #expect(send(fits).answer == .data("{\"inner\":\(fits)}"), "as deep as that of clients")

        // What a caller may say a plugin may say again: the caller cannot trip it (G73).
        let echo = try Rig(
            "on.invite(function(call) return accept { extended_data = call.extended_data } end)")
        let answered = echo.ask(.invite(echo.call(data: deep), callee: UserID("bob"), from: 0))
        #expect(answered.answer == .decided(.accept(wait: 0, extendedData: deep)))

        let text = Question.OutgoingText(owner: .call, receiver: UserID("bob"), data: long)
        let out = rig.ask(.outgoingData(rig.call(), [text]))
        #expect(out.answer == .views([]) && out.lines.isEmpty, "the original")
    }

    @Test func aShortRingTimeIsNotLateAgainstThePlugin() throws {
        let rig = try Rig(
            "plugin { guard = true } on.invite(function() sleep '300ms' return ring {} end)")
        for number in 0..<10 {
            var question = Question(
                id: QuestionID(UInt64(100 + number)), decideBy: rig.now + 250,
                subject: .invite(rig.call(ring: 1_000), callee: UserID("bob"), from: 0),
                cause: Cause(UserID("ann")))
            question.isCutShort = true
            _ = rig.host.handle(.asked(question), at: rig.now)
            let effects = rig.pass(250)
            #expect(effects.answer == .decided(.reject(busy: false, extendedData: nil)))
            #expect(effects.record?.asked.first?.verdict == .cutShort && effects.lines.isEmpty)
        }
        #expect(rig.host.status.first?.paused == [])
        #expect(rig.host.status.first?.failures == [:])
    }

    @Test func anEventHasItsTimeOnceHoweverItIsDividedUp() throws {
        let rig = try Rig(
            """
            local function burn() for _ = 1, 100000 do end end
            local function tree(depth)
              local parts = {}
              for i = 1, 8 do
                parts[i] = function()
                  sleep "1ms"
                  burn()
                  if depth > 1 then tree(depth - 1) end
                end
              end
              all(parts)
            end
            on.accepted(function() for _ = 1, 20 do detach(function() tree(3) end) end tree(3) end)
            """
        ) { $0.plugins[0].setting.limits.eventTime = 30 }
        let before = processorTime()
        _ = rig.tell(.accepted(UserID("bob")))
        let lines = rig.pass(50_000).lines
        #expect(lines.contains { $0.contains("over the processor budget of 30 ms of an event") })
        let nanoseconds = try #require(rig.host.status.first?.nanoseconds)
        #expect(nanoseconds < 60_000_000, "\(processorTime() - before) ms in all")
    }

    @Test func aReportRunsToItsEnd() throws {
        let rig = try Rig(
            """
            on.accepted(function(call) sleep "40s" log.info("told " .. call.id) end)
            on.invite(function(call) sleep "40s" return ring {} end)
            """)
        let call = rig.call()
        _ = rig.tell(.accepted(UserID("bob")), call)
        _ = rig.end(call)
        _ = try rig.reload([("p", "on.invite(function() return ring {} end)")])
        #expect(rig.pass(40_000).said == ["told \(call.id)"], "over the call's end and a reload")
    }

    /// (G85)
    @Test func aReportHasAMinute() throws {
        let rig = try Rig(
            """
            on.accepted(function() sleep "59s" log.info "in time" end)
            on.ended(function() sleep "61s" log.info "never" end)
            """)
        _ = rig.tell(.accepted(UserID("bob")))
        _ = rig.tell(.ended)
        #expect(rig.pass(59_000).said == ["in time"])
        #expect(rig.pass(60_000).said == ["p.lua: a handler took too long"])
        #expect(rig.host.status.first?.waiting == 0)
    }

    @Test func aMethodOfACallWithoutAnAccountOfOursSaysSo() throws {
        let rig = try Rig(
            """
            on.accepted(function(call) log.info(select(2, call:leave())) end)
            """
        ) { $0.answerFor = Accounts(["nobody"]) }
        let effects = rig.tell(.accepted(UserID("bob")))
        #expect(effects.lines == ["info: no account that the plugins answer for is in the call"])
    }

    @Test func linesOfOnePlaceAreWrittenTenTimesAMinute() throws {
        let rig = try Rig("on.invite(function(call)\n error(call.id)\nend)")
        var lines = 0
        for number in 0..<30 { lines += rig.ask(rig.call(by: "user-\(number % 15)")).lines.count }
        #expect(lines == 10)
        _ = rig.pass(60_000)
        for case .log(let line) in rig.ask(rig.call(by: "user-20")) {
            #expect(line.fields["left_out"] == 20)
        }
    }
}

extension [Effect] {
    fileprivate var question: Question? {
        for case .consult(let question) in self { return question }
        return nil
    }
}
