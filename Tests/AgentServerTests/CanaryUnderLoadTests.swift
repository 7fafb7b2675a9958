// Canaries begin, change their extent, are promoted and taken back while invitations come in.

import CallClient
import CallModel
import JSON
import PolicyHost
import Testing
import WebProtocols

@testable import AgentServer

@Suite(.serialized) struct CanaryUnderLoadTests {
    /// What a request to the operator's socket comes to.
    private func post(
        _ path: String, _ rig: ReloadRig, _ body: JSONValue = [:]
    ) throws -> JSONValue {
        let (status, answer) = try rig.waiter.result(of: path, upTo: 60_000) { completion in
            rig.tell(.post, "/admin/v1/\(path)", body) { completion(($0, $1)) }
        }
        #expect(status?.rawValue == 200, "\(answer)")
        return answer
    }

    private func waitForInvitations(_ rig: ReloadRig) throws {
        let wanted = rig.calls.count + 20
        try rig.waiter.wait(for: "invitations", upTo: 60_000) { rig.calls.count >= wanted }
    }

    @Test func noInvitationNoticesACanary() throws {
        let rig = try ReloadRig()
        defer { rig.close() }
        rig.invite(perSecond: 100)
        var generations: Set<String> = []
        for round in 1...6 {
            ReloadRig.writePlugins(version: round, in: rig.folder)
            let begun = try post("reload", rig, ["canary": "support"])
            #expect(begun["canary"]?["for"]?.string == "support", "\(begun)")
            generations.formUnion(begun["generation"]?.string.map { [$0] } ?? [])
            try waitForInvitations(rig)
            if round % 3 == 0 {
                // Nobody is met any more, but for calls that it decides about already.
                _ = try post("reload", rig, ["canary": "nobody"])
                try waitForInvitations(rig)
            }
            _ = try post(round % 2 == 0 ? "promote" : "abort", rig)
            try waitForInvitations(rig)
        }
        rig.stopInviting()
        let sent = rig.sent
        try rig.waiter.wait(for: "every answer", upTo: 60_000) {
            rig.answers.count + rig.refusals.count >= sent
        }
        #expect(rig.refusals.isEmpty && rig.losses.isEmpty)
        #expect(rig.answers.values.allSatisfy { $0.count == 1 && $0[0] >= 0 })
        try rig.waiter.wait(for: "every decision on disk", upTo: 60_000) {
            rig.records.count { $0.hook == .invite } >= sent
        }
        var versions: [String: Set<Substring>] = [:]
        for record in rig.records where record.hook == .invite {
            let seen = (record.input?.seen ?? []).filter { $0.request.hasPrefix("users.get ") }
            let own = Set(seen.compactMap { $0.request.split(separator: "-").last })
            #expect(own.count == 1, "a mixed set: \(seen.map(\.request))")
            versions[record.generation, default: []].formUnion(own)
        }
        #expect(versions.values.allSatisfy { $0.count == 1 }, "\(versions)")
        #expect(generations.count == 6 && generations.isSubset(of: versions.keys))
        #expect(try rig.figure("callagent_policy_draining") == 0)
        #expect(try rig.figure("callagent_policy_canary") == 0)
    }
}
