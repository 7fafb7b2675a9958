// What of callagent.lua and of plugins gives a generation another name (G82).

import Configuration
import Lua
import Testing

@testable import PolicyHost

@Suite struct GenerationNameTests {
    private func name(
        _ text: String, environment: @escaping (String) -> String? = { _ in "s3cret" }
    ) throws -> String {
        let main = SourceFile(name: "p.lua", text: Array("on.invite(function() end)".utf8))
        let configuration = try Configuration.read(
            SourceFile(name: "callagent.lua", text: Array(text.utf8)), folder: "/nowhere",
            environment: environment)
        return try PluginLibrary(keeping: [PluginSource(name: "p", main: main)])
            .plan(for: configuration).name
    }

    private static let base = """
        plugins = { "p" }
        answer_for = { "support" }
        options.p = { key = "Bearer " .. secret "env:KEY" }
        """

    @Test(arguments: [
        "-- a comment\n\(base)", "\(base)\ntimezone = 'UTC'\nwatch = true",
        "\(base)\nauth = { { alg = 'HS256', key = secret 'env:KEY' } }",
        "\(base)\nlimits = { message = '32KB', plugin_memory = '2MB' }\nusers = { 'ann' }",
        "\(base)\norigins = 'https://a.b'\nrevoked = 'x'\nlog = { level = 'debug' }",
        "\(base)\ninvite = { default = 'ring' }\ndecision_log = { inputs = false }",
        "local all = { 'support' }\nfor _ = 1, 3 do end\n\(base)\nanswer_for = all",
    ])
    func whatIsNoneOfItGivesNoNewName(_ text: String) throws {
        #expect(try name(text) == name(Self.base))
    }

    @Test(arguments: [
        "\(base)\ntimezone = 'Europe/Berlin'", "\(base)\nanswer_for = { 'sales' }",
        "\(base)\ninvite = { default = 'reject' }", "\(base)\noptions.p = { key = 'x' }",
        "\(base)\noverride.p = { grant = 'http:a.b' }",
        "\(base)\nplugins = { { 'p', users = 'ann' } }",
        "\(base)\noptions.p = { key = 'Bearer ' .. secret 'env:OTHER' }",
    ])
    func whatIsGivesANewName(_ text: String) throws {
        #expect(try name(text) != name(Self.base))
    }

    @Test func theSecretsOfTodayGiveNoNewName() throws {
        #expect(try name(Self.base) { _ in "another" } == name(Self.base))
    }

    @Test func fingerprintsBeginAsTheDigestsDo() {
        #expect(Fingerprint.of([]) == "e3b0c44298fc")
        #expect(Fingerprint.of(Array("abc".utf8)) == "ba7816bf8f01")
        #expect(Fingerprint.of(Array(repeating: UInt8(ascii: "a"), count: 200)) == "c2a908d98f5d")
    }
}
