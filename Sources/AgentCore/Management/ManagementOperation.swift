// The management API: what operators and their tools may ask of a running server.

import CallModel
import WebProtocols

/// Who asks for an operation of the management API. Whoever takes the request in has checked it.
public struct ManagementIdentity: Sendable, Equatable {
    /// What an identity may do.
    public enum Role: String, Sendable, CaseIterable {
        /// Reads.
        case viewer
        /// Does everything.
        case `operator`
    }

    /// Who it is, for the log.
    public let name: String
    public let role: Role

    public init(_ name: String, _ role: Role) {
        self.name = name
        self.role = role
    }

    /// Whoever may open the socket of the operator.
    public static let socket = ManagementIdentity("socket", .operator)
}

/// A member of a request's path, query or body, as it is written in all of them.
public struct ManagementParameter: Sendable {
    /// What it must be.
    public enum Kind: Sendable {
        case callID, user, device
        /// 1 to so much; more counts as so much.
        case count(atMost: Int64)
        /// 0 or more.
        case number
        /// One of these.
        case word([String])
        /// Text of 1 byte to so many.
        case text(atMost: Int)
    }

    public let name: String
    public let kind: Kind
    /// What it is for.
    public let about: String

    init(_ name: String, _ kind: Kind, _ about: String = "") {
        self.name = name
        self.kind = kind
        self.about = about
    }

    static let callID = ManagementParameter("call_id", .callID)
    static let user = ManagementParameter("user", .user)
}

/// An operation of the management API, described once. Routes, checks, the tools' requests and the
/// document are made of it.
public struct ManagementOperation: Sendable {
    /// What there is to ask for.
    public enum Name: String, Sendable, CaseIterable {
        case status, calls, call, plugins, files, decisions, explain, trace, webhooks, document
        case endCall = "end_call"
        case reload, shadow, rollback, revoke
        case endShadow = "end_shadow"
        case replayWebhooks = "replay_webhooks"
        case enableWebhook = "enable_webhook"
    }

    public let name: Name
    public let method: HTTPMethod
    /// Behind `/admin/v1`; `{name}` stands for a parameter.
    public let path: String
    /// One line for people.
    public let summary: String
    /// Those in the path must be there. The others are in the query of a `GET`, else in the body.
    public let parameters: [ManagementParameter]

    /// Who may ask for it at least.
    public var role: ManagementIdentity.Role { method == .get ? .viewer : .operator }

    /// What all paths begin with.
    public static let root = "/admin/v1"

    private init(
        _ name: Name, _ method: HTTPMethod, _ path: String, _ summary: String,
        _ parameters: [ManagementParameter] = []
    ) {
        self.name = name
        self.method = method
        self.path = path
        self.summary = summary
        self.parameters = parameters
    }

    /// The operation `name`.
    public static func of(_ name: Name) -> ManagementOperation {
        guard let found = all.first(where: { $0.name == name }) else {
            preconditionFailure("\(name) is not described")
        }
        return found
    }

    /// Every operation.
    public static let all: [ManagementOperation] = [
        ManagementOperation(
            .status, .get, "/status", "Version, readiness, live calls, connections, the clock."),
        ManagementOperation(
            .calls, .get, "/calls", "Live calls, newest first.",
            [ManagementParameter("limit", .count(atMost: 100), "absent: 100")]),
        ManagementOperation(.call, .get, "/calls/{call_id}", "One live call.", [.callID]),
        ManagementOperation(
            .explain, .get, "/calls/{call_id}/explain",
            "What was decided about a call, and what became of its pushes.", [.callID]),
        ManagementOperation(
            .plugins, .get, "/plugins", "The plugins with their state, and the shadow."),
        ManagementOperation(
            .files, .get, "/files", "A digest of every file that is in force, and alarms."),
        ManagementOperation(
            .decisions, .get, "/decisions", "The newest decisions.",
            [ManagementParameter("limit", .count(atMost: 1_000_000), "absent: 100")]),
        ManagementOperation(
            .trace, .get, "/trace", "Decisions after a number, as soon as there is one.",
            [
                ManagementParameter("after", .number, "absent: only new ones"), .callID, .user,
                ManagementParameter("plugin", .text(atMost: 256)),
            ]),
        ManagementOperation(
            .webhooks, .get, "/webhooks",
            "The receivers of events; with a state the events that stand there.", events),
        ManagementOperation(
            .document, .get, "/openapi.json", "This API as an OpenAPI document."),
        ManagementOperation(
            .endCall, .post, "/calls/{call_id}/end", "Ends a call for everybody.",
            [
                .callID,
                ManagementParameter(
                    "reason", .text(atMost: 64), "the detail of the end's reason, which is policy"),
            ]),
        ManagementOperation(.reload, .post, "/reload", "Reads the files again."),
        ManagementOperation(
            .shadow, .post, "/shadow", "Asks the new plugins beside the old ones."),
        ManagementOperation(.endShadow, .post, "/shadow/end", "Stops asking them."),
        ManagementOperation(
            .rollback, .post, "/rollback", "Goes back to a set of plugins.",
            [ManagementParameter("generation", .text(atMost: 256), "absent: the last one")]),
        ManagementOperation(
            .replayWebhooks, .post, "/webhooks/replay", "Sends events again.",
            events + [ManagementParameter("event", .text(atMost: 64))]),
        ManagementOperation(
            .enableWebhook, .post, "/webhooks/{name}/enable", "Sends to a receiver again.",
            [ManagementParameter("name", .text(atMost: 256))]),
        ManagementOperation(
            .revoke, .post, "/revoke", "Takes tokens back: of a user or device, or one.",
            [
                .user, ManagementParameter("device", .device, "only what came with it"),
                ManagementParameter("jti", .text(atMost: 1_024), "the one token, without user"),
                ManagementParameter("issuer", .text(atMost: 1_024), "of this iss only"),
            ]),
    ]

    private static let events = [
        ManagementParameter(
            "state", .word(["open", "delivered", "failed"]), "replay without it: failed"),
        ManagementParameter("endpoint", .text(atMost: 256), "only for this receiver"), .callID,
        ManagementParameter("limit", .count(atMost: 10_000), "absent: 1000"),
    ]
}
