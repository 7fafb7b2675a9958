// Answers of a running process to the operator's tools.

import AgentCore
import CallCore
import CallModel
import CallWire
import EventLoop
import JSON
import Storage
import StoreContract
import WebProtocols

extension Agent {
    func addRoutes() {
        let documents = ProtocolDocuments(
            limits: options.limits.wire, modes: options.settings.modes, version: Self.version)
        let (openAPI, asyncAPI) = (documents.openAPI, documents.asyncAPI)
        gateway.document = { path in
            let body = path == "/v1/openapi.json" ? openAPI : asyncAPI
            guard path.hasSuffix("api.json") else { return nil }
            return HTTPResponse(200, headers: ["Content-Type": "application/json"], body: body)
        }
        admin.show("/healthz") { respond in respond(HTTPResponse(200, text: "ok\n")) }
        admin.show("/metrics") { [unowned self] respond in
            tellPolicyStatus { [unowned self] status in
                let text = metricsText + PolicyMetrics(status: status).text
                respond(
                    HTTPResponse(
                        200, headers: ["Content-Type": "text/plain; version=0.0.4"],
                        body: Array(text.utf8)))
            }
        }
        admin.serve(.document) { _, respond in
            respond(.json(200, ManagementOperation.document(version: Self.version)))
        }
        admin.serve(.status) { [unowned self] _, respond in respond(.json(200, status)) }
        outbound.addRoutes(to: admin)
        addPolicyRoutes()
        admin.serve(.calls) { [unowned self] request, respond in
            let limit = request.integer("limit") ?? Self.callsListed
            respond(live(exchange.switchboard.newestCalls(limit)))
        }
        admin.serve(.call) { [unowned self] request, respond in
            let call = request.callID.flatMap { exchange.switchboard.call($0) }
            respond(live([call].compactMap { $0 }.filter(\.isLive)))
        }
        admin.serve(.endCall) { [unowned self] request, respond in end(request, respond) }
    }

    /// Ends a call for the operator: `callagent end`.
    private func end(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        guard let id = request.callID else { return }
        let code = request.text("reason")
        let detail = code.flatMap { EndDetail(code: $0) }
        guard code == nil || detail != nil else {
            return respond(
                .refused(.badRequest, "reason must be 1-64 bytes of printable ASCII, no space"))
        }
        gateway.desk.request(.call(id, .finish(code: detail)), by: request.identity) {
            [log] reply in
            if reply.status == 200 {
                log.info("call ended by the operator", ("call", "\(id)"), ("reason", code ?? ""))
            }
            respond(HTTPResponse(reply))
        }
    }

    private var status: JSONValue {
        [
            "version": .string(Self.version),
            "ready": .bool(gateway.isReady),
            "live_calls": .integer(Int64(exchange.switchboard.liveCallCount)),
            "connections": .integer(Int64(gateway.links.count)),
            "sessions": .integer(Int64(gateway.desk.sessions.count)),
            "clock_gap_ms": .integer(exchange.wallGap),
            "unnamed_proxy": gateway.unnamedProxy.map { .string($0) } ?? .null,
            "store_error": exchange.storeTrouble.map { .string($0) } ?? .null,
        ]
    }

    /// Calls in one answer, at most: the loop writes it as a whole.
    private static let callsListed = 100

    /// Live calls as their callers see them.
    private func live(_ calls: [Call]) -> HTTPResponse {
        var writer = JSONWriter()
        writer.object {
            $0.array("calls") {
                for call in calls { gateway.desk.encoder.write(call, for: call.caller, into: &$0) }
            }
        }
        return HTTPResponse(
            200, headers: ["Content-Type": "application/json"], body: writer.bytes)
    }
}
