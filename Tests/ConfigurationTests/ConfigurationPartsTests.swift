// What of callagent.lua belongs to a generation and what to the server (G82).

import CallModel
import JSON
import Lua
import Testing

@testable import Configuration

@Suite struct ConfigurationPartsTests {
    private func read(
        _ text: String, only part: ConfigurationField.Part? = nil,
        environment: @escaping (String) -> String? = { $0 == "KEY" ? "s3cret" : nil }
    ) throws -> Configuration {
        try Configuration.read(
            SourceFile(name: "callagent.lua", text: Array(text.utf8)), folder: "/nowhere",
            only: part, environment: environment)
    }

    @Test func whatBelongsToAGeneration() {
        let names = ConfigurationField.topLevel.filter {
            ConfigurationField.part(of: $0) == .generation
        }
        #expect(
            Set(names) == [
                "answer_for", "plugins", "options", "override", "names", "timezone", "modes",
                "groups", "invite",
            ])
    }

    @Test func secretsStayExpressions() throws {
        let configuration = try read(
            """
            options.p = { key = "a\\n\\"" .. secret "env:KEY" .. "z", list = { secret "env:KEY" } }
            auth = { { alg = "HS256", key = secret "env:KEY" } }
            """)
        #expect(configuration.options["p"]?["key"] == "a\n\"s3cretz")
        #expect(configuration.auth[0].key.text == "s3cret")
        let (own, server) = (configuration.generation.values, configuration.server.values)
        #expect(own.text.contains(#""a\x0a\"" .. secret "env:KEY" .. "z""#), "\(own.text)")
        #expect(!own.text.contains("s3cret") && !server.text.contains("s3cret"))
        #expect(server.text.contains(#"["key"] = secret "env:KEY""#), "\(server.text)")
        // What is kept says the same once more.
        let again = try read(own.text, only: .generation)
        #expect(again.generation == configuration.generation)
        #expect(try read(server.text, only: .server).server == configuration.server)
    }

    @Test func whatIsShownHasNoSecret() throws {
        let configuration = try read(
            """
            options.p = { pin = "4711", ApiKey = "a", door_pin = "1", pinned = "yes",
              url = "https://a.b/hook?token=1" }
            """)
        let values = configuration.generation.values.shown
        let shown = try #require(values.first { $0.name == "options" }).value
        for secret in ["4711", "\"a\"", "\"1\"", "hook"] {
            #expect(!shown.contains(secret), "\(shown)")
        }
        #expect(shown.contains("\"yes\"") && shown.contains("https://a.b"), "\(shown)")
    }

    @Test func allValuesComeBack() throws {
        let text = """
            answer_for = { "support", "desk-*" }
            plugins = { "busy", { "reception", users = { "desk-*" } } }
            options["busy"] = { n = 3, x = 0.1, big = 1e300, on = true,
              empty = {}, deep = {{1},{2}} }
            override["busy"] = { on_error = "reject", grant = { "http:a.b" },
              limits = { cpu = "5ms" } }
            timezone = "Europe/Berlin"
            invite = { default = "reject", on_error = "skip", decide_in = "1s", mode = "direct",
              delivery_check = 2000 }
            """
        let configuration = try read(text)
        let again = try read(configuration.generation.values.text, only: .generation)
        #expect(again.generation == configuration.generation)
        #expect(again.generation.values.text == configuration.generation.values.text)
    }

    /// An old store has the operator's text: of it only the generation's part is looked at.
    @Test func theOtherPartOfAnOldTextIsNotRead() throws {
        let text = """
            admin = "127.0.0.1:7700"
            listen = 5
            auth = { { alg = "HS256", key = secret "env:GONE" } }
            timezone = "Europe/Berlin"
            """
        let configuration = try read(text, only: .generation)
        #expect(configuration.timezone == "Europe/Berlin")
        #expect(configuration.server == ServerPart())
        #expect(Configuration.assigns("auth", in: SourceFile(name: "", text: Array(text.utf8))))
    }

    @Test func keysWrittenAsTextAreNotKept() throws {
        let configuration = try read(
            """
            listen = "127.0.0.1:1"
            auth = { { alg = "HS256", key = "written out" },
              { alg = "HS256", key = secret "env:KEY", kid = "b" } }
            push = { webhook = { url = "https://a.b", secret = { "text" } } }
            webhooks = { { name = "w", url = "https://a.b", secret = secret "env:KEY" } }
            """)
        let values = configuration.server.values
        #expect(values.textKeys == ["auth[1].key", "push.webhook.secret"])
        let kept = try read(values.text, only: .server).server
        #expect(kept.auth.map(\.id) == ["b"] && kept.push.isEmpty && kept.webhooks.count == 1)
        #expect(kept.listen == "127.0.0.1:1")
        #expect(!values.text.contains("written out"))
        #expect(
            configuration.warnings.map(\.description).contains {
                $0.hasPrefix("2: ") || $0.contains("auth[1].key is written as text")
            })
    }

    @Test func noKeysOnPurposeIsWarnedOf() throws {
        let configuration = try read("\nauth = false")
        #expect(configuration.auth.isEmpty && configuration.server.hasNoKeysByIntent)
        #expect(configuration.warnings.count == 1)
        #expect(try read("").warnings.isEmpty)
        #expect(try read(configuration.server.values.text).server.hasNoKeysByIntent)
    }
}
