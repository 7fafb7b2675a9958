// The guarantees of a reload (G1-G7) while invitations come in.

import CallClient
import CallClientCore
import CallModel
import EventLoop
import Glibc
import JSON
import Testing
import WebProtocols

@testable import AgentServer
@testable import PolicyHost

@Suite(.serialized) struct ReloadUnderLoadTests {
    /// With CALLAGENT_FULL the counts that the project promises.
    private static let isFull = getenv("CALLAGENT_FULL").map { $0.pointee != 0 } ?? false
    private static let reloads = isFull ? 50 : 12
    private static let rate: Int64 = isFull ? 250 : 100

    /// What became of the reloads of one run.
    private final class Log {
        var generations: [String] = []
        var refusals: [String] = []
        var finished = 0
    }

    @Test func noInvitationNoticesAReload() throws {
        let rig = try ReloadRig()
        defer { rig.close() }
        rig.invite(perSecond: Self.rate)
        let log = Log()
        var rounds = 0
        for round in 1...Self.reloads {
            let isBroken = round % 3 == 0
            if isBroken {
                rig.breakPlugin(round / 3)
            } else {
                ReloadRig.writePlugins(version: round, in: rig.folder)
            }
            let (status, answer) = try rig.ask(.post, "/admin/v1/reload")
            note(status, answer, isBroken: isBroken, log)
            // Between two reloads comes a fifth of a second's invitations.
            let wanted = rig.calls.count + Int(Self.rate) / 5
            try rig.waiter.wait(for: "invitations", upTo: 60_000) { rig.calls.count >= wanted }
            rounds += 1
        }
        rig.stopInviting()
        let sent = rig.sent
        try rig.waiter.wait(for: "every answer", upTo: 60_000) {
            rig.answers.count + rig.refusals.count >= sent
        }
        #expect(rounds == Self.reloads && rig.calls.count == sent)
        #expect(rig.refusals.isEmpty, "\(rig.refusals.prefix(3))")
        #expect(rig.losses.isEmpty, "\(rig.losses)")
        // G3: what is broken changes nothing and says where.
        #expect(log.refusals.count == Self.reloads / 3)
        #expect(log.refusals.allSatisfy { $0.hasPrefix("c.lua:") }, "\(log.refusals)")
        #expect(Set(log.generations).count == log.generations.count)
        try checkAnswers(rig)
        try checkRecords(rig, generations: log.generations.count + 1)
        try checkTimers(rig)
        try checkRest(rig)
    }

    private func note(
        _ status: HTTPStatus?, _ answer: JSONValue, isBroken: Bool, _ log: Log
    ) {
        #expect(status?.rawValue == (isBroken ? 409 : 200), "\(answer)")
        if let generation = answer["generation"]?.string { log.generations.append(generation) }
        if let refusal = answer["detail"]?.string { log.refusals.append(refusal) }
    }

    /// G2, G5: every call was answered once, by the plugins.
    private func checkAnswers(_ rig: ReloadRig) throws {
        let answers = rig.answers
        #expect(Set(answers.keys) == Set(rig.calls))
        #expect(answers.values.allSatisfy { $0.count == 1 && $0[0] >= 0 })
    }

    /// G1, G2, G5: one question for each call, no version beside another, none late.
    private func checkRecords(_ rig: ReloadRig, generations: Int) throws {
        // A thread of its own writes them.
        try rig.waiter.wait(for: "every decision on disk", upTo: 60_000) {
            rig.records.count { $0.hook == .invite } >= rig.sent
        }
        let records = rig.records.filter { $0.hook == .invite }
        #expect(records.count == rig.sent)
        #expect(Set(records.map(\.call)).count == rig.sent)
        var versions: [String: Set<Substring>] = [:]
        for record in records {
            // `users.get a-7`
            let seen = (record.input?.seen ?? []).filter { $0.request.hasPrefix("users.get ") }
            #expect(seen.map(\.plugin) == ["a", "b", "c"])
            let own = Set(seen.compactMap { $0.request.split(separator: "-").last })
            #expect(own.count == 1, "a mixed set: \(seen.map(\.request))")
            versions[record.generation, default: []].formUnion(own)
            #expect(!record.hasFailures && record.took < 30_000)
        }
        #expect(versions.values.allSatisfy { $0.count == 1 }, "\(versions)")
        #expect(versions.count <= generations && versions.count > Self.reloads / 3)
    }

    /// G4: every timer that was started has fired once.
    private func checkTimers(_ rig: ReloadRig) throws {
        var fired = 0.0
        let started = Double(rig.sent) - (try rig.figure("callagent_plugin_full_total{"))
        let latest = Clock.bootMilliseconds() + 60_000
        while fired < started, Clock.bootMilliseconds() < latest {
            fired = try rig.figure("callagent_plugin_fired_total{")
        }
        #expect(fired == started && started > Double(rig.sent) / 2)
        #expect(try rig.figure("callagent_plugin_repeated_total{") == 0)
    }

    /// G6: nothing of older generations runs any more.
    private func checkRest(_ rig: ReloadRig) throws {
        let status = try rig.ask(.get, "/admin/v1/plugins").1
        #expect(status["draining"]?.integer == 0)
        #expect(status["plugins"]?[2]?["by_hook"]?["invite"]?["failures"] == [:])
        #expect(try rig.figure("callagent_policy_draining") == 0)
    }

    /// G84: settings and plugins change with one cut, also when they go back. Who is unknown is
    /// told by the settings of the moment, and the answer by the plugins that were asked.
    @Test func noAnswerIsOfNewPluginsUnderOldSettings() throws {
        let rig = try ReloadRig()
        defer { rig.close() }
        rig.writeDirectory(version: 0)
        #expect(try rig.ask(.post, "/admin/v1/reload").0?.rawValue == 200)
        rig.invitees = ["support", "mark-0", "mark-1"]
        rig.invite(perSecond: Self.isFull ? 1_000 : 400)
        for round in 1...Self.reloads {
            rig.writeDirectory(version: round)
            ReloadRig.writePlugins(version: round, in: rig.folder)
            let (status, answer) = try rig.ask(.post, "/admin/v1/reload")
            #expect(status?.rawValue == 200, "\(answer)")
            let wanted = rig.calls.count + 40
            try rig.waiter.wait(for: "invitations", upTo: 60_000) { rig.calls.count >= wanted }
        }
        rig.stopInviting()
        let sent = rig.sent
        try rig.waiter.wait(for: "every answer", upTo: 60_000) {
            rig.answers.count + rig.refusals.count >= sent
        }
        #expect(rig.refusals.isEmpty, "\(rig.refusals.prefix(3))")
        let mixed = rig.answers.filter { call, versions in
            rig.unknown[call] != versions.map { "mark-\(1 - $0 % 2)" }
        }
        let state = mixed.isEmpty ? JSONValue.null : try rig.ask(.get, "/admin/v1/plugins").1
        #expect(mixed.isEmpty, "\(mixed.count) of \(rig.calls.count), \(state)")
    }

    /// G7: two at once are carried out one after the other, and each asker gets its own answer.
    @Test func reloadsAtOnceDoNotInterleave() throws {
        let rig = try ReloadRig()
        defer { rig.close() }
        rig.invite(perSecond: Self.rate)
        for round in 1...(Self.isFull ? 20 : 5) {
            ReloadRig.writePlugins(version: round, in: rig.folder)
            var answers: [JSONValue] = []
            for _ in 0..<3 { rig.tell(.post, "/admin/v1/reload") { answers.append($1) } }
            rig.tell(.post, "/admin/v1/shadow") { answers.append($1) }
            rig.tell(.post, "/admin/v1/rollback", ["generation": "nonsense"]) { answers.append($1) }
            try rig.waiter.wait(for: "all answers", upTo: 60_000) { answers.count == 5 }
            let names = Set(answers.compactMap { $0["generation"]?.string })
            #expect(names.count == 1, "\(answers)")
            #expect(answers.count { $0["detail"]?.string?.contains("nonsense") == true } == 1)
            #expect(answers.count { $0["shadow"]?.bool == true } == 1)
        }
        rig.stopInviting()
        let sent = rig.sent
        try rig.waiter.wait(for: "every answer", upTo: 60_000) {
            rig.answers.count + rig.refusals.count >= sent
        }
        try checkAnswers(rig)
    }
}
