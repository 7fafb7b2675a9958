// Requests of the management API are what their rows say, or refused with the parameter's name.

import AgentCore
import CallModel
import JSON
import Testing
import WebProtocols

@Suite struct ManagementTests {
    private static let id = String(repeating: "0a", count: 16)
    private static let places = [
        "call_id": id, "name": "x", "job": "1", "user": "ann", "generation": "a", "other": "b",
        "path": "c", "push": "d", "event": "e",
    ]

    private func read(
        _ method: HTTPMethod, _ path: String, _ body: String = "",
        by identity: ManagementIdentity = .socket
    ) throws -> ManagementRequest {
        let target = try HTTPTarget("/admin/v1" + path)
        return try ManagementRequest(
            HTTPRequest(method, target, body: Array(body.utf8)), by: identity)
    }

    private func refusal(
        _ method: HTTPMethod, _ path: String, _ body: String = "",
        by identity: ManagementIdentity = .socket
    ) -> Refusal? {
        do {
            _ = try read(method, path, body, by: identity)
            return nil
        } catch { return error as? Refusal }
    }

    @Test func parametersComeFromPathQueryAndBody() throws {
        let end = try read(.post, "/calls/\(Self.id)/end", #"{"reason":"night"}"#)
        #expect(end.operation.name == .endCall && end.identity == .socket)
        #expect(end.callID == CallID(Self.id) && end.text("reason") == "night")
        let some = try read(.get, "/decisions?after=7&user=bob&plugin=a%20b")
        #expect(some.integer("after") == 7 && some.user == UserID("bob"))
        #expect(some.text("plugin") == "a b" && some.callID == nil)
        let source = try read(.get, "/generations/a1/files/plugins%2Fdesk.lua")
        #expect(source.text("path") == "plugins/desk.lua")
        let attempt = try read(.post, "/try", #"{"invite":{"from":"a"},"files":{"b":"c"}}"#)
        #expect(attempt.object("invite")?["from"] == "a" && attempt.text("invite") == nil)
        #expect(try read(.post, "/reload").operation.name == .reload)
        #expect(try read(.post, "/revoke", #"{"user":null,"jti":"7"}"#).text("jti") == "7")
        #expect(try read(.post, "/webhooks/a%2Fb/enable").text("name") == "a/b")
    }

    @Test func moreThanTheMostCountsAsTheMost() throws {
        #expect(try read(.get, "/calls?limit=500").limit == 500)
        #expect(try read(.get, "/calls?limit=501").limit == 500)
        #expect(try read(.get, "/calls").limit == 50)
        #expect(try read(.get, "/log?wait_ms=25001").integer("wait_ms") == 25_000)
        #expect(try read(.get, "/log?wait_ms=0").integer("wait_ms") == 0)
        #expect(refusal(.get, "/calls?limit=0")?.detail == .field("limit"))
    }

    @Test(
        arguments: [
            (.get, "/calls?limit=x", "", "limit"), (.get, "/calls?colour=red", "", "colour"),
            (.get, "/calls/1", "", "call_id"), (.get, "/history?user=a%20b", "", "user"),
            (.get, "/history?user=a&user=b", "", "user"), (.post, "/revoke?user=bob", "", "user"),
            (.post, "/revoke", #"{"user":["bob"]}"#, "user"),
            (.post, "/webhooks/replay", #"{"state":"lost"}"#, "state"),
            (.post, "/rollback", #"{"generation":""}"#, "generation"),
            (.post, "/try", #"{"invite":"ann"}"#, "invite"),
            (.post, "/try", #"{"invite":[]}"#, "invite"),
            (.get, "/log?level=loud", "", "level"), (.get, "/log?wait_ms=-1", "", "wait_ms"),
            (.delete, "/jobs/x", "", "job"),
        ] as [(HTTPMethod, String, String, String)])
    func whatIsWrongIsNamed(_ method: HTTPMethod, _ path: String, _ body: String, _ field: String) {
        let refusal = refusal(method, path, body)
        #expect(refusal?.code == .badRequest && refusal?.detail == .field(field), "\(path)")
        #expect(refusal?.message.hasPrefix(field) == true)
    }

    @Test func pathsMethodsAndBodiesThatAreNot() {
        #expect(refusal(.get, "/nowhere")?.code == .notFound)
        #expect(refusal(.get, "/calls/")?.detail == .field("call_id"))
        #expect(refusal(.get, "/reload")?.code == .unsupported)
        #expect(refusal(.post, "/reload", "[]")?.code == .badRequest)
        #expect(refusal(.post, "/reload", "{")?.code == .badRequest)
        #expect(ManagementOperation.methods(at: "/admin/v1/reload") == ["POST"])
    }

    @Test func aViewerReadsOnly() throws {
        let viewer = ManagementIdentity("ann", .viewer)
        #expect(try read(.get, "/calls", by: viewer).identity == viewer)
        for operation in ManagementOperation.all where operation.method != .get {
            let path = String(operation.path(with: Self.places).dropFirst(9))
            #expect(refusal(operation.method, path, by: viewer)?.code == .forbidden, "\(path)")
        }
        for path in ["/generations/a/files/b", "/generations/a/diff/b"] {
            #expect(
                refusal(.get, path, by: viewer)?.code == .forbidden, "texts are not for viewers")
        }
    }

    @Test func everyNameHasOneRowAndAPathOfItsOwn() throws {
        #expect(
            Set(ManagementOperation.all.map(\.name)) == Set(ManagementOperation.Name.allCases))
        #expect(ManagementOperation.all.count == ManagementOperation.Name.allCases.count)
        for operation in ManagementOperation.all {
            let path = operation.path(with: Self.places)
            let request = HTTPRequest(operation.method, try HTTPTarget(path))
            let read = try ManagementRequest(request, by: .socket)
            #expect(read.operation.name == operation.name)
        }
    }
}
