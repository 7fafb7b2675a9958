// Planted faults are found, and nothing is found in good plugins.

import Configuration
import Foundation
import Lua
import PolicyHost
import Testing

@testable import PolicyTesting

@Suite struct FuzzTests {
    /// A plugin with a fault; for some of them as it was before.
    private struct Planted {
        let name: String
        let source: PluginSource
        let before: PluginSource?
    }

    private static var root: URL {
        var root = URL(filePath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        return root
    }

    private static func plugin(_ text: String) -> PluginSource {
        PluginSource(name: "p", main: SourceFile(name: "p.lua", text: Array(text.utf8)))
    }

    private static func planted() throws -> [Planted] {
        let url = root.appending(path: "Tests/PolicyTestingTests/Faulty/planted.txt")
        let parts = try String(contentsOf: url, encoding: .utf8).components(separatedBy: "\n== ")
        return parts.dropFirst().map { part in
            let lines = part.split(separator: "\n", maxSplits: 1)
            let texts = String(lines[1]).components(separatedBy: "-- before:\n")
            return Planted(
                name: String(lines[0]), source: plugin(texts[0]),
                before: texts.count > 1 ? plugin(texts[1]) : nil)
        }
    }

    private func report(
        _ source: PluginSource, before: PluginSource? = nil, seed: UInt64 = 1,
        recorded: [String] = [], until isOver: () -> Bool
    ) throws -> PluginFuzz.Report {
        var order = PluginFuzz.Order(source)
        (order.other, order.seed, order.recorded) = (before, seed, recorded)
        order.enough = 1
        order.cryptography = Cryptography(hmac: { $1 + $2 + $0.utf8 }, sign: { $1 + $2 + $0.utf8 })
        return try PluginFuzz(order).run(until: isOver)
    }

    /// What the test that was found says of a plugin.
    private func results(of finding: FuzzFinding, in source: PluginSource) throws -> [String?] {
        let text = String(decoding: source.main.text, as: UTF8.self) + "\n" + finding.test + "\n"
        return try PluginTest.run(Self.plugin(text), setting: PluginSetting(), filter: "fuzz: ")
            .results.map { $0.problem?.text }
    }

    @Test func plantedFaultsAreFoundAndShownByATest() throws {
        var missed: [String] = []
        let all = try Self.planted()
        #expect(all.count >= 20)
        for one in all {
            // The machine may have more to do: what counts is that it does not take for ever.
            let end = Date().addingTimeInterval(30)
            let found = try report(one.source, before: one.before) { Date() >= end }.findings
            guard let finding = found.first else {
                missed.append(one.name)
                continue
            }
            let results = try results(of: finding, in: one.source)
            #expect(results.count == 1 && results[0] != nil, "\(one.name): \(finding.test)")
            if let before = one.before {
                #expect(try self.results(of: finding, in: before) == [nil], "\(finding.test)")
            }
        }
        #expect(missed.count <= 2, "\(missed)")
    }

    @Test func theGalleryIsSilent() throws {
        let library = PluginLibrary(folders: [Self.root.appending(path: "plugins").path])
        #expect(library.names.count >= 12)
        for name in library.names {
            let source = try #require(library.find(name))
            var left = 150
            let report = try report(source) {
                left -= 1
                return left < 0
            }
            #expect(report.runs == 150)
            #expect(report.findings.map(\.test) == [], "\(name)")
        }
    }

    @Test func theSmallestTestIsLeft() throws {
        let source = Self.plugin(
            """
            on.invite(function(call)
              local data = call.extended_data or {}
              if data.a and data.b then error "both" end
            end)
            """)
        var left = 3_000
        let found = try report(source) {
            left -= 1
            return left < 0
        }
        let test = try #require(found.findings.first?.test)
        #expect(test.split(separator: "\n").count == 3)
        #expect(test.contains("a = ") && test.contains("b = ") && !test.contains("from"))
    }

    /// A test whose steps are all in vain is no beginning of others.
    @Test func noSeedEndsInATestWithoutSteps() throws {
        let source = Self.plugin("on.invite(function() return reject 'busy' end)")
        for seed in 1...40 as ClosedRange<UInt64> {
            var left = 100
            let found = try report(source, seed: seed) {
                left -= 1
                return left < 0
            }
            #expect(found.findings.isEmpty)
        }
    }

    @Test func theSameSeedFindsTheSame() throws {
        let source = try #require(try Self.planted().first).source
        func found(_ seed: UInt64) throws -> PluginFuzz.Report {
            var left = 200
            return try report(source, seed: seed) {
                left -= 1
                return left < 0
            }
        }
        #expect(try found(7) == found(7))
    }

    /// What came from a record is nobody's business, unless it is what matters.
    @Test func recordedDataIsNotShown() throws {
        let source = Self.plugin(
            """
            on.invite(function(call)
              local data = call.extended_data or {}
              if data.zebra then error("name of " .. #data.zebra) end
            end)
            """)
        var left = 3_000
        let found = try report(
            source, recorded: ["{\"zebra\":\"Mrs Miller 12\",\"other\":\"private\"}"]
        ) {
            left -= 1
            return left < 0
        }
        let test = try #require(found.findings.first?.test)
        #expect(!test.contains("Miller") && !test.contains("private"), "\(test)")
    }

    @Test func aPluginThatDoesNotLoadIsTold() {
        #expect(throws: ScriptProblems.self) {
            _ = try report(Self.plugin("on.invte(print)")) { true }
        }
    }

    @Test func textsAreWrittenAsLua() {
        #expect(LuaText.quoted("a\"\\\n\u{1}ä") == "\"a\\\"\\\\\\n\\u{1}ä\"")
        #expect(LuaText.quoted(String(repeating: "x", count: 300)) == "(\"x\"):rep(300)")
        #expect(LuaText.of(.integer(.min)) == "math.mininteger")
        let pairs: [LuaValue.Pair] = [
            .init(key: .text("a"), value: .integer(1)),
            .init(key: .text("end"), value: .list([.bool(true)])),
        ]
        #expect(LuaText.of(.table(pairs)) == "{ a = 1, [\"end\"] = { true } }")
    }
}
