// Modes and groups of the operator: what may be written, and what is said of mistakes.

import CallModel
import Foundation
import Lua
import Testing

@testable import Configuration

@Suite struct ModeTests {
    private func read(_ text: String) throws -> Configuration {
        try Configuration.read(
            SourceFile(name: "callagent.lua", text: Array(text.utf8)), folder: "/nowhere",
            environment: { _ in nil })
    }

    private func problem(_ text: String) -> String {
        do {
            _ = try read(text)
            return "no problem"
        } catch {
            return "\(error)"
        }
    }

    private func mode(_ text: String) throws -> Mode {
        try #require(try read("modes = { x = { \(text) } }").modes.last)
    }

    @Test func aModeIsLikeAnotherOneButForWhatItSays() throws {
        let mode = try mode("like = 'managed', ring_time = '30s', add = false")
        var expected = Mode.managed
        (expected.name, expected.model, expected.ringTime) = ("x", "managed", 30_000)
        expected.allow(.add, to: .nobody)
        #expect(mode == expected)
        #expect(try self.mode("").model == "advanced")
    }

    @Test func rightsAreWordsOrTrueAndFalse() throws {
        let mode = try mode("add = true, remove = true, transfer = 'caller', ['end'] = false")
        #expect(mode.right(to: .add) == .everybody && mode.right(to: .remove) == .caller)
        #expect(mode.right(to: .transfer) == .caller && mode.right(to: .end) == .nobody)
    }

    /// Every parameter of every built-in mode can be written, read, kept and read again.
    @Test(arguments: Mode.all)
    func everyParameterCanBeWritten(_ mode: Mode) throws {
        let text = ModeParameter.all.map { parameter in
            let value = parameter.value(in: mode)
            let written: String =
                switch parameter.kind {
                case .count: value ?? "false"
                case .time: value.map { "'\($0)ms'" } ?? "false"
                case .flag: value == nil ? "false" : "true"
                case .word: "'\(value ?? "")'"
                }
            return "['\(parameter.name)'] = \(written)"
        }.joined(separator: ", ")
        let own = try self.mode(text)
        var expected = mode
        (expected.name, expected.model) = ("x", "advanced")
        #expect(own == expected)
        #expect(Mode(text: own.text) == own)
        #expect(Mode(text: mode.text)?.text == mode.text)
    }

    @Test(
        arguments: [
            ("participants = 2", "two participants leave no room for add"),
            ("participants = 2, add = false", "two participants leave no room for join"),
            (
                "participants = 2, add = false, join = false, first_accept_wins = true",
                "first_accept_wins needs more than two participants"
            ),
            ("hold = true", "hold needs media"),
            ("connect_within = '5s'", "connect_within needs media"),
            ("like = 'direct', media = false", "hold needs media"),
            ("ring_from = 'ringing'", "ring_from = \"ringing\" needs acknowledge_within"),
            ("like = 'handshake', acknowledge_within = false", "needs acknowledge_within"),
            ("leave = false, ['end'] = false", "no way to end"),
        ])
    func whatDoesNotGoTogetherIsSaid(_ text: String, _ reason: String) {
        let said = problem("listen = '127.0.0.1:0'\n\nmodes = { clinic = { \(text) } }")
        #expect(said.hasPrefix("callagent.lua:3: modes: clinic: "), "\(said)")
        #expect(said.contains(reason), "\(said)")
    }

    @Test(
        arguments: [
            ("{ direct = {} }", "direct: this mode is built in"),
            ("{ Clinic = {} }", "Clinic: a mode's name is 1 to 32 characters"),
            ("{ ['\(String(repeating: "a", count: 33))'] = {} }", "1 to 32 characters"),
            ("{ x = { like = 'y' } }", "x: 'y' is none of common"),
            ("{ x = { like = 'drect' } }", "did you mean 'direct'"),
            ("{ x = { ringtime = '3s' } }", "unknown parameter 'ringtime' (did you mean"),
            ("{ x = { ring_time = 30 } }", "ring_time: a duration as text"),
            ("{ x = { ring_time = false } }", "ring_time: a duration as text"),
            ("{ x = { ring_time = '0s' } }", "ring_time: '0s' is not between 1s"),
            ("{ x = { ring_time = '11m' } }", "ring_time: '11m' is not between 1s and 10m"),
            ("{ x = { invitees = 0 } }", "invitees: 0 is not between 1 and 255"),
            ("{ x = { invitees = 256 } }", "invitees: 256 is not between 1 and 255"),
            ("{ x = { participants = 257 } }", "participants: 257 is not between 2 and 256"),
            ("{ x = { end_at_joined = 2 } }", "end_at_joined: 2 is not between 0 and 1"),
            ("{ x = { join = 'caller' } }", "join: 'caller' is none of nobody, everybody"),
            ("{ x = { leave = 'yes' } }", "leave: true or false expected"),
            ("{ x = { busy = true } }", "busy: a string expected"),
            ("{ x = 'managed' }", "x: a table of parameters expected"),
            ("{ 'managed' }", "a table by name expected"),
            ("7", "a table by name expected"),
        ])
    func mistakesAreNamed(_ modes: String, _ reason: String) {
        let said = problem("modes = \(modes)")
        #expect(said.hasPrefix("callagent.lua:1: modes: "), "\(said)")
        #expect(said.contains(reason), "\(said)")
    }

    @Test(arguments: [(32, "no problem"), (33, "33 of them; at most 32")])
    func thereAreAtMostThirtyTwo(_ count: Int, _ outcome: String) {
        let modes = (1...count).map { "m\($0) = {}" }.joined(separator: ", ")
        #expect(problem("modes = { \(modes) }").contains(outcome))
    }

    @Test func aModeMayBeAssignedByItsName() throws {
        let configuration = try read("modes.a = { leave = false }\nmodes['b-2'] = {}")
        #expect(configuration.modes.suffix(2).map(\.name) == ["a", "b-2"])
    }

    @Test func theDefaultModeMayBeOnesOwn() throws {
        let configuration = try read("invite = { mode = 'x' }\nmodes = { x = {} }")
        #expect(configuration.settings(hooks: []).defaultMode.name == "x")
        #expect(problem("invite = { mode = 'y' }\nmodes = { x = {} }").contains("'y' is none of"))
    }

    /// The operator's limits count for a mode that names none itself.
    @Test func limitsCountWhereAModeSaysNothing() throws {
        let configuration = try read(
            "limits = { invitees = 20, participants = 30 }\n"
                + "modes = { a = {}, b = { invitees = 9, participants = 10 }, "
                + "c = { like = 'group' } }")
        #expect(configuration.modes.suffix(3).map(\.invitees) == [20, 9, 49])
        #expect(configuration.modes.suffix(3).map(\.participants) == [30, 10, 50])
    }

    /// Modes and groups are part of a generation: of its values, and so of its name (G82).
    @Test func modesAndGroupsAreOfTheGeneration() throws {
        let values = try read("modes = { x = { leave = false } }\ngroups = { s = { 'ann' } }")
            .generation.values
        #expect(values.text.contains("modes") && values.text.contains("groups"))
        #expect(ConfigurationField.part(of: "modes") == .generation)
        #expect(ConfigurationField.part(of: "groups") == .generation)
    }

    // MARK: groups

    @Test func groupsAreListsOfPeople() throws {
        let configuration = try read("groups = { sales = { 'ann', 'bob' }, one = 'cid' }")
        #expect(configuration.groups["sales"] == [UserID("ann"), UserID("bob")])
        #expect(configuration.groups["one"] == [UserID("cid")])
        #expect(configuration.settings(hooks: []).groups == configuration.groups)
    }

    @Test(
        arguments: [
            ("{ s = { 'ann', 'group:t' } }", "s: [2]: 'group:t': a group has people in it"),
            ("{ s = { 'desk-*' } }", "s: [1]: 'desk-*': a group has no patterns"),
            ("{ s = { 'ann', 'ann' } }", "s: [2]: 'ann' is in it twice"),
            ("{ s = { 'a b' } }", "s: [1]: 'a b' is no user id"),
            ("{ s = {} }", "s: nobody is in it"),
            ("{ ['a b'] = { 'ann' } }", "a b: a group's name is"),
            ("{ { 'ann' } }", "a table by name expected"),
            ("{ s = { 7 } }", "s: [1]: a string expected"),
        ])
    func mistakesOfGroupsAreNamed(_ groups: String, _ reason: String) {
        let said = problem("groups = \(groups)")
        #expect(said.hasPrefix("callagent.lua:1: groups: "), "\(said)")
        #expect(said.contains(reason), "\(said)")
    }

    @Test(arguments: [(10_000, "no problem"), (10_001, "10001 people; at most 10000")])
    func aGroupHasTenThousandPeopleAtMost(_ count: Int, _ outcome: String) {
        let said = problem(
            "local all = {}\nfor n = 1, \(count) do all[n] = 'u' .. n end\ngroups = { s = all }")
        #expect(said.contains(outcome), "\(said)")
    }

    // MARK: the examples

    /// The scenario of each example plays the very mode that its file has.
    @Test func theExamplesAreWhatTheirScenariosPlay() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let modes = try Configuration.load(
            path: root.appending(path: "examples/modes/callagent.lua").path,
            environment: { _ in nil }
        ).generation.modes.map(\.mode)
        #expect(modes.count == 10)
        for mode in modes {
            let file = "Tests/CallCoreTests/Scenarios/mode-of-its-own-\(mode.name).call"
            let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
            // A long line goes on below, behind eight columns.
            let whole = text.replacing("\n        ", with: " ")
            let line = try #require(
                whole.split(separator: "\n").first { $0.hasPrefix("setting own_mode ") })
            let played = try #require(Mode(text: String(line.dropFirst("setting own_mode ".count))))
            #expect(played.text == mode.text)
        }
    }
}
