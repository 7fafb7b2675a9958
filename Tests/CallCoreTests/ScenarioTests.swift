// Every scenario on the bare core.

import CallSimulator
import Foundation
import Testing

/// One `.call` file.
struct ScenarioFile: Sendable, CustomTestStringConvertible {
    let url: URL

    var testDescription: String { url.deletingPathExtension().lastPathComponent }

    /// All files in `Scenarios`, in order of their names.
    static let all: [ScenarioFile] = {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Scenarios")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".call") }.sorted().map {
            ScenarioFile(url: folder.appending(path: $0))
        }
    }()
}

@Suite struct ScenarioTests {
    /// With `CALLAGENT_RECORD=1` the files are rewritten with what was seen, and the run fails,
    /// so that nobody commits an unread recording.
    static let isRecording = ProcessInfo.processInfo.environment["CALLAGENT_RECORD"] == "1"

    @Test(arguments: ScenarioFile.all)
    func everybodySeesWhatIsWritten(_ file: ScenarioFile) throws {
        let text = try String(contentsOf: file.url, encoding: .utf8)
        let scenario = try Scenario(named: file.testDescription, text)
        var rig = CoreRig()
        let outcome = scenario.run(on: &rig)
        #expect(outcome.lacking == nil)
        if Self.isRecording {
            try outcome.recorded.text.write(to: file.url, atomically: true, encoding: .utf8)
            Issue.record("\(file.testDescription) was recorded: read it, then run again")
        }
        for problem in outcome.problems { Issue.record("\(problem)") }
        #expect(outcome.problems.isEmpty || !Self.isRecording)
    }

    @Test func theFilesAreInTheNotationsOwnForm() throws {
        for file in ScenarioFile.all {
            let text = try String(contentsOf: file.url, encoding: .utf8)
            #expect(try Scenario(named: file.testDescription, text).text == text)
        }
    }
}
