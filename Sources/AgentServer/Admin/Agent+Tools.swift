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
        addManagementRoutes()
    }
}
