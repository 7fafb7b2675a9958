// The management API: what operators and their tools may ask of a running server.

import CallModel
import WebProtocols

/// A member of a request's path, query or body, as it is written in all of them.
public struct ManagementParameter: Sendable {
    /// What it must be.
    public enum Kind: Sendable {
        case callID, user, device
        /// 1 to so much; more counts as so much.
        case count(atMost: Int64)
        /// 0 or more; more than `atMost` counts as that.
        case number(atMost: Int64 = .max)
        /// One of these.
        case word([String])
        /// Text of 1 byte to so many.
        case text(atMost: Int)
        /// A JSON object, in a body only.
        case object
    }

    /// Its name in the path, the query or the body.
    public let name: String
    /// What its value may be.
    public let kind: Kind
    /// What it is for.
    public let about: String

    init(_ name: String, _ kind: Kind, _ about: String = "") {
        self.name = name
        self.kind = kind
        self.about = about
    }
}

/// An operation of the management API, described once. Routes, checks, the tools' requests and the
/// document are made of it.
public struct ManagementOperation: Sendable {
    /// What there is to ask for.
    public enum Name: String, Sendable, CaseIterable {
        case status, calls, call, history, users, user, plugins, files, generations, source
        case decisions, explain, journal, pushes, webhooks, log, audit, doctor, config, job,
            document
        case explainUser = "explain_user"
        case generationDiff = "generation_diff"
        case endCall = "end_call"
        case reload, promote, abort, shadow, rollback, revoke, disconnect, forget
        case endShadow = "end_shadow"
        case retryPush = "retry_push"
        case retryWebhook = "retry_webhook"
        case replayWebhooks = "replay_webhooks"
        case enableWebhook = "enable_webhook"
        case attempt = "try"
        case replay, test
        case examine
        case cancelJob = "cancel_job"
    }

    /// Its name, by which tools ask for it.
    public let name: Name
    /// `GET` for those that change nothing.
    public let method: HTTPMethod
    /// Behind `/admin/v1`; `{name}` stands for a parameter.
    public let path: String
    /// One line for people.
    public let summary: String
    /// Those in the path must be there. The others are in the query of a `GET`, else in the body.
    public let parameters: [ManagementParameter]
    /// Who may ask for it at least.
    public let role: ManagementIdentity.Role

    /// What all paths begin with.
    public static let root = "/admin/v1"
    /// Stands for every node of a cluster where one may be named.
    public static let everyNode = "*"

    init(
        _ name: Name, _ method: HTTPMethod, _ path: String, _ summary: String,
        _ parameters: [ManagementParameter] = [], for role: ManagementIdentity.Role = .viewer
    ) {
        self.name = name
        self.method = method
        self.path = path
        self.summary = summary
        self.parameters = parameters
        self.role = method == .get ? role : .operator
    }

    /// The operation `name`.
    public static func of(_ name: Name) -> ManagementOperation {
        guard let found = all.first(where: { $0.name == name }) else {
            preconditionFailure("\(name) is not described")
        }
        return found
    }

    /// Every operation.
    public static let all: [ManagementOperation] = reading + changing + trying
}
