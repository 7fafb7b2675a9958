// What is taken back, and what is not.

import AgentCore
import CallModel
import Testing

@testable import AgentServer

@Suite struct RevocationTests {
    private let phone = DeviceID("phone")

    private func identity(
        _ user: String = "bob", issuedAt: Int64? = 1_000, id: String? = nil, issuer: String? = nil
    ) -> Identity {
        var identity = Identity(user: UserID(user))
        identity.token = SignedToken(id: id, issuer: issuer, issuedAt: issuedAt)
        return identity
    }

    @Test(arguments: [(nil, true), (999, true), (1_000, true), (1_001, false)])
    func aUsersTokensAreTakenBackUpToAMoment(issuedAt: Int64?, isCovered: Bool) {
        var revocations = Revocations()
        revocations.add(.user(UserID("bob")), at: 1_000)
        #expect(revocations.cover(identity(issuedAt: issuedAt), on: phone) == isCovered)
        #expect(!revocations.cover(identity("ann", issuedAt: issuedAt), on: phone))
    }

    @Test func aDevicesTokensAreTakenBackForThatDeviceOnly() {
        var revocations = Revocations()
        revocations.add(.device(Address(UserID("bob"), phone)), at: 1_000)
        #expect(revocations.cover(identity(), on: phone))
        #expect(!revocations.cover(identity(), on: DeviceID("tablet")))
        #expect(!revocations.cover(identity("ann"), on: phone))
    }

    @Test func oneTokenIsTakenBackOfOneIssuerOrOfAll() {
        var revocations = Revocations(listed: ["c"])
        revocations.add(.token("a", issuer: nil), at: 1_000)
        revocations.add(.token("b", issuer: "us"), at: 1_000)
        for (id, issuer, isCovered) in [
            ("a", nil, true), ("a", "us", true), ("b", "us", true), ("b", "them", false),
            ("b", nil, false), ("c", "us", true), ("d", "us", false),
        ] {
            let one = identity(issuedAt: 9_999, id: id, issuer: issuer)
            #expect(revocations.cover(one, on: phone) == isCovered, "\(id) \(issuer ?? "-")")
        }
        #expect(!revocations.cover(identity(), on: phone), "a token without jti")
    }

    @Test func whatNoTokenCanOutliveIsForgotten() {
        var revocations = Revocations()
        revocations.add(.user(UserID("bob")), at: 1_000)
        revocations.add(.user(UserID("ann")), at: 2_000, forgetting: 1_000)
        #expect(revocations.moments.count == 2)
        revocations.add(.user(UserID("eve")), at: 3_000, forgetting: 1_001)
        #expect(revocations.moments.count == 2)
    }

    @Test(arguments: [
        Revocation.token("a \"b\" c", issuer: nil), .token("a", issuer: "https://us"),
        .user(UserID("bob")), .device(Address(UserID("bob"), DeviceID("phone"))),
    ])
    func theStoreGivesBackWhatItWasGiven(revocation: Revocation) {
        #expect(Revocation(storeKey: revocation.storeKey) == revocation)
    }

    @Test(arguments: ["", "revoked ", "revoked []", "revoked [\"user\"]", "revoked [\"all\",1]"])
    func anotherKeyOfTheStoreIsNone(key: String) {
        #expect(Revocation(storeKey: key) == nil)
    }
}
