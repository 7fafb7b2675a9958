// The protocol documents say what the codec does.

import CallModel
import JSON
import Testing

@testable import CallWire

/// The part of JSON Schema that the documents use, strict about members that are not described.
struct SchemaChecker {
    let document: JSONValue

    /// What is wrong with `value`, as paths; nothing: it fits `schema`.
    func faults(_ value: JSONValue, _ schema: JSONValue, at path: String = "$") -> [String] {
        if let target = schema["$ref"]?.string {
            guard let found = resolve(target) else { return ["\(path): \(target) is missing"] }
            return faults(value, found, at: path)
        }
        if let choices = schema["oneOf"]?.array {
            let fitting = choices.count { self.faults(value, $0, at: path).isEmpty }
            return fitting == 1 ? [] : ["\(path): fits \(fitting) of \(choices.count) forms"]
        }
        var faults: [String] = []
        if let types = schema["type"], !fits(value, types) { faults.append("\(path): type") }
        if let words = schema["enum"]?.array, !words.contains(value) {
            faults.append("\(path): \(value) is not in the list")
        }
        if let constant = schema["const"], constant != value { faults.append("\(path): const") }
        if let most = schema["maxLength"]?.integer, let text = value.string, text.count > most {
            faults.append("\(path): too long")
        }
        if let least = schema["minimum"]?.integer, let number = value.integer, number < least {
            faults.append("\(path): too small")
        }
        if let most = schema["maximum"]?.integer, let number = value.integer, number > most {
            faults.append("\(path): too large")
        }
        for (index, element) in (value.array ?? []).enumerated() {
            guard let items = schema["items"] else { continue }
            faults += self.faults(element, items, at: "\(path)[\(index)]")
        }
        return faults + objectFaults(value, schema, path)
    }

    private func objectFaults(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> [String] {
        guard let object = value.object else { return [] }
        var faults: [String] = []
        for name in schema["required"]?.array ?? [] where object[name.string ?? ""] == nil {
            faults.append("\(path): \(name) is missing")
        }
        for member in object.members {
            let place = "\(path).\(member.key)"
            if let known = schema["properties"]?[member.key] {
                faults += self.faults(member.value, known, at: place)
            } else if let other = schema["additionalProperties"] {
                faults += self.faults(member.value, other, at: place)
            } else if schema["properties"] != nil {
                faults.append("\(place) is not described")
            }
        }
        return faults
    }

    private func fits(_ value: JSONValue, _ types: JSONValue) -> Bool {
        let kind =
            switch value.kind {
            case .bool: "boolean"
            case .number: value.integer == nil ? "number" : "integer"
            case .object, .array, .string, .null: value.kind.rawValue
            }
        return (types.array ?? [types]).contains(.string(kind))
    }

    /// The value at a pointer within the document.
    func resolve(_ pointer: String) -> JSONValue? {
        pointer.split(separator: "/").dropFirst().reduce(Optional(document)) { $0?[String($1)] }
    }

    /// Every `$ref` in the document.
    func references(in value: JSONValue) -> [String] {
        let inside =
            (value.object?.members.map(\.value) ?? value.array ?? []).flatMap(references)
        return inside + (value["$ref"]?.string.map { [$0] } ?? [])
    }
}

@Suite struct DocumentTests {
    private static let documents = ProtocolDocuments(version: "9.8.7")
    private static let asyncAPI = try? JSONValue(parsing: documents.asyncAPI)
    private static let openAPI = try? JSONValue(parsing: documents.openAPI)

    private let socket = SchemaChecker(document: asyncAPI ?? .null)
    private let http = SchemaChecker(document: openAPI ?? .null)

    private func schema(_ name: String) -> JSONValue { Schema.ref(name) }

    private func parsed(_ body: (inout JSONWriter) -> Void) throws -> JSONValue {
        var writer = JSONWriter()
        body(&writer)
        return try JSONValue(parsing: writer.bytes)
    }

    @Test func theDocumentsSayWhatTheyAre() {
        #expect(socket.document["asyncapi"] == "3.1.0")
        #expect(http.document["openapi"] == "3.1.0")
        for document in [socket.document, http.document] {
            #expect(document["info"]?["version"] == "9.8.7")
        }
    }

    @Test func everyReferenceLeadsSomewhere() {
        for checker in [socket, http] {
            let references = checker.references(in: checker.document)
            #expect(references.count > 100)
            for reference in references { #expect(checker.resolve(reference) != nil) }
        }
    }

    @Test func everyWordOfTheProtocolAppears() {
        let texts = [Self.documents.asyncAPI, Self.documents.openAPI]
            .map { String(decoding: $0, as: UTF8.self) }
        let everywhere: [String] =
            Refusal.Code.allCases.map(\.rawValue) + EndReason.allCases.map(\.rawValue)
            + EndDetail.allCases.map(\.rawValue) + Participant.State.allCases.map(\.rawValue)
            + Participant.Reason.allCases.map(\.rawValue) + Call.State.allCases.map(\.rawValue)
            + Call.Media.allCases.map(\.rawValue) + InviteeError.Code.allCases.map(\.rawValue)
            + Mode.all.map(\.name) + PushProvider.allCases.map(\.rawValue)
            + TimerName.allCases.map(\.rawValue) + Field.allCases.map(\.name)
        for word in everywhere {
            for text in texts { #expect(text.contains("\"\(word)\""), "\(word)") }
        }
        for name in OperationName.allCases {
            #expect(socket.document["operations"]?[name.rawValue] != nil)
            guard let path = name.httpPath else { continue }
            #expect(http.document["paths"]?[path]?["post"] != nil)
        }
        for event in EventName.allCases {
            #expect(socket.document["operations"]?["event.\(event.rawValue)"] != nil)
        }
        for code in CloseCode.allCases { #expect(texts[0].contains("\(code.rawValue) \(code)")) }
    }

    @Test(
        arguments: OperationTests.invitations + OperationTests.answers + OperationTests.inCall
            + OperationTests.others)
    func whatTheClientWritesFitsItsSchema(_ example: OperationTests.Example) throws {
        let body = try JSONValue(parsing: RequestEncoder().body(example.operation))
        for checker in [socket, http] {
            #expect(checker.faults(body, schema("\(example.name.rawValue).data")) == [])
        }
        let request = try JSONValue(
            parsing: RequestEncoder().request(example.operation, id: .integer(1), key: "k"))
        let message = socket.resolve("#/components/messages/request.\(example.name.rawValue)")
        #expect(socket.faults(request, try #require(message?["payload"])) == [])
    }

    @Test(arguments: [
        (-1, false), (0, true), (1, false), (999, false), (1_000, true), (600_000, true),
        (600_001, false),
    ])
    func aRingTimeIsNoneOrInItsRange(_ time: Int64, _ isFine: Bool) {
        let body: JSONValue = ["invitees": ["bob"], "timeout_ms": .integer(time)]
        for checker in [socket, http] {
            #expect(checker.faults(body, schema("call.invite.data")).isEmpty == isFine)
        }
    }

    @Test(arguments: EventTests.examples)
    func whatTheServerTellsFitsItsSchema(_ example: EventTests.Example) throws {
        let event = CallEvent(
            callID: Sample.id, revision: 4, at: Moment(5), actor: .policy("busy"),
            kind: example.kind)
        let value = try parsed {
            WireEncoder.eventHead(1, into: &$0)
            WireEncoder().eventTail(event, for: "alice", into: &$0)
        }
        let message = socket.resolve("#/components/messages/event.\(example.name.rawValue)")
        #expect(socket.faults(value, try #require(message?["payload"])) == [])
    }

    @Test func whatTheServerAnswersFitsItsSchema() throws {
        let errors = [InviteeError("x", .blocked)]
        let call = Sample.refused
        let answers: [(OperationName, Reply)] = [
            (.invite, .invited(call, viewer: "bob", errors: errors)),
            (.add, .callWithErrors(call, viewer: "bob", errors: errors)),
            (.cancel, .callWithErrors(call, viewer: "bob", errors: [])),
            (.accept, .call(call, viewer: "bob")), (.get, .call(Sample.ringing, viewer: "bob")),
            (.items, .items([Call.Item(key: "k", value: "v")], keys: ["k"])),
            (.token, .token(Array("{}".utf8))), (.ringing, .done),
        ]
        for (name, reply) in answers {
            let value = try JSONValue(parsing: WireEncoder().reply(reply, to: .integer(1)))
            let message = socket.resolve("#/components/messages/reply.\(name.rawValue)")
            #expect(socket.faults(value, try #require(message?["payload"])) == [])
        }
    }

    @Test func pagesWelcomesAndErrorsFitTheirSchemas() throws {
        let page = try parsed {
            WireEncoder.replyHead(.integer(1), into: &$0)
            WireEncoder().pageTail(
                [Sample.ringing], cursor: Sample.id, for: "bob", limits: WireLimits(), into: &$0)
        }
        #expect(socket.faults(page["ok"] ?? .null, schema("call.list.ok")) == [])
        let settings = WelcomeSettings(
            session: SessionLimits(), limits: AnnouncedLimits(), server: "x/1")
        let welcome = Welcome(
            Address("bob", "phone"), session: SessionID(high: 1, low: 2), resumed: true,
            serverTime: Moment(1), settings: settings, calls: [Sample.refused],
            hasMoreCalls: true)
        let greeting = try parsed {
            WireEncoder.replyHead(nil, into: &$0)
            WireEncoder().welcomeTail(welcome, into: &$0)
        }
        #expect(socket.faults(greeting["ok"] ?? .null, schema("hello.ok")) == [])
        for code in Refusal.Code.allCases {
            let refusal = Refusal(code, "no", detail: .errors([InviteeError("x", .itself)]))
            let error = try JSONValue(parsing: WireEncoder().reply(.refused(refusal), to: nil))
            #expect(socket.faults(error["error"] ?? .null, schema("Error")) == [])
            let problem = try JSONValue(parsing: HTTPReply(refusal).body)
            #expect(http.faults(problem, schema("Problem")) == [])
        }
    }

    @Test func theDocumentsTellTheLimitsThatAreConfigured() throws {
        var limits = WireLimits()
        limits.extendedDataBytes = 4_096
        let document = ProtocolDocuments(limits: limits, modes: [ModeRow.all[3]], version: "1")
        let value = try JSONValue(parsing: document.openAPI)
        let data = value["components"]?["schemas"]?["call.invite.data"]?["properties"]
        #expect(data?["extended_data"]?["maxLength"] == 4_096)
        #expect(data?["mode"]?["enum"] == ["direct"])
    }

    @Test func theCheckerItselfFindsFaults() {
        let end: JSONValue = ["reason": "busy", "detail": nil, "by": nil, "extended_data": nil]
        #expect(socket.faults(end, schema("End")) == [])
        #expect(socket.faults(["reason": "busy"], schema("End")).count == 3)
        for (key, value) in [("reason", "sad"), ("by", 5), ("extra", true)]
            as [(String, JSONValue)]
        {
            guard case .object(var bad) = end else { continue }
            bad[key] = value
            #expect(!socket.faults(.object(bad), schema("End")).isEmpty)
        }
    }
}
