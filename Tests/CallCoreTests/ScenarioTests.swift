// Every scenario on the bare core.

import CallSimulator
import Foundation
import Testing

/// One `.call` file.
struct ScenarioFile: Sendable, CustomTestStringConvertible {
    let url: URL

    var testDescription: String { url.deletingPathExtension().lastPathComponent }

    func text() throws -> String { try String(contentsOf: url, encoding: .utf8) }

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

    /// The simulated server: the same conversations as bytes through the wire's machines.
    @Test(arguments: ScenarioFile.all)
    func everybodySeesTheSameThroughTheWire(_ file: ScenarioFile) throws {
        var rig = SimulatorRig()
        try play(file, on: &rig)
    }

    /// Every connection breaks and resumes before each step. Not where it counts which device was
    /// used last: a device that connects is used.
    @Test(arguments: ScenarioFile.all)
    func everybodySeesTheSameOverBadConnections(_ file: ScenarioFile) throws {
        guard try !file.text().contains("setting devices_per_user") else { return }
        var rig = SimulatorRig(trouble: .lines)
        try play(file, on: &rig)
    }

    /// What a crash does change, and why that is right.
    static let notOverCrashes: [String: String] = [
        "a-forward-keeps-the-text-of-the-push": "nobody stores what a push would have said",
        "idlest-device-is-replaced": "after a start no device has been used before another",
        "pages-of-calls": "ids of one millisecond are in order within one life only",
        "signals-before-the-phone-is-there": "signals are not stored",
        "signals-beyond-what-is-kept": "signals are not stored",
    ]

    /// The server dies and starts again before each step.
    @Test(arguments: ScenarioFile.all.filter { notOverCrashes[$0.testDescription] == nil })
    func everybodySeesTheSameOverCrashes(_ file: ScenarioFile) throws {
        var rig = SimulatorRig(trouble: .server)
        try play(file, on: &rig)
    }

    private func play(_ file: ScenarioFile, on rig: inout some Rig) throws {
        let outcome = try Scenario(named: file.testDescription, file.text()).run(on: &rig)
        #expect(outcome.lacking == nil)
        for problem in outcome.problems { Issue.record("\(problem)") }
    }

    @Test func theFilesAreInTheNotationsOwnForm() throws {
        for file in ScenarioFile.all {
            let text = try file.text()
            #expect(try Scenario(named: file.testDescription, text).text == text)
        }
    }
}
