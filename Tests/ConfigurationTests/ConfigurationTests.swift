// callagent.lua: what it may say and what is said of mistakes.

import CallModel
import Foundation
import JSON
import Lua
import Testing

@testable import Configuration

@Suite struct ConfigurationTests {
    private func read(_ text: String) throws -> Configuration {
        try Configuration.read(
            SourceFile(name: "callagent.lua", text: Array(text.utf8)), folder: "/nowhere",
            environment: { $0 == "KEY" ? "s3cret" : nil })
    }

    private func problem(_ text: String) -> String {
        do {
            _ = try read(text)
            return "no problem"
        } catch {
            return "\(error)"
        }
    }

    /// What stands in a file must not fill the terminal and the log.
    @Test(arguments: [
        ("listen = '#'", "(write \"127.0.0.1:7600\")"), ("answer_for = { '#' }", "no space)"),
        ("plugins = { '#%' }", "'-' and '_')"), ("modes = { ['#'] = {} }", "0-9, _ and -"),
        ("modes = { m = { like = '#' } }", "handshake"), ("timezone = '#'", "#'"),
        ("invite = { decide_in = '#' }", "\"7d\")"), ("webhooks = { ['#'] = 1 }", "#'"),
    ])
    func aLongValueIsShownByItsEnds(text: String, end: String) {
        let long = String(repeating: "ä", count: 500_000)
        let problem = problem(text.replacing("#", with: long))
        #expect(problem.hasPrefix("callagent.lua:1: ") && problem.utf8.count < 600, "\(text)")
        #expect(problem.hasSuffix(end.replacing("#", with: "ä")), "\(problem)")
        #expect(problem.contains("ääää…ä"), "\(problem)")
    }

    @Test func whatNobodySeesIsEscapedInAMessage() {
        #expect(
            problem(#"listen = "\27[31m1.2.3.4\n\0\u{202E}x""#)
                == #"callagent.lua:1: listen: bad address '\u{1B}[31m1.2.3.4\n\u{0}\u{202E}x' "#
                + #"(write "127.0.0.1:7600")"#)
    }

    @Test func theFileOfTheManualIsRead() throws {
        let configuration = try read(
            """
            listen     = "127.0.0.1:7600"
            state_dir  = "callagent.state"
            answer_for = { "support", "desk-*" }
            plugins    = { "blocklist", "busy", { "reception", users = { "desk-*" } } }
            timezone   = "UTC"
            invite = { default = "ring", on_error = "default", decide_in = "2s" }
            auth   = { { alg = "HS256", key = secret "env:KEY", aud = "callagent" } }
            options["desk-hours"] = { lines = 2, hours = "mon-fri 09:00-18:00" }
            override["blocklist"] = {
              on_error = "reject", grant = { "http:crm.example.com" },
              limits = { memory = "16MB", log_lines = 500 } }
            """)
        #expect(configuration.answerFor == ["support", "desk-*"])
        #expect(configuration.plugins.map(\.name) == ["blocklist", "busy", "reception"])
        #expect(configuration.plugins[2].users == ["desk-*"])
        #expect(configuration.options["desk-hours"]?["lines"] == 2)
        #expect(configuration.overrides["blocklist"]?.onError == .reject)
        #expect(configuration.overrides["blocklist"]?.memory == 16 << 20)
        #expect(configuration.overrides["blocklist"]?.logLines == 500)
        #expect(configuration.auth.first?.key.text == "s3cret")
        #expect("\(configuration.auth)".contains("s3cret") == false)
        #expect(configuration.lines["plugins"] == 4)
    }

    @Test(
        arguments: [
            ("true", 5_000), ("false", nil), ("1000", 1_000), ("30000", 30_000), ("'7s'", 7_000),
        ] as [(String, Milliseconds?)])
    func invitationsHaveAModeAndADeliveryCheck(check: String, time: Milliseconds?) throws {
        let configuration = try read(
            "invite = { mode = 'managed', delivery_check = \(check) }")
        let settings = configuration.settings(hooks: [])
        #expect(settings.defaultMode == .managed)
        #expect(settings.deliveryCheckDefault == time)
    }

    @Test func whatOnePairOfAccountsMayHaveIsTheOperators() throws {
        let configuration = try read(
            """
            plugins = { "p" }
            limits = {
              questions_per_cause = 7, reports_per_cause = 6, held_time = "3ms",
              timers = 20, timers_per_cause = 2, limit_keys = 60, limit_keys_per_cause = 5,
              fetches = 30, fetches_per_cause = 3, handlers = 40, handlers_per_cause = 4,
              vars = "50KB", vars_per_cause = "5KB", kv_per_cause = "6KB",
              log_lines_per_minute = 70, log_lines_per_cause = 8, refusals_at_once = 9,
              max_rate = "70KB" }
            """)
        let settings = configuration.settings(hooks: [])
        #expect(configuration.limits.reportsPerCause == 6)
        #expect(settings.questionsPerCause == 7 && settings.heldWithin == 3)
        let limits = configuration.setting(of: configuration.plugins[0]).limits
        var expected = PluginLimits()
        (expected.timers, expected.timersOfCause) = (20, 2)
        (expected.limitKeys, expected.limitKeysOfCause) = (60, 5)
        (expected.fetches, expected.fetchesOfCause) = (30, 3)
        (expected.coroutines, expected.coroutinesOfCause) = (40, 4)
        (expected.vars, expected.varsOfCause, expected.keptOfCause) = (50 << 10, 5 << 10, 6 << 10)
        (expected.logLinesPerMinute, expected.logLinesOfCause) = (70, 8)
        #expect(limits == expected && configuration.limits.refusalsAtOnce == 9)
        #expect(configuration.limits.maxRate == 70 << 10)
        #expect(throws: ScriptProblems.self) { try read("limits.held_time = '6ms'") }
    }

    @Test func anEmptyFileIsTheDefaults() throws {
        var configuration = try read("-- nothing")
        configuration.lines = [:]
        #expect(configuration == Configuration())
    }

    @Test func theFileMayCompute() throws {
        let configuration = try read(
            "local port = 7000 + 600\nlisten = '127.0.0.1:' .. port\nadmin = 'a' .. port")
        #expect(configuration.listen == "127.0.0.1:7600")
        #expect(configuration.admin == "a7600")
    }

    @Test(arguments: [
        (
            "\nlisen = '127.0.0.1:1'",
            "callagent.lua:2: unknown name 'lisen' (did you mean 'listen'?)"
        ),
        ("listen = 7600", "callagent.lua:1: listen: a string expected, got number"),
        ("listen = 'here'", "callagent.lua:1: listen: bad address 'here'"),
        (
            "\nadmin = '127.0.0.1:7700'",
            "callagent.lua:2: admin: '127.0.0.1:7700' is an address: admin is the path of a Unix "
                + "socket only (the listener for people is console, the one for figures is metrics)"
        ),
        ("admin = '[::1]:7700'", "callagent.lua:1: admin: '[::1]:7700' is an address"),
        ("admin = ''", "callagent.lua:1: admin: it is empty"),
        (
            "auth = { { alg = 'HS256', key = 'x', roles = { 'opertor' } } }",
            "auth: [1].roles: 'opertor' is none of server, operator, viewer (did you mean "
                + "'operator'?)"
        ),
        (
            "auth = { { alg = 'HS256', key = 'x', roles = 5 } }",
            "auth: [1].roles: a list of strings"
        ),
        ("auth = true", "callagent.lua:1: auth: a list of keys expected, got boolean"),
        (
            "listen = (secret 'env:KEY'):sub(2)",
            "listen: a secret may stand in a longer text, but it cannot be changed or be a name"
        ),
        ("invite = { decide_in = 2 }", "callagent.lua:1: invite: decide_in: a duration as text"),
        (
            "invite = { defalt = 'ring' }",
            "invite: unknown field 'defalt' (did you mean 'default'?)"
        ),
        ("invite = { default = 'rign' }", "'rign' is none of ring, reject (did you mean 'ring'?)"),
        ("plugins = { 'busy', 'busy' }", "plugins: [2]: 'busy' is listed twice"),
        ("plugins = { { 'busy', usrs = {} } }", "unknown field 'usrs' (did you mean 'users'?)"),
        ("plugins = { '../busy' }", "bad plugin name '../busy'"),
        ("origins = 'app.example.com'", "origins: [1]: 'app.example.com' is no origin"),
        ("origins = { '*', 'https://a.b/c' }", "origins: [2]: 'https://a.b/c' is no origin"),
        ("origins = { 'https://' }", "(write \"https://app.example.com\")"),
        ("origins = { '://a.b' }", "origins: [1]: '://a.b' is no origin"),
        ("override.busy = { limits = { memory = '1KB' } }", "1KB is not between 1MB and 1GB"),
        (
            "override.busy = { limits = { memory = '1KB' } }",
            "override: [\"busy\"].limits.memory: 1KB"
        ),
        (
            "override.busy = { on_error = 'rejct' }",
            "callagent.lua:1: override: [\"busy\"].on_error: 'rejct' is none of"
        ),
        (
            "override.busy = { grant = 'htp:x.y' }",
            "override: [\"busy\"].grant: unknown capability 'htp:x.y' (did you mean 'http'?)"
        ),
        (
            "override.busy = { grant = { 'http:https://x.y' } }",
            "override: [\"busy\"].grant: 'http:https://x.y' names no host"
        ),
        (
            "invite = { on_error = 'accept' }",
            "invite: on_error: 'accept' is none of skip, default, reject"
        ),
        (
            "invite = { mode = 'manged' }",
            "invite: mode: 'manged' is none of common, advanced, managed, direct, ringing, group, "
                + "handshake (did you mean 'managed'?)"
        ),
        (
            "invite = { delivery_check = 999 }",
            "invite: delivery_check: 999 is not between 1000 and 30000"
        ),
        (
            "invite = { delivery_check = '31s' }",
            "invite: delivery_check: '31s' is not between 1s and 30s"
        ),
        (
            "invite = { delivery_check = {} }",
            "invite: delivery_check: true, false or a duration (\"5s\") expected, got table"
        ),
        ("override.busy = { grant = 5 }", "override: [\"busy\"].grant: a list of strings"),
        (
            "timezone = 'Europe/Berln'",
            "unknown time zone 'Europe/Berln' (did you mean 'Europe/Berlin'?)"
        ),
        ("timezone = 'Berlin'", "unknown time zone 'Berlin' (did you mean 'Europe/Berlin'?)"),
        ("timezone = 'utc'", "unknown time zone 'utc'"),
        (
            "\nmax_call_age = '1s'",
            "callagent.lua:2: max_call_age: '1s' is not between 1m and 36525d"
        ),
        (
            "\nanswer_for = { 'a', 'a b' }",
            "callagent.lua:2: answer_for: [2]: 'a b' can be no account"
        ),
        ("answer_for = ''", "answer_for: [1]: '' can be no account"),
        ("answer_for = 'a *'", "answer_for: [1]: 'a *' can be no account"),
        (
            "answer_for = { 'a', 'sup*port' }",
            "answer_for: [2]: 'sup*port': a '*' stands only at the end"
        ),
        ("\nlimits.conections = 5", "callagent.lua:2: limits: unknown field 'conections'"),
        ("limit.connections = 5", "callagent.lua:1: unknown name 'limit'"),
        ("auth = { { alg = 'none', key = 'x' } }", "alg is one of HS256, ES256, RS256"),
        ("auth = { { alg = 'HS256', key = secret 'env:NONE' } }", "'NONE' is not set"),
        ("listen = ", "callagent.lua:1: unexpected symbol near <eof>"),
        (
            "test_mode = 1 != 2",
            "callagent.lua:1: unexpected symbol near '!' (Lua writes '~=')"
        ),
        ("state_dir = ''", "callagent.lua:1: state_dir: it is empty"),
        ("io.write('x')", "callagent.lua:1: unknown name 'io'"),
        ("while true do end", "callagent.lua:1: over the processor budget of 200 ms"),
        ("reject 'busy'", "callagent.lua:1: unknown name 'reject'"),
        ("tls = { cert = 'a.pem' }", "tls: cert and key belong together"),
        ("limits = { silence = '25s' }", "limits: silence: longer than ping"),
        ("limits = { ping = '33s' }", "limits: silence: longer than ping"),
        ("limits = { extended_data = '9KB' }", "9KB is not between 0B and 8KB"),
    ])
    func aMistakeStopsWithFileLineAndSuggestion(_ text: String, _ expected: String) {
        #expect(problem(text).contains(expected), "\(problem(text))")
    }

    @Test func aFieldMayBeAssignedByItself() throws {
        let configuration = try read(
            """
            \u{FEFF}limits.connections = 5
            limits.message = "1KB"
            log.format = "json"
            """)
        #expect(configuration.limits.connections == 5 && configuration.limits.message == 1_024)
        #expect(configuration.log.format == .json && configuration.tls == nil)
        #expect(configuration.lines["limits.connections"] == 1 && configuration.lines["log"] == 3)
    }

    @Test func whyAFileCannotBeReadIsSaid() throws {
        let folder = NSTemporaryDirectory() + "callagent-files-\(UInt64.random(in: .min ... .max))"
        let file = folder + "/callagent.lua"
        func problem() -> String {
            do {
                _ = try Configuration.load(path: file, environment: { _ in nil })
                return "no problem"
            } catch {
                return error.description
            }
        }
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(problem() == "cannot read \(file): No such file or directory")
        let most = [UInt8](repeating: 0x20, count: Files.usualLimit)
        try Data(most).write(to: URL(fileURLWithPath: file))
        #expect(problem() == "no problem")
        try Data(most + [0x20]).write(to: URL(fileURLWithPath: file))
        #expect(problem() == "cannot read \(file): it has 1048577 bytes, and 1048576 are allowed")
        try FileManager.default.removeItem(atPath: file)
        #expect(mkfifo(file, 0o600) == 0)
        #expect(problem() == "cannot read \(file): it is no plain file")
        #expect(unlink(file) == 0 && mkdir(file, 0o700) == 0)
        #expect(problem() == "cannot read \(file): it is a folder")
    }

    @Test func accountsAndPatternsAreRead() throws {
        #expect(try read("answer_for = { 'a', 'desk-*', '*' }").answerFor == ["a", "desk-*", "*"])
    }

    @Test func pushServicesAndReceiversAreRead() throws {
        let configuration = try read(
            """
            push = {
              apns = { key = secret "env:KEY", key_id = "K", team_id = "T", bundle_id = "B",
                server = "https://localhost:1" },
              fcm = { account = "{}" },
              web = { key = "k", subject = "mailto:a@b", hosts = "*.push.example", allow = {} },
              webhook = { url = "https://a.example", secret = { "whsec_1", "whsec_2" } } }
            webhooks = {
              { name = "crm-1", url = "https://b.example", secret = "whsec_3" },
              { name = "crm-2", url = "https://c.example", secret = "whsec_4",
                events = { "call.ended" }, allow = "10.0.0.0/8" } }
            """)
        let push = configuration.push
        #expect(push.apns?.key.text == "s3cret" && push.apns?.server == "https://localhost:1")
        #expect(push.web?.hosts == ["*.push.example"] && push.web?.allow == [])
        #expect(push.webhook?.secrets.map(\.text) == ["whsec_1", "whsec_2"])
        #expect(!push.isEmpty && Configuration().push.isEmpty)
        #expect(configuration.webhooks.map(\.name) == ["crm-1", "crm-2"])
        #expect(configuration.webhooks.map(\.events) == [nil, ["call.ended"]])
        #expect(configuration.webhooks[1].allow == ["10.0.0.0/8"])
        #expect(!"\(configuration)".contains("s3cret"))
        #expect(configuration.settings(hooks: []).hooks.contains(.reports))
        #expect(!Configuration().settings(hooks: []).hooks.contains(.reports))
    }

    @Test(arguments: [
        "https://app.example.com", "http://localhost:8080", "capacitor://localhost", "null", "*",
        "https://app.example.com/", "http://[::1]:8080",
    ])
    func theseAreOrigins(_ origin: String) throws {
        #expect(try read("origins = { '\(origin)' }").origins == [origin])
    }

    @Test(arguments: [
        ("push = { apn = {} }", "push: unknown field 'apn' (did you mean 'apns'?)"),
        ("push = { apns = { key = 'k' } }", "push: apns: key_id is missing"),
        ("push = { apns = { key = 1 } }", "push: apns: key: a string expected, got number"),
        ("push = { fcm = 'x' }", "push: fcm: a table expected, got string"),
        ("push = { web = { key = 'k' } }", "push: web: subject is missing"),
        ("push = { webhook = { url = 'u' } }", "push: webhook: secret is missing"),
        ("push = { apns = { key = '\\xff' } }", "key: a string expected, got a string that is not"),
        ("cluster = { node = '-x' }", "cluster: node: 1 to 64 letters, digits"),
        ("webhooks = { { url = 'u' } }", "webhooks: [1]: name is missing"),
        ("webhooks = { { name = 'a b' } }", "webhooks: [1]: name: 1 to 64 letters"),
        ("webhooks = { { name = 'a', urll = 'u' } }", "unknown field 'urll' (did you mean 'url'?)"),
        (
            "webhooks = { { name = 'a', url = 'u', secret = 's', events = 'call.endd' } }",
            "unknown event 'call.endd' (did you mean 'call.ended'?)"
        ),
        (
            "w = 1 webhooks = { { name = 'a', url = 'u', secret = 's' } }",
            "unknown name 'w'"
        ),
        (
            "local h = { name = 'a', url = 'u', secret = 's' } webhooks = { h, h }",
            "webhooks: [2]: 'a' is listed twice"
        ),
    ])
    func mistakesAboutPushesAndReceiversAreNamed(_ text: String, _ expected: String) {
        let said = problem("-- first line\n" + text)
        #expect(said.hasPrefix("callagent.lua:2: ") && said.contains(expected), "\(said)")
    }

    @Test func everyNameHasTypeDefaultAndHelp() {
        for field in ConfigurationField.all {
            #expect(!field.type.isEmpty && !field.standard.isEmpty && field.help.hasSuffix("."))
        }
    }

    /// The table says by hand what holds without a word; who writes that down changes nothing.
    @Test func theStandardOfALimitIsItsStandard() throws {
        let silent = try read("").limits
        let written = ConfigurationField.all.filter {
            $0.name.hasPrefix("limits.") && $0.standard != "none"
        }
        #expect(written.count > 50)
        for field in written {
            #expect(try read("\(field.name) = \(field.standard)").limits == silent, "\(field.name)")
        }
    }

    @Test func theTableOfTheOperatorsNames() {
        let rows = ConfigurationField.table().split(separator: "\n")
        #expect(rows.count == ConfigurationField.all.count)
        #expect(rows.first?.hasPrefix("listen ") == true)
        #expect(ConfigurationField.table(of: "invite").split(separator: "\n").count == 5)
        #expect(ConfigurationField.table(of: "watch").hasPrefix("watch  boolean  false  server  "))
        #expect(ConfigurationField.table(of: "watc").isEmpty)
    }
}
