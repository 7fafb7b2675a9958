// Whose word about a name counts, and how many names there are (K108).

import CallModel
import StoreContract
import Testing

@testable import AgentCore

@Suite struct NameDirectoryTests {
    private func name(_ text: String) throws -> PersonName {
        try #require(PersonName(checking: text))
    }

    private func directory(limit: Int = 3) -> NameDirectory { NameDirectory(limit: limit, seed: 7) }

    @Test func theOperatorComesBeforeAServerAndAServerBeforeAToken() throws {
        let names = directory()
        #expect(names.isEmpty && names.name(of: "ann") == nil)
        #expect(
            names.learn(try name("Ann"), of: "ann")
                == [.name("ann", try name("Ann"), from: .token)])
        #expect(names.name(of: "ann") == "Ann")
        #expect(names.set(try name("Dr Smith"), of: "ann").isEmpty)
        #expect(names.learn(try name("Annie"), of: "ann").isEmpty)
        #expect(names.name(of: "ann") == "Dr Smith")
        names.fix(["ann": try name("Reception")])
        #expect(names.name(of: "ann") == "Reception")
        names.fix([:])
        #expect(names.name(of: "ann") == "Dr Smith")
        #expect(names.set(nil, of: "ann").isEmpty && names.name(of: "ann") == nil)
        #expect(names.count == 0)
    }

    @Test func onlyWhatDiffersIsStored() throws {
        let names = directory()
        #expect(names.learn(try name("Ann"), of: "ann").count == 1)
        let version = names.version
        for _ in 0..<10 { #expect(names.learn(try name("Ann"), of: "ann").isEmpty) }
        #expect(names.version == version)
        #expect(names.learn(try name("Annie"), of: "ann").count == 1)
        #expect(names.version != version)
    }

    @Test func tenThousandNamesOfOneUserTakeOnePlace() throws {
        let names = directory()
        for number in 0..<10_000 { _ = names.learn(try name("Ann \(number)"), of: "ann") }
        #expect(names.count == 1 && names.name(of: "ann") == "Ann 9999")
    }

    @Test func beyondTheLimitANameThatWasNotSaidLatelyGoes() throws {
        let names = directory(limit: 3)
        for user in ["a", "b", "c"] { _ = names.learn(try name("N \(user)"), of: UserID(user)) }
        // The search for room takes the marks of all; then "b" and "c" come again.
        let changes = names.learn(try name("N d"), of: "d")
        #expect(names.count == 3 && changes.count == 2)
        let left = ["a", "b", "c"].filter { names.name(of: UserID($0)) != nil }
        #expect(left.count == 2)
        let gone = try #require(["a", "b", "c"].first { !left.contains($0) })
        #expect(changes.first == .name(UserID(gone), nil, from: .token))
        for user in left { _ = names.learn(try name("N \(user)"), of: UserID(user)) }
        _ = names.learn(try name("N e"), of: "e")
        #expect(names.count == 3)
        #expect(names.name(of: "e") == "N e")
    }

    @Test func whatAServerSetGoesForNobody() throws {
        let names = directory(limit: 2)
        _ = names.set(try name("A"), of: "a")
        _ = names.learn(try name("T"), of: "t")
        #expect(names.hasRoom(for: "b"))
        #expect(names.set(try name("B"), of: "b") == [.name("t", nil, from: .token)])
        #expect(!names.hasRoom(for: "c") && names.hasRoom(for: "a"))
        #expect(names.learn(try name("T"), of: "t").isEmpty && names.leftOut == 1)
        #expect(names.name(of: "a") == "A" && names.name(of: "b") == "B")
        _ = names.set(nil, of: "a")
        #expect(names.hasRoom(for: "c"))
        #expect(names.learn(try name("T"), of: "t").count == 1)
    }

    @Test func noNamesMeansNone() throws {
        let names = directory(limit: 0)
        #expect(names.learn(try name("Ann"), of: "ann").isEmpty)
        #expect(!names.hasRoom(for: "ann") && names.isEmpty)
    }

    @Test func whatWasSaidSinceIsNotOverwrittenByWhatWasKept() throws {
        let names = directory(limit: 100)
        names.beginLoading()
        #expect(names.nextPage == .names(after: nil, limit: NameDirectory.pageSize))
        var isLoaded = false
        names.whenLoaded { isLoaded = true }
        _ = names.learn(try name("New Ann"), of: "ann")
        _ = names.learn(try name("New Bob"), of: "bob")
        _ = names.set(try name("New Cat"), of: "cat")
        _ = names.set(nil, of: "dan")
        let kept = [
            StoredName("ann", try name("Old Ann"), from: .token),
            StoredName("bob", try name("Set Bob"), from: .server),
            StoredName("cat", try name("Old Cat"), from: .server),
            StoredName("dan", try name("Old Dan"), from: .server),
            StoredName("eve", try name("Eve"), from: .token),
        ]
        #expect(!isLoaded)
        #expect(names.take(kept).isEmpty)
        #expect(isLoaded && names.nextPage == nil)
        #expect(names.name(of: "ann") == "New Ann" && names.name(of: "bob") == "Set Bob")
        #expect(names.name(of: "cat") == "New Cat" && names.name(of: "dan") == nil)
        #expect(names.name(of: "eve") == "Eve")
    }

    @Test func aMillionNamesComeInPages() throws {
        let names = directory(limit: 1_000_000)
        names.beginLoading()
        var next = 0
        let total = 20_000
        while case .names(_, let limit)? = names.nextPage {
            let page = try (next..<min(next + limit, total)).map {
                StoredName(UserID("user-\($0)"), try name("User \($0)"), from: .token)
            }
            next += page.count
            #expect(names.take(page).isEmpty)
        }
        #expect(names.count == total && names.name(of: "user-19999") == "User 19999")
    }

    @Test func keptNamesBeyondALowerLimitGoFromTheStore() throws {
        let names = directory(limit: 1)
        names.beginLoading()
        let gone = names.take([
            StoredName("ann", try name("Ann"), from: .token),
            StoredName("bob", try name("Bob"), from: .token),
            StoredName("cat", try name("Cat"), from: .server),
        ])
        #expect(gone == [.name("bob", nil, from: .token)])
        #expect(names.name(of: "cat") == "Cat" && names.name(of: "ann") == "Ann")
    }
}

extension UserID: ExpressibleByStringLiteral {
    /// The user of this name.
    public init(stringLiteral text: String) { self.init(text) }
}
