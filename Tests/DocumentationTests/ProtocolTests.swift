// The pages of the protocol show the tables by which messages are read and written.

import AgentCore
import CallModel
import Foundation
import JSON
import Testing
import WebProtocols

@testable import AgentServer
@testable import CallSimulator
@testable import CallWire

@Suite struct ProtocolTests {
    @Test func operationsAndFields() throws {
        let rows = OperationName.allCases.map { OperationDescriptor.of($0) }.map { operation in
            let fields =
                operation.required.fields.map { code($0.name) }
                + operation.optional.fields.map { code($0.name + "?") }
            let ok = operation.reply.map { code($0.name) }
            return [
                code(operation.name.rawValue), fields.joined(separator: " "),
                ok.isEmpty ? "{}" : ok.joined(separator: " "), operation.summary,
            ]
        }
        #expect(rows.count == OperationName.allCases.count)
        let page = try Page("CallWire", "Operations")
        try page.expect("operations", table(["op", "data", "ok", ""], rows))
        let rules = FieldRules(limits: WireLimits(), modes: ModeRow.all)
        let fields = Field.allCases.map { $0.member(rules, isRequired: true) }.map { member in
            [code(member.name), Self.words(for: member.schema), member.about]
        }
        try page.expect("fields", table(["field", "type", ""], fields))
    }

    @Test func phrasesOfScenarios() throws {
        let rows = OperationName.allCases.flatMap { name in
            OperationDescriptor.of(name).phrases.map {
                [code(Phrase($0, of: .of(name)).written), code(name.rawValue)]
            }
        }
        let page = try Page("CallSimulator", "CallSimulator")
        try page.expect("phrases", table(["phrase", "operation"], rows))
    }

    @Test func fieldsOfTheJavaScriptClient() throws {
        let operations = OperationName.allCases.filter { $0 != .hello }
        let lines = operations.map { name in
            "  \"\(name.rawValue)\": \"\(name.fields.joined(separator: " "))\","
        }
        try Page("Sources/CallClientJS/inner/fields.js").expect(
            "fields", ["export const FIELDS = {"] + lines + ["};"])
    }

    @Test func typesOfTheJavaScriptClient() throws {
        let documents = ProtocolDocuments(version: Agent.version)
        try Page("Sources/CallClientJS/protocol.d.ts").expect("protocol", documents.typeScript)
        let package = try Page("Sources/CallClientJS/package.json").text
        #expect(package.contains("\"version\": \"\(Agent.version)\""))
    }

    @Test func everyFileOfTheClientAndThePhoneIsServed() throws {
        let folders = [
            ("Sources/CallClientJS", WebFiles.all.client),
            ("Sources/CWebFiles/phone", WebFiles.all.phone),
        ]
        for (folder, served) in folders {
            let place = Page.root.appending(path: folder)
            let files = try FileManager.default.subpathsOfDirectory(atPath: place.path)
            #expect(!files.isEmpty)
            for file in files where file.contains(".") {
                let bytes = try Data(contentsOf: place.appending(path: file))
                let same = served.values.filter { $0.bytes == Array(bytes) }
                #expect(!same.isEmpty, "\(folder)/\(file) is not in the tables of CWebFiles")
            }
        }
    }

    @Test func whoMayDoWhat() throws {
        let lines = OperationName.allCases.map { OperationDescriptor.of($0) }.filter {
            !$0.rule.isEmpty
        }.map { "- term \($0.name.rawValue): \($0.rule)" }
        try Page("CallWire", "Operations").expect("rules", lines)
        for operation in OperationDescriptor.all where operation.required.contains(.callID) {
            #expect(!operation.rule.isEmpty, "\(operation.name.rawValue)")
        }
    }

    @Test func events() throws {
        #expect(EventDescriptor.all.map(\.name) == EventName.allCases)
        let rows = EventDescriptor.all.map { event in
            let members = event.members.map { code($0.name) }
            return [
                code(event.name.rawValue), members.isEmpty ? "-" : members.joined(separator: " "),
                event.summary,
            ]
        }
        let page = try Page("CallWire", "Events")
        try page.expect("events", table(["event", "adds", ""], rows))
        let receivers = try page.section("Who hears what").joined()
        for event in EventName.allCases { #expect(receivers.contains(code(event.rawValue))) }
        for timer in TimerName.allCases { #expect(page.text.contains(code(timer.rawValue))) }
    }

    @Test func errors() throws {
        let rows = try Page("CallWire", "Errors").section("Overview").filter {
            $0.hasPrefix("| `")
        }
        let written = rows.map { $0.split(separator: " | ").prefix(4).joined(separator: " | ") }
        let wanted = Refusal.Code.allCases.map { error in
            "| `\(error.rawValue)` | \(error.httpStatus) | \(error.isRetryable ? "yes" : "-")"
                + " | \(error.isKept ? "yes" : "-")"
        }
        #expect(written == wanted)
        let entries = try Page("CallWire", "Errors").names(under: "Entries of errors[]")
        #expect(entries == InviteeError.Code.allCases.map(\.rawValue))
    }

    @Test func closeCodes() throws {
        let rows = try Page("CallWire", "Sessions").section("Closing").filter {
            $0.hasPrefix("| 1") || $0.hasPrefix("| 4")
        }
        let written = rows.map { $0.split(separator: " | ").prefix(3).joined(separator: " | ") }
        let wanted = CloseCode.allCases.map { status in
            let then =
                switch CloseCode.reaction(to: status.rawValue) {
                case .reconnect: "reconnect"
                case .renewToken: "new token"
                case .stop: "stay away"
                }
            return "| \(status.rawValue) | \(status) | \(then)"
        }
        #expect(written == wanted)
    }

    @Test func reasons() throws {
        let text = try Page("CallWire", "Requests").text
        for reason in EndReason.allCases.map(\.rawValue) + EndDetail.allCases.map(\.rawValue)
            + Participant.Reason.allCases.map(\.rawValue) + Call.Media.allCases.map(\.rawValue)
        { #expect(text.contains(code(reason)), "\(reason)") }
    }

    /// What a schema says, in words.
    private static func words(for schema: JSONValue) -> String {
        if let name = schema["$ref"]?.string {
            return name.split(separator: "/").last.map { named[String($0)] ?? "" } ?? ""
        }
        if let words = schema["enum"]?.array {
            return words.compactMap(\.string).map(code).joined(separator: ", ")
        }
        if let forms = schema["oneOf"]?.array {
            return forms.map(words).joined(separator: ", or ")
        }
        if let number = schema["const"]?.integer { return "\(number)" }
        switch schema["type"]?.string {
        case "boolean": return "true or false"
        case "object": return "object"
        case "integer": return "integer" + range(schema, "minimum", "maximum", "")
        case "string": return "text" + range(schema, "minLength", "maxLength", " bytes")
        case "array":
            let element = words(for: schema["items"] ?? .null)
            return "list of: \(element)" + range(schema, "minItems", "maxItems", " of them")
        default: return "any JSON"
        }
    }

    private static let named = [
        "CallID": "32 hex digits", "Name": "name", "Items": "object of texts, see Limits",
        "Push": "object: `title` `body` `payload`", "Resume": "object: `session` `seq`",
    ]

    private static func range(
        _ schema: JSONValue, _ low: String, _ high: String, _ unit: String
    ) -> String {
        let least = schema[low]?.integer ?? 0
        guard let most = schema[high]?.integer else {
            return least > 0 ? ", \(least) or more" : ""
        }
        return ", \(grouped(Int(least)))-\(grouped(Int(most)))\(unit)"
    }
}

@Suite struct LimitsTests {
    private let limits = ServerLimits()
    private let settings = Settings()

    @Test func thePageShowsTheDefaults() throws {
        try Page("CallWire", "Limits").expect(
            "limits",
            table(["limit", "default", "set by", "beyond it"], messages + sessions + calls))
    }

    private var messages: [[String]] {
        let wire = limits.wire
        return [
            [
                "one message", bytes(wire.messageBytes), "`limits.message`", "closed with 1009",
            ],
            [
                "the body of an HTTP request", bytes(limits.http.body), "`limits.message`", "413",
            ],
            [
                "`extended_data`", bytes(wire.extendedDataBytes),
                "`limits.extended_data`, at most \(grouped(WireLimits.extendedDataBytesMax))",
                "`too_large`",
            ],
            ["`data` of a signal", bytes(wire.signalBytes), "`limits.signal`", "`too_large`"],
            ["`id`", bytes(wire.idBytes), "", "`bad_request`"],
            ["`key`", bytes(wire.keyBytes), "", "`bad_request`"],
            ["`kind`", bytes(wire.kindBytes), "", "`bad_request`"],
            [
                "`timeout_ms`",
                "\(grouped(Int(wire.timeout.lowerBound)))-\(grouped(Int(wire.timeout.upperBound)))",
                "", "`bad_request`; 0 is the mode's own",
            ],
            ["entries of a list", grouped(wire.listEntries), "", "`bad_request`"],
            ["items of a call", grouped(wire.items), "`limits.items`", "`bad_request`"],
            ["key, value of an item", bytes(wire.itemBytes), "", "`bad_request`"],
            ["each text of `push`", bytes(wire.pushTextBytes), "", "`bad_request`"],
            ["`token`", bytes(wire.tokenBytes), "", "`bad_request`"],
            ["`subscription`", bytes(wire.subscriptionBytes), "", "`bad_request`"],
            ["nesting of JSON", "64 levels", "", "`bad_request`"],
            [
                "messages that are no JSON object", grouped(limits.session.unparseableMessages), "",
                "the last one closes with 4200",
            ],
            ["calls of a page", grouped(wire.pageCalls), "", "counts as the limit"],
            ["bytes of a page", bytes(wire.pageBytes), "", "the page ends, with a cursor"],
        ]
    }

    private var sessions: [[String]] {
        let session = limits.session
        return [
            [
                "time to `hello`", span(session.helloWithin), "`limits.hello_time`",
                "closed with 4200",
            ],
            ["silence", span(session.silenceMax), "`limits.silence`", "closed with 4009"],
            [
                "time to resume", span(session.resumeWindow), "`limits.resume_time`",
                "`resumed` is false",
            ],
            [
                "events kept for a resume",
                "\(grouped(session.heldEvents)), \(bytes(session.heldBytes))",
                "`limits.resume_events`, `limits.resume_bytes`",
                "`resumed` is false",
            ],
            [
                "bytes that a client may leave unread", bytes(limits.unsentBytes),
                "`limits.unsent`", "closed with 4008",
            ],
            [
                "bytes that all devices of a user may leave unread",
                bytes(limits.unsentBytesPerUser), "`limits.unsent_per_user`",
                "the slowest is closed with 4008",
            ],
            [
                "requests of a user, in a second", grouped(limits.requestsPerSecond),
                "`limits.requests_per_second`; none for `dev:` tokens", "`rate_limited`",
            ],
            [
                "a page of calls", "one more request for each further \(bytes(limits.pagePart))",
                "`limits.page_part`", "`rate_limited`",
            ],
            [
                "invitees of a user, in a minute",
                limits.invitationsPerMinute == 0 ? "any" : grouped(limits.invitationsPerMinute),
                "`limits.invitations_per_minute`; none for `dev:` tokens", "`rate_limited`",
            ],
            [
                "live calls that a user made", grouped(limits.callsPerUser),
                "`limits.calls_per_user`; none for `dev:` tokens and keys of servers",
                "`rate_limited`",
            ],
            [
                "events that wait for the plugins", grouped(limits.policyBacklog),
                "`limits.policy_backlog`", "invitations are `unavailable`",
            ],
            [
                "what waits for the store",
                "\(span(limits.commitWithin)), \(bytes(limits.heldBytes))",
                "`limits.commit_time`, `limits.commit_backlog`", "changes are `unavailable`",
            ],
            [
                "bad tokens of one address, in \(span(limits.authWindow))",
                grouped(limits.authFailures), "`limits.auth_failures`",
                "further refusals come \(span(limits.authDelay)) late",
            ],
            [
                "connections in all", grouped(limits.connections), "`limits.connections`",
                "not accepted",
            ],
            [
                "connections of one address", grouped(limits.connectionsPerAddress),
                "`limits.connections_per_address`", "not accepted",
            ],
            [
                "connections that have not said `hello`", grouped(limits.newcomers),
                "`limits.newcomers`", "the oldest is closed",
            ],
            [
                "the same of one address", grouped(limits.newcomersPerAddress),
                "`limits.newcomers_per_address`", "the oldest is closed",
            ],
            [
                "requests of a connection under way",
                "\(grouped(limits.requestsUnderWay)); a page counts \(limits.pageWeight)",
                "`limits.requests_under_way`", "further ones are read later",
            ],
            [
                "refusals for the rate of a user",
                "\(limits.refusalsAtOnce) in \(limits.restFor) ms",
                "`limits.refusals_at_once`", "further requests are read later",
            ],
            [
                "what one user says",
                "\(bytes(limits.bytesPerSecondMax)) a second", "`limits.max_rate`",
                "further messages are read later; over HTTP `rate_limited`",
            ],
            [
                "an HTTP request from its first byte", span(limits.requestWithin),
                "`limits.request_time`", "closed",
            ],
            [
                "a WebSocket message", span(limits.messageWithin), "`limits.message_time`",
                "closed with 4008",
            ],
            [
                "a message or request under way",
                "\(bytes(limits.bytesPerSecondMin)) a second, over \(span(limits.rateWindow))",
                "`limits.min_rate`, `limits.min_rate_time`", "closed, with 4008 if a message",
            ],
            [
                "an idle HTTP connection", span(limits.idleMax), "`limits.idle_time`", "closed",
            ],
            [
                "invitations told to a new session", grouped(settings.welcomeInvitationsMax), "",
                "the older ones are in `call.list`",
            ],
            [
                "devices of a user", grouped(settings.devicesPerUser), "`devices_per_user`",
                "the one idle longest is closed with 4209",
            ],
            [
                "idempotency keys of a user", grouped(settings.keysPerUser),
                "`limits.keys_per_user`", "the oldest is forgotten",
            ],
            [
                "idempotency keys in all", grouped(settings.keysMax), "`limits.keys`",
                "the oldest is forgotten",
            ],
        ]
    }

    private var calls: [[String]] {
        let roomy = Mode.all.first { $0.name == "group" }
        return [
            [
                "invitees of one operation",
                "\(Mode.all[0].invitees); \(roomy?.invitees ?? 0) in `group`; 1 in calls of two",
                "`limits.invitees`", "`too_many`",
            ],
            [
                "participants pending or joined",
                "\(Mode.all[0].participants); \(roomy?.participants ?? 0) in `group`; 2",
                "`limits.participants`", "`too_many`",
            ],
            [
                "participants over the life of a call, those who left among them",
                grouped(Settings.participantsMax), "", "`too_many`",
            ],
            [
                "signals held for a pending user",
                "\(grouped(settings.heldSignalsMax)), \(bytes(settings.heldSignalBytesMax))", "",
                "`rate_limited`",
            ],
            [
                "signals and items of one sender, unsent to a pending user's device",
                "\(grouped(settings.heldSignalsMax)), \(bytes(settings.heldSignalBytesMax))", "",
                "`rate_limited`",
            ],
            [
                "signals held of one sender, in all calls",
                bytes(settings.heldSignalBytesOfSenderMax), "", "`rate_limited`",
            ],
            [
                "questions to the plugins that wait, of one cause",
                grouped(settings.questionsPerCause), "`limits.questions_per_cause`",
                "`rate_limited`",
            ],
            [
                "events that an account caused and that wait for the plugins",
                grouped(limits.reportsPerCause), "`limits.reports_per_cause`",
                "invitations and signals are `rate_limited`",
            ],
            [
                "age of a call", span(settings.callAgeMax), "`max_call_age`",
                "ends: `idle`, `max_age`",
            ],
        ]
    }

    private func bytes(_ count: Int) -> String { "\(grouped(count)) bytes" }
}
