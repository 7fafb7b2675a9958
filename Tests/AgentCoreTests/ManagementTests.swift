// Requests of the management API are what their rows say, or refused with the parameter's name.

import AgentCore
import CallModel
import JSON
import Testing
import WebProtocols

@Suite struct ManagementTests {
    private static let id = String(repeating: "0a", count: 16)

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
        let trace = try read(.get, "/trace?after=7&user=bob&plugin=a%20b")
        #expect(trace.integer("after") == 7 && trace.user == UserID("bob"))
        #expect(trace.text("plugin") == "a b" && trace.callID == nil)
        #expect(try read(.post, "/reload").operation.name == .reload)
        #expect(try read(.post, "/revoke", #"{"user":null,"jti":"7"}"#).text("jti") == "7")
        #expect(try read(.post, "/webhooks/a%2Fb/enable").text("name") == "a/b")
    }

    @Test func moreThanTheMostCountsAsTheMost() throws {
        #expect(try read(.get, "/calls?limit=100").integer("limit") == 100)
        #expect(try read(.get, "/calls?limit=101").integer("limit") == 100)
        #expect(refusal(.get, "/calls?limit=0")?.detail == .field("limit"))
    }

    @Test(
        arguments: [
            (.get, "/calls?limit=x", "", "limit"), (.get, "/calls?colour=red", "", "colour"),
            (.get, "/calls/1", "", "call_id"), (.get, "/trace?user=a%20b", "", "user"),
            (.get, "/trace?user=a&user=b", "", "user"), (.post, "/revoke?user=bob", "", "user"),
            (.post, "/revoke", #"{"user":["bob"]}"#, "user"),
            (.post, "/webhooks/replay", #"{"state":"lost"}"#, "state"),
            (.post, "/rollback", #"{"generation":""}"#, "generation"),
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
            let path = String(operation.path(with: ["call_id": Self.id, "name": "x"]).dropFirst(9))
            #expect(refusal(operation.method, path, by: viewer)?.code == .forbidden, "\(path)")
        }
    }

    @Test func everyNameHasOneRowAndAPathOfItsOwn() throws {
        #expect(
            Set(ManagementOperation.all.map(\.name)) == Set(ManagementOperation.Name.allCases))
        #expect(ManagementOperation.all.count == ManagementOperation.Name.allCases.count)
        for operation in ManagementOperation.all {
            let path = operation.path(with: ["call_id": Self.id, "name": "x"])
            let request = HTTPRequest(operation.method, try HTTPTarget(path))
            let read = try ManagementRequest(request, by: .socket)
            #expect(read.operation.name == operation.name)
        }
    }
}
