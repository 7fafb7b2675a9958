// Heavy work for whoever looks after the server: nothing of it is written or comes into force.

import AgentCore
import CallModel
import CallWire
import Configuration
import Decisions
import EventLoop
import JSON
import Lua
import PolicyHost
import PolicyTesting
import StoreContract
import WebProtocols

extension Agent {
    func addJobRoutes() {
        admin.serve(.attempt) { [unowned self] request, respond in attempt(request, respond) }
        admin.serve(.test) { [unowned self] request, respond in test(request, respond) }
        admin.serve(.replay) { [unowned self] request, respond in replay(request, respond) }
        admin.serve(.examine) { [unowned self] request, respond in examine(request, respond) }
        admin.serve(.job) { [unowned self] request, respond in
            guard let shown = management.jobs.shown(request.integer("job") ?? 0) else {
                return respond(.refused(.notFound, "there is no such job, or no more"))
            }
            guard request.identity.role == .viewer else { return respond(.json(200, shown)) }
            // A result has what a plugin answered and wrote, lines of its text, or ids of people.
            var object = shown.object ?? JSONObject()
            (object["result"], object["error"]) = (nil, nil)
            respond(.json(200, .object(object)))
        }
        admin.serve(.cancelJob) { [unowned self] request, respond in
            let number = request.integer("job") ?? 0
            guard management.jobs.cancel(number), let shown = management.jobs.shown(number) else {
                return respond(.refused(.notFound, "there is no such job, or no more"))
            }
            respond(.json(200, shown))
        }
    }

    /// The files that a request means: those of a kept generation, or in force, with its own texts
    /// in the place of theirs.
    private func files(
        of request: ManagementRequest, orAnswer respond: @escaping (HTTPResponse) -> Void,
        _ use: @escaping (StoredGeneration, Configuration) -> Void
    ) {
        guard let active = reloader?.active else {
            return respond(.refused(.wrongState, "this process has no files"))
        }
        var own: [(String, [UInt8])] = []
        for file in request.object("files")?.members ?? [] {
            guard let text = file.value.string else {
                return respond(HTTPResponse(HTTPReply(.bad("files", "are texts by path"))))
            }
            own.append((file.key, Array(text.utf8)))
        }
        let name = request.text("generation") ?? active.files.name
        generation(name, orAnswer: respond) { kept in
            if let problem = kept.problem(withTextsFor: own.map(\.0)) {
                return respond(HTTPResponse(HTTPReply(.bad("files", problem))))
            }
            let others = kept.files.filter { file in !own.contains { $0.0 == file.path } }
            let files = others + own.map { .init(path: $0.0, source: $0.1) }
            use(
                StoredGeneration(
                    name: kept.name, files: files.sorted { $0.path < $1.path }),
                active.configuration)
        }
    }

    /// The plugins of a trial. Its texts come from the one who asks, perhaps from another machine.
    /// They read no secret of this machine: each secret reads as its name.
    private static func trial(
        of kept: StoredGeneration, under configuration: Configuration
    ) throws(AgentError) -> Deployment {
        try Deployment(kept, under: configuration, isForTests: true, seed: 1)
    }

    private func attempt(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        guard let invite = request.object("invite") else {
            return respond(HTTPResponse(HTTPReply(.bad("invite", "is missing"))))
        }
        var trial = PluginTrial(.invite, now: Moment(Clock.wallMilliseconds()))
        trial.call = JSONObject(invite.members.filter { $0.key != "at" })
        trial.time = invite["at"]?.string
        let (jobs, identity) = (management.jobs, request.identity)
        files(of: request, orAnswer: respond) { [trial] kept, configuration in
            let job = jobs.add("try", by: identity) { _ throws(AgentError) in
                let deployment = try Self.trial(of: kept, under: configuration)
                do throws(ScriptProblems) {
                    let settings = deployment.configuration.settings(hooks: [])
                    return try trial.run(deployment.plan, settings, cryptography: .system).json
                } catch {
                    throw .configuration(error.description)
                }
            }
            respond(Management.begun(job))
        }
    }

    private func test(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let (jobs, identity) = (management.jobs, request.identity)
        files(of: request, orAnswer: respond) { kept, configuration in
            let job = jobs.add("test", by: identity) { control throws(AgentError) in
                let deployment = try Self.trial(of: kept, under: configuration)
                return try PluginTests.json(deployment, control)
            }
            respond(Management.begun(job))
        }
    }

    private func replay(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        guard let reloader else {
            return respond(.refused(.wrongState, "this process has no files"))
        }
        let given: StoredGeneration?
        do throws(Refusal) {
            given = try Reloader.Aim.files(of: request)
        } catch {
            return respond(.refused(error.code, error.message))
        }
        let span = (request.moment("since_at"), request.moment("until_at"))
        let (jobs, identity, file) = (management.jobs, request.identity, reloader.file)
        let (records, configuration) = (reloader.kept, reloader.active.configuration)
        func begin(_ other: StoredGeneration?) {
            let job = jobs.add("replay", by: identity) { control throws(AgentError) in
                let all = records.newest(Self.replayedMax).filter {
                    $0.at >= span.0 ?? Moment(0) && $0.at < span.1 ?? Moment(.max)
                }
                let new = try Deployment(given, under: configuration, orOf: file, seed: 1)
                var old: Generation?
                if let other {
                    old = try Deployment(other, under: configuration, seed: 1).generation
                }
                let report = ReplayReport.asking(all, of: new.generation, against: old, control)
                var json = report.json.object ?? JSONObject()
                json["generation"] = .string(new.name)
                return .object(json)
            }
            respond(Management.begun(job))
        }
        guard let name = request.text("against") else { return begin(nil) }
        generation(name, orAnswer: respond) { begin($0) }
    }

    /// Decisions that one replay asks again.
    private static let replayedMax = 100_000

    private func examine(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let (jobs, identity, file) = (management.jobs, request.identity, options.file)
        tellFindings { findings in
            let job = jobs.add("doctor", by: identity) { _ throws(AgentError) in
                var doctor = Doctor(file: file)
                doctor.examine()
                for finding in findings { doctor.note(finding) }
                return doctor.findings.json
            }
            respond(Management.begun(job))
        }
    }
}

extension StoredGeneration {
    /// What is wrong with texts for `paths`; nil: nothing. A path that nothing reads is a mistake:
    /// the answer would be that of the files in force, and would be taken for that of the new text.
    fileprivate func problem(withTextsFor paths: [String]) -> String? {
        // Another operator's file may name other plugins.
        if paths.contains(Deployment.configurationPath) { return nil }
        let known = files.map(\.path)
        let unread = paths.first { path in
            let folder = path.split(separator: "/").prefix(2).joined(separator: "/")
            return !known.contains(path) && !known.contains("\(folder)/init.lua")
        }
        return unread.map {
            "names '\($0)', which nothing would read; there is \(known.joined(separator: ", "))"
        }
    }
}

extension PluginTrial.Outcome {
    /// `answers[]`, `asked[]`, `otherwise`, `problem`, `actions[]`, `log[]`.
    fileprivate var json: JSONValue {
        [
            "answers": .array(answers.map { .string($0) }),
            "asked": .array(asked.map { .string($0) }), "otherwise": .string(otherwise),
            "problem": problem.map { .string($0) } ?? .null,
            "actions": .array(actions.map { .string($0) }),
            "log": .array(log.prefix(1_000).map { .string($0) }),
        ]
    }
}

extension PluginTests {
    /// `passed`, `failed`, `tests[]` {`text`, `passed`}, `coverage[]` {`text`, `percent`}.
    fileprivate static func json(
        _ deployment: Deployment, _ control: JobControl
    ) throws(AgentError) -> JSONValue {
        let (plan, modes) = (deployment.plan, deployment.configuration.testedModes)
        var outcome = Outcome()
        do throws(ScriptProblems) {
            for (place, plugin) in plan.plugins.enumerated() {
                guard !control.isCancelled else { break }
                control.progress = Double(place) / Double(plan.plugins.count)
                let report = try PluginTest.run(
                    plugin.source, setting: plugin.setting, modes: modes,
                    cryptography: .system, choosing: { _ in control.isCancelled ? .end : .run })
                outcome.tests += report.results.map(PluginTestLine.init)
                outcome.coverage += report.coverage.map(PluginCoverageLine.init)
            }
        } catch {
            throw .configuration(error.description)
        }
        let failed = outcome.tests.count { !$0.hasPassed }
        return [
            "passed": .integer(Int64(outcome.tests.count - failed)),
            "failed": .integer(Int64(failed)),
            "tests": .array(
                outcome.tests.map { ["text": .string($0.text), "passed": .bool($0.hasPassed)] }),
            "coverage": .array(
                outcome.coverage.map {
                    ["text": .string($0.text), "percent": .integer(Int64($0.percent))]
                }),
        ]
    }
}

extension ReplayReport {
    /// Where `new` decides differently from `old`, or from what was decided; ends early when nobody
    /// wants it any more.
    fileprivate static func asking(
        _ records: [DecisionRecord], of new: Generation, against old: Generation?,
        _ control: JobControl
    ) -> ReplayReport {
        let replay = Replay(new, cryptography: .system)
        let base = old.map { Replay($0, cryptography: .system) }
        var report = ReplayReport()
        for (place, recorded) in records.enumerated() {
            guard !control.isCancelled else { break }
            if place % 100 == 0 { control.progress = Double(place) / Double(records.count) }
            var record = recorded
            if let base {
                guard let before = base.ask(recorded) else {
                    report.note(record, nil)
                    continue
                }
                record = recorded.decided(before.outcome, by: before.asked)
            }
            report.note(record, replay.ask(record))
        }
        return report
    }
}
