// The doors beside that of clients: what they answer, and where they listen.

import AgentCore
import CallModel
import CallWire
import EventLoop
import WebProtocols

extension Agent {
    /// Gives the doors what they answer with.
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

    /// Listeners beside that of clients which are prepared but not yet in force.
    struct OtherListeners {
        fileprivate let figures: FiguresServer.Change?
        fileprivate let console: ConsoleServer.Change
    }

    /// Prepares what the options ask for.
    func prepareListeners(_ options: AgentOptions) throws(AgentError) -> OtherListeners {
        let figuresChange: FiguresServer.Change?
        do throws(EventLoopError) {
            figuresChange = try figures.prepare(options.metrics)
        } catch {
            throw .configuration("metrics: \(error)")
        }
        do throws(EventLoopError) {
            return OtherListeners(
                figures: figuresChange, console: try management.console.prepare(options.console))
        } catch {
            figures.dismiss(figuresChange)
            throw .configuration("console: \(error)")
        }
    }

    /// Puts them into force.
    func carryOut(_ listeners: OtherListeners) {
        figures.carryOut(listeners.figures)
        management.console.carryOut(listeners.console)
    }

    /// They do not come into force.
    func dismiss(_ listeners: OtherListeners) {
        figures.dismiss(listeners.figures)
        management.console.dismiss(listeners.console)
    }
}
