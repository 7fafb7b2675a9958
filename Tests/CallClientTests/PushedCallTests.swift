// What a phone reads of the pushes that the server really sends.

import CallClientCore
import CallModel
import Foundation
import JSON
import Testing

@testable import Outbound

@Suite struct PushedCallTests {
    private static let id = CallID(high: 0x0199_aabb_ccdd_0001, low: 0x8000_0000_0000_00ff)

    /// What the server makes of a push, as the phone's system hands it over.
    private func pushed(
        _ kind: PushKind, payload: JSONValue? = nil, name: String? = "Alice Smith"
    ) throws -> JSONValue {
        let subject = PushSubject(
            id: Self.id.description, caller: "alice", kind: "video", mode: "direct",
            callerName: name)
        var notice = PushNotice(
            id: "1", kind, subject, for: "bob", to: PushTarget(.apnsVoIP, token: "00"),
            ringEndsAt: 61_000, now: 1_000)
        notice.content.payload = payload
        return .object(notice.data(at: 2_000))
    }

    @Test(arguments: PushKind.allCases) func everyPushIsRead(_ kind: PushKind) throws {
        let json = try pushed(kind)
        let call = try #require(PushedCall(json: json))
        #expect(call.id == Self.id && call.reason.rawValue == kind.rawValue)
        #expect(call.user == "bob" && call.caller == "alice" && call.shownCaller == "Alice Smith")
        #expect(call.hasVideo && call.reason.isCall == kind.announcesCall)
        let object = try JSONSerialization.jsonObject(with: Data(json.bytes))
        let payload = try #require(object as? [AnyHashable: Any])
        #expect(PushedCall(payload: payload) == call)
        if kind == .invite { #expect(call.expiresAt == Moment(61_000) && call.expiresIn == 59_000) }
    }

    @Test func theAppsOwnDataStandsBeside() throws {
        let json = try pushed(.invite, payload: ["caller": "Door 7", "door": 7], name: nil)
        let call = try #require(PushedCall(json: json))
        #expect(call.shownCaller == "Door 7" && call.callerName == nil)
    }

    @Test(arguments: ["call_id", "kind", "user", "call_kind", "expires_at"])
    func anotherPushIsNone(_ missing: String) throws {
        guard case .object(var members) = try pushed(.invite) else { return }
        members[missing] = nil
        #expect(PushedCall(json: .object(members)) == nil)
        members[missing] = ["x": 1]
        #expect(PushedCall(json: .object(members)) == nil)
        #expect(PushedCall(payload: ["aps": ["alert": "news"]]) == nil)
    }

    @Test func anIdIsAUUIDOfTheSameBits() throws {
        #expect(Self.id.uuid == "0199aabb-ccdd-0001-8000-0000000000ff")
        let system = try #require(UUID(uuidString: Self.id.uuid))
        #expect(system.uuidString == Self.id.uuid.uppercased())
        #expect(CallID(uuid: system.uuidString) == Self.id && CallID(uuid: Self.id.uuid) == Self.id)
    }

    @Test(arguments: [
        "", "0199aabbccdd000180000000000000ff", "0199aabb-ccdd-0001-8000-0000000000f",
        "0199aabbccdd-0001-8000-0000-000000ff", "g199aabb-ccdd-0001-8000-0000000000ff",
        "0199aabb-ccdd-0001-8000-0000000000ff-",
    ])
    func whatIsNoUUIDIsNoId(_ text: String) { #expect(CallID(uuid: text) == nil) }
}
