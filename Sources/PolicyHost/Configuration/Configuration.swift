// The operator's file, callagent.lua, as plain values.

import CallModel
import JSON

/// Everything that the operator decides. Without a file the defaults serve.
public struct Configuration: Sendable, Equatable {
    /// Address and port for clients.
    public var listen = "127.0.0.1:7600"
    /// Where the admin interface listens; nil: a Unix socket in `stateDirectory`.
    public var admin: String?
    /// Where everything durable lives; `:memory:` keeps nothing.
    public var stateDirectory = "callagent.state"
    /// Accounts whose invitations go to the plugins.
    public var answerFor: [String] = []
    /// The plugins in order of precedence.
    public var plugins: [Plugin] = []
    /// `options["NAME"]`, by name.
    public var options: [String: JSONObject] = [:]
    /// `override["NAME"]`, by name.
    public var overrides: [String: Override] = [:]
    /// The operator's time zone.
    public var timezone = "UTC"
    /// What becomes of invitations.
    public var invite = Invite()
    /// Keys that tokens of clients may be signed with.
    public var auth: [Key] = []
    /// `jti` of tokens that are taken back.
    public var revoked: [String] = []
    /// The user directory; nil: everybody.
    public var users: [String]?
    /// Devices of one user.
    public var devicesPerUser = 10
    /// See `Limits`.
    public var limits = Limits()
    /// How long ended calls are kept.
    public var retention: Milliseconds = 90 * 86_400_000
    /// Age at which a forgotten call ends.
    public var maxCallAge: Milliseconds = 24 * 3_600_000
    /// Certificate and key; nil: no TLS.
    public var tls: TLS?
    /// Origins of web pages that may connect; nil: all.
    public var origins: [String]?
    /// Whether a changed file leads to a reload by itself.
    public var watch = false
    /// Whether a reload runs the plugins' own tests first.
    public var testOnReload = false
    /// See `Log`.
    public var log = Log()
    /// See `DecisionLog`.
    public var decisionLog = DecisionLog()
    /// See `Push`.
    public var push = Push()
    /// Receivers of events.
    public var webhooks: [Webhook] = []
    /// Line of the assignment of every name, for messages.
    public var lines: [String: Int] = [:]
    /// The file; nil: the defaults.
    public var file: String?
    /// A digest of the text that it was read from: part of its generation's name.
    public var fingerprint = ""
    /// The files whose texts are secrets of this one, as it names them.
    public var secretFiles: [String] = []

    /// The defaults.
    public init() {}

    /// One plugin of the list.
    public struct Plugin: Sendable, Equatable {
        /// `plugins/NAME.lua` or `plugins/NAME/init.lua`.
        public var name: String
        /// Whom it is asked about; nil: everybody.
        public var users: [String]?

        /// The plugin `name`, asked about `users`.
        public init(name: String, users: [String]? = nil) {
            self.name = name
            self.users = users
        }
    }

    /// The operator's word over a plugin's own.
    public struct Override: Sendable, Equatable {
        /// What its failure leads to.
        public var onError: OnError?
        /// Capabilities granted.
        public var grants: [String] = []
        /// Bytes of its Lua state.
        public var memory: Int?
        /// Processor time of one uninterrupted run.
        public var runTime: Milliseconds?
        /// Processor time of one event.
        public var eventTime: Milliseconds?
        /// Lines of the log until it waits or ends.
        public var logLines: Int?

        /// Nothing overridden.
        public init() {}
    }

    /// What becomes of invitations to the accounts of `answerFor`.
    public struct Invite: Sendable, Equatable {
        /// When no plugin decided.
        public var standard = Settings.InviteDefault.ring
        /// When a plugin failed that says nothing itself.
        public var onError = OnError.default
        /// Time for the whole chain of plugins.
        public var decideIn: Milliseconds = 2_000
    }

    /// A key that tokens may be signed with.
    public struct Key: Sendable, Equatable {
        /// `HS256`, `ES256` or `RS256`.
        public var algorithm: String
        /// A text or PEM.
        public var key: Secret
        /// Which key a token names.
        public var id: String?
        /// The issuer that tokens must name.
        public var issuer: String?
        /// The audience that tokens must name.
        public var audience: String?
    }

    /// A text that is never shown.
    public struct Secret: Sendable, Equatable, CustomStringConvertible {
        /// The text.
        public let text: String

        /// The secret `text`.
        public init(_ text: String) { self.text = text }

        public var description: String { "(secret)" }
    }

    /// Certificate chain and private key, paths of PEM files.
    public struct TLS: Sendable, Equatable {
        public var certificate: String
        public var key: String
    }

    /// What the log looks like.
    public struct Log: Sendable, Equatable {
        /// The least serious line that is written.
        public var level = PolicyLog.Level.info
        /// See `Format`.
        public var format = Format.auto

        /// How lines are written.
        public enum Format: String, Sendable, CaseIterable {
            /// For people on a terminal, else JSON.
            case auto
            case text, json
        }
    }

    /// What is kept of the plugins' decisions.
    public struct DecisionLog: Sendable, Equatable {
        /// Bytes of one file.
        public var size = 64 << 20
        /// Files kept, the one that is written counted.
        public var files = 4
        /// Whether it is kept what a decision was made on, so that it can be asked again.
        public var keepsInputs = true
        /// Decisions that a reload asks again before it takes effect.
        public var replay = 1_000

        /// The defaults.
        public init() {}
    }

    /// Sizes and rates. One client at a limit is not felt by others.
    public struct Limits: Sendable, Equatable {
        /// Bytes of one message of a client.
        public var message = 65_536
        /// Bytes of extended data.
        public var extendedData = 2_048
        /// Invitees of one operation.
        public var invitees = 9
        /// Pending and joined participants of one call.
        public var participants = 10
        /// Items of one call.
        public var items = 10
        /// Requests of one user.
        public var requestsPerSecond = 200
        /// Connections in all.
        public var connections = 100_000
        /// Connections from one address.
        public var connectionsPerAddress = 10_000
        /// Bytes unsent to one connection before it is closed.
        public var unsent = 1 << 20
        /// Idempotency keys of one user.
        public var keysPerUser = 1_000
        /// Idempotency keys in all.
        public var keys = 1_000_000
        /// Longest life that a token may have left; nil: any.
        public var tokenLifetime: Milliseconds?
        /// How far clocks may differ when a token is judged.
        public var tokenLeeway: Milliseconds = 5_000
        /// Bytes of the data of a signal.
        public var signal = 16_384
        /// Invitations of one user in a minute, each invitee counted; 0: any number.
        public var invitationsPerMinute = 0
        /// Events and questions that wait for the plugins.
        public var policyBacklog = 100_000
        /// For how long the oldest open commit may wait for the store.
        public var commitTime: Milliseconds = 1_000
        /// Bytes, as estimated, of what waits for the store.
        public var commitBacklog = 8 << 20
        /// Weight of requests under way of one connection.
        public var requestsUnderWay = 128
        /// Newcomers in a second.
        public var acceptsPerSecond = 2_000
        /// Bad tokens of one address in half a minute before refusals are late.
        public var authFailures = 100
        /// How late.
        public var authDelay: Milliseconds = 5_000
        /// Time for a TLS handshake.
        public var tlsTime: Milliseconds = 10_000
        /// Time for a whole HTTP request.
        public var requestTime: Milliseconds = 10_000
        /// Time for the first message of a connection.
        public var helloTime: Milliseconds = 5_000
        /// Time for a whole message.
        public var messageTime: Milliseconds = 60_000
        /// Bytes a second that must come of a message under way; 0: any.
        public var minRate = 1_024
        /// Over how long that is measured.
        public var minRateTime: Milliseconds = 5_000
        /// Bytes that all those who have not said who they are may have begun to say.
        public var strangers = 64 << 20
        /// How long a connection that speaks HTTP may be idle.
        public var idleTime: Milliseconds = 60_000
        /// Time between pings.
        public var ping: Milliseconds = 25_000
        /// Silence that ends a connection.
        public var silence: Milliseconds = 33_000
        /// Time for a new connection to resume a session.
        public var resumeTime: Milliseconds = 120_000
        /// Events kept for a resume.
        public var resumeEvents = 256
        /// Bytes of events kept for a resume.
        public var resumeBytes = 262_144
        /// How long a drain may take at the end.
        public var drain: Milliseconds = 10_000
        /// Plugin memory without an override.
        public var pluginMemory = 16 << 20
        /// Lines of the log of one plugin until it waits or ends.
        public var logLines = 100
    }
}

extension Configuration {
    /// The user directory; nil: everybody is in it.
    var directory: Accounts? { users.flatMap { $0 == ["*"] ? nil : Accounts($0) } }

    /// The switchboard's settings with plugins that have `hooks`.
    public func settings(hooks: Hooks) -> Settings {
        var settings = Settings()
        settings.answerFor = Accounts(answerFor)
        settings.users = directory
        settings.hooks = hooks
        settings.inviteDefault = invite.standard
        settings.inviteWhenLate = invite.onError == .reject ? .reject : invite.standard
        settings.decideWithin = invite.decideIn
        settings.devicesPerUser = devicesPerUser
        settings.callAgeMax = maxCallAge
        settings.keysPerUser = limits.keysPerUser
        settings.keysMax = limits.keys
        settings.itemsMax = limits.items
        // Receivers of events are told of what the report hooks are told of.
        if !webhooks.isEmpty { settings.hooks.insert(.reports) }
        // Also without a push service: who was called in vain is told at the next connection.
        settings.wakesDevices = true
        settings.modes = Mode.all.map { mode in
            var mode = mode
            if mode.invitees == Mode.standardInvitees { mode.invitees = limits.invitees }
            if mode.participants == Mode.standardParticipants {
                mode.participants = limits.participants
            }
            return mode
        }
        return settings
    }
}
