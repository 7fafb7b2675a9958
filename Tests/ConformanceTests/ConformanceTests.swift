// Every scenario on the real server over sockets, and with every phone at another node.

import CallSimulator
import Foundation
import Testing

/// One `.call` file of the core's tests.
struct ScenarioFile: Sendable, CustomTestStringConvertible {
    let url: URL

    var testDescription: String { url.deletingPathExtension().lastPathComponent }

    /// All files, in order of their names.
    static let all: [ScenarioFile] = {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../CallCoreTests/Scenarios").standardized
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".call") }.sorted().map {
            ScenarioFile(url: folder.appending(path: $0))
        }
    }()
}

@Suite struct ConformanceTests {
    /// Scenarios that the server over sockets cannot play, and why.
    static let leftOut: [String: String] = [:]

    @Test(arguments: ScenarioFile.all.filter { leftOut[$0.testDescription] == nil })
    func everybodySeesWhatIsWrittenOverSockets(_ file: ScenarioFile) throws {
        try play(file, .direct)
    }

    @Test(arguments: ScenarioFile.all.filter { leftOut[$0.testDescription] == nil })
    func everybodySeesWhatIsWrittenAtAnotherNode(_ file: ScenarioFile) throws {
        try play(file, .frontEnd)
    }

    private func play(_ file: ScenarioFile, _ way: SocketRig.Way) throws {
        let text = try String(contentsOf: file.url, encoding: .utf8)
        let scenario = try Scenario(named: file.testDescription, text)
        var rig = try SocketRig(way)
        defer { rig.close() }
        let outcome = scenario.run(on: &rig)
        #expect(outcome.lacking == nil)
        for problem in outcome.problems { Issue.record("\(problem)") }
    }

    @Test func whatIsLeftOutIsCounted() {
        let names = Set(ScenarioFile.all.map(\.testDescription))
        print("scenarios over sockets: \(names.count - Self.leftOut.count) of \(names.count)")
        for (name, why) in Self.leftOut.sorted(by: { $0.key < $1.key }) {
            #expect(names.contains(name), "no scenario is called \(name)")
            print("  left out: \(name): \(why)")
        }
        #expect(names.count >= 150)
    }
}
