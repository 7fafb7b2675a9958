// The pages for operators show the names and figures of the process.

import AgentCore
import CallModel
import Configuration
import EventLoop
import Lua
import Testing
import WebProtocols

@testable import AgentServer
import CallModel
@testable import PolicyHost

@Suite struct OperatingTests {
    @Test func theNamesOfTheFile() throws {
        let rows = ConfigurationField.all.map { field in
            let standard = field.standard.first == "\"" || field.standard.first == "{"
            return [
                code(field.name), field.type, standard ? code(field.standard) : field.standard,
                field.help,
            ]
        }
        try Page("AgentServer", "Configuration").expect(
            "names", table(["name", "type", "default", ""], rows))
    }

    @Test func theManagementAPI() throws {
        let rows = ManagementOperation.all.map { operation in
            let names = operation.parameters.map(\.name).filter { !operation.hasInPath($0) }
            return [
                code("\(operation.method.rawValue) \(ManagementOperation.root)\(operation.path)"),
                names.isEmpty ? "-" : names.map(code).joined(separator: " "), operation.summary,
            ]
        }
        try Page("AgentServer", "Operating").expect(
            "management", table(["request", "parameters", ""], rows))
    }

    @Test func everyNameIsSaidToTakeEffectSomewhere() throws {
        let page = try Page("AgentServer", "Configuration")
        let said = try page.section("What a change needs")
        let text = said.joined(separator: "\n")
        for field in ConfigurationField.all {
            let group = String(field.name.prefix { $0 != "." })
            let isSaid = text.contains(code(field.name)) || text.contains(code(group))
            #expect(isSaid, "\(field.name)")
        }
    }

    @Test func theExampleIsGood() throws {
        let lines = try Page("AgentServer", "Configuration").section("Overview")
        let example = lines.drop { $0 != "```lua" }.dropFirst().prefix { $0 != "```" }
        let file = SourceFile(
            name: "callagent.lua", text: Array(example.joined(separator: "\n").utf8))
        let configuration = try Configuration.read(file) { _ in
            String(repeating: "k", count: 32)
        }
        #expect(configuration.plugins.count == 3)
        #expect(configuration.auth.count == 1)
        #expect(configuration.overrides["desk-hours"]?.memory == 4 << 20)
    }

    @Test func theFigures() throws {
        var options = AgentOptions()
        options.stateDirectory = ":memory:"
        let agent = try Agent(options, log: Log(level: .error))
        defer { agent.loop.close() }
        let text = agent.metricsText + PolicyMetrics(status: nil).text
        let lines = text.split(separator: "\n")
        let rows = lines.filter { $0.hasPrefix("# HELP ") }.map { line -> [String] in
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            let kind = lines.first { $0.hasPrefix("# TYPE \(words[2]) ") } ?? ""
            return [code(words[2]), String(kind.split(separator: " ").last ?? ""), words[3]]
        }
        #expect(rows.count > 5)
        try Page("AgentServer", "Operating").expect(
            "figures", table(["name", "kind", ""], rows))
    }
}
