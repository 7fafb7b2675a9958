// The operator's file, callagent.lua, as plain values.

import CallModel
import JSON
import Lua

/// Everything that the operator decides: two parts, each a type of its own. What is named here
/// by its own name is a member of the part that has it.
@dynamicMemberLookup
public struct Configuration: Sendable, Equatable {
    /// What is kept with a generation, and goes back with it.
    public var generation = GenerationPart()
    /// Whatever else there is: it is never taken back (G82).
    public var server = ServerPart()
    /// Line of the assignment of every name, for messages.
    public var lines: [String: Int] = [:]
    /// The file; nil: the defaults.
    public var file: String?

    /// The defaults.
    public init() {}

    /// A member of the generation's part.
    public subscript<Value>(dynamicMember path: WritableKeyPath<GenerationPart, Value>) -> Value {
        get { generation[keyPath: path] }
        set { generation[keyPath: path] = newValue }
    }

    /// A member of the server's part.
    public subscript<Value>(dynamicMember path: WritableKeyPath<ServerPart, Value>) -> Value {
        get { server[keyPath: path] }
        set { server[keyPath: path] = newValue }
    }
}

/// What belongs to a generation of plugins: a rollback brings it back.
public struct GenerationPart: Sendable, Equatable {
    /// Accounts whose invitations go to the plugins.
    public var answerFor: [String] = []
    /// The plugins in order of precedence.
    public var plugins: [Configuration.Plugin] = []
    /// `options["NAME"]`, by name.
    public var options: [String: JSONObject] = [:]
    /// `override["NAME"]`, by name.
    public var overrides: [String: Configuration.Override] = [:]
    /// The operator's time zone.
    public var timezone = "UTC"
    /// What becomes of invitations.
    public var invite = Configuration.Invite()
    /// The operator's own modes, in the order of their names.
    public var modes: [Configuration.OwnMode] = []
    /// People who are called by one name, such as `sales`.
    public var groups: [String: [UserID]] = [:]
    /// What people are called.
    public var names: [UserID: PersonName] = [:]
    /// The evaluated values, as they are kept and named: what is not written has its default,
    /// and a secret is the expression that stands for it.
    public internal(set) var values = KeptValues()

    /// The defaults.
    public init() {}
}

/// The server's part: it changes by a reload or a start, and nothing takes it back.
public struct ServerPart: Sendable, Equatable {
    /// Address and port for clients.
    public var listen = "127.0.0.1:7600"
    /// The path of the tools' socket; nil: a Unix socket in `stateDirectory`.
    public var admin: String?
    /// Where everything durable lives; `:memory:` keeps nothing.
    public var stateDirectory = "callagent.state"
    /// Keys that tokens of clients may be signed with.
    public var auth: [Configuration.Key] = []
    /// Whether the operator says that there are no keys (`auth = false`).
    public var hasNoKeysByIntent = false
    /// `jti` of tokens that are taken back.
    public var revoked: [String] = []
    /// The user directory; nil: everybody.
    public var users: [String]?
    /// Of whom a user may ask what they are called.
    public var namesFor = Configuration.NamesFor.met
    /// Devices of one user.
    public var devicesPerUser = 10
    /// See `Limits`.
    public var limits = Configuration.Limits()
    /// How long ended calls are kept.
    public var retention: Milliseconds = 90 * 86_400_000
    /// Age at which a forgotten call ends.
    public var maxCallAge: Milliseconds = 24 * 3_600_000
    /// Certificate and key; nil: no TLS.
    public var tls: Configuration.TLS?
    /// Origins of web pages that may connect; nil: all.
    public var origins: [String]?
    /// Whether the phone in a browser is served although there are keys.
    public var phone = false
    /// Proxies whose word about a client's address is taken.
    public var trustedProxies: [String] = []
    /// Where figures can be read and nothing else; nil: nowhere.
    public var metrics: String?
    /// What is kept of calls, to explain later what happened.
    public var journal = Configuration.Journal()
    /// The console for people; nil: nothing listens.
    public var console: Configuration.Console?
    /// Whether a changed file leads to a reload by itself.
    public var watch = false
    /// Whether a reload runs the plugins' own tests first.
    public var testOnReload = false
    /// Whether a question to plugins that have always been quick is answered on the loop's thread.
    public var fastLane = true
    /// See `Log`.
    public var log = Configuration.Log()
    /// See `DecisionLog`.
    public var decisionLog = Configuration.DecisionLog()
    /// See `Push`.
    public var push = Configuration.Push()
    /// Receivers of events.
    public var webhooks: [Configuration.Webhook] = []
    /// The node of several machines that this one is; nil: it is alone.
    public var cluster: Configuration.Cluster?
    /// The evaluated values, as they are kept for a start at which the file does not evaluate.
    public internal(set) var values = KeptValues()

    /// The defaults.
    public init() {}
}

extension Configuration {
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

    /// Of whom a user may ask what they are called.
    public enum NamesFor: String, Sendable, CaseIterable {
        /// Of those who were in a call with the user.
        case met
        case everybody
    }

    /// What becomes of invitations.
    public struct Invite: Sendable, Equatable {
        /// When no plugin decided.
        public var standard = Settings.InviteDefault.ring
        /// When a plugin failed that says nothing itself.
        public var onError = OnError.default
        /// Time for the whole chain of plugins.
        public var decideIn: Milliseconds = 2_000
        /// The mode of an invitation that names none.
        public var mode = Mode.advanced.name
        /// The delivery check of an invitation that says nothing of it; nil: none.
        public var deliveryCheck: Milliseconds?
    }

    /// A mode of the operator.
    public struct OwnMode: Sendable, Equatable {
        /// What it says.
        public var mode: Mode
        /// The parameters that the file names; the others are as in the mode that it is like.
        public var given: Set<String>
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
        /// What its tokens may be beside a user's (K112).
        public var roles: Set<Role> = [.server]

        /// What a token may be beside a user's.
        public enum Role: String, Sendable, CaseIterable {
            /// Acts for any user, over HTTP.
            case server
            /// Changes and looks, where tools connect.
            case `operator`
            /// Looks, where tools connect.
            case viewer
        }
    }

    /// A text that is never shown.
    public struct Secret: Sendable, Equatable, CustomStringConvertible {
        /// The text.
        public let text: String

        /// The secret `text`.
        public init(_ text: String) { self.text = text }

        /// Nothing of the text.
        public var description: String { "(secret)" }
    }

    /// Certificate chain and private key, paths of PEM files.
    public struct TLS: Sendable, Equatable {
        /// The certificate chain.
        public var certificate: String
        /// The private key.
        public var key: String
    }

    /// What is kept of each call, in the order in which it happened.
    public struct Journal: Sendable, Equatable {
        /// Ended calls in memory.
        public var calls = 10_000
        /// Bytes in memory.
        public var memory = 64 << 20
        /// Bytes in files; nil: none.
        public var file: Int? = 256 << 20

        /// The defaults.
        public init() {}
    }

    /// Where people look after the server, with tokens of operators and viewers.
    public struct Console: Sendable, Equatable {
        /// Address and port; empty: not given.
        public var listen = ""
        /// Certificate and key; nil: no TLS.
        public var tls: Configuration.TLS?
        /// Origins by whose host it may be named beside its own.
        public var origins: [String] = []
        /// Connections at once.
        public var connections = 100
        /// Bytes of the body of one request.
        public var body = 256 << 10
        /// Bytes of the audit.
        public var audit = 256 << 20

        /// No console.
        public init() {}
    }

    /// What the log looks like.
    public struct Log: Sendable, Equatable {
        /// The least serious line that is written.
        public var level = LogLevel.info
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
        /// Whether the data of a decision is kept, so that the plugins can be asked again.
        public var keepsInputs = true
        /// Decisions that a reload asks again before it takes effect.
        public var replay = 1_000
        /// How long all of them may take.
        public var replayTime: Milliseconds = 1_000

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
        /// Transfers of one call.
        public var transfers = 10
        /// Requests of one user.
        public var requestsPerSecond = 200
        /// Connections in all.
        public var connections = 100_000
        /// Connections from one address.
        public var connectionsPerAddress = 10_000
        /// Connections over which one user asks over HTTP.
        public var connectionsPerUser = 100
        /// Connections that have not shown a good token.
        public var newcomers = 2_000
        /// The same of one address.
        public var newcomersPerAddress = 100
        /// Bytes unsent to one connection before it is closed.
        public var unsent = 1 << 20
        /// Bytes that the kernel takes for one stranger who does not read.
        public var strangersBuffer = 128 << 10
        /// Bytes of answers over HTTP unsent to one connection before no more of it is looked at.
        public var unsentAnswers = 65_536
        /// Messages of one connection in one turn of the loop.
        public var turnMessages = 32
        /// Time of one turn for all those who have not said who they are.
        public var turnStrangers: Milliseconds = 1
        /// Newcomers that one turn lets in, and connections that it ends.
        public var turnNewcomers = 16
        /// Bytes unsent to all connections of one user before the slowest one is closed.
        public var unsentPerUser = 4 << 20
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
        /// Live calls that one user made; 0: any number.
        public var callsPerUser = 1_000
        /// Names of people that are kept.
        public var names = 1_000_000
        /// Events and questions that wait for the plugins.
        public var policyBacklog = 100_000
        /// For how long the oldest open commit may wait for the store.
        public var commitTime: Milliseconds = 1_000
        /// Bytes, as estimated, of what waits for the store.
        public var commitBacklog = 8 << 20
        /// Weight of requests under way of one connection.
        public var requestsUnderWay = 128
        /// Bytes of a page of calls that cost as much as one request.
        public var pagePart = 16 << 10
        /// Bytes of one user in a second; 0: any number.
        public var maxRate = 4 << 20
        /// Refusals for a user's rate, before their connections are not read for a moment.
        public var refusalsAtOnce = 32
        /// Newcomers in a second.
        public var acceptsPerSecond = 2_000
        /// Bad tokens of one address in half a minute before refusals are late.
        public var authFailures = 100
        /// How late.
        public var authDelay: Milliseconds = 5_000
        /// TLS handshakes under way whose first word has come.
        public var tlsHandshakes = 1_000
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
        /// Bytes that all those who have not said who they are may have begun to say, or left
        /// unread.
        public var strangers = 40 << 20
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
        /// How long `readyz` says no before a drain.
        public var drainNotice: Milliseconds = 2_000
        /// Plugin memory without an override.
        public var pluginMemory = 16 << 20
        /// Lines of the log of one plugin until it waits or ends.
        public var logLines = 100
        /// What else bounds one plugin, and a pair of accounts in it.
        public var plugin = PluginLimits()
        /// Questions of one pair of accounts that wait for the plugins.
        public var questionsPerCause = 100
        /// Reports that one account caused and that wait for the plugins.
        public var reportsPerCause = 200
        /// For how long an invitation is held for a decision at once.
        public var heldTime: Milliseconds = 5
        /// Bytes of log lines that wait for a reader or the disk.
        public var logBuffer = 1 << 20
        /// Bytes, as estimated, of decision records that wait for the disk.
        public var decisionBacklog = 8 << 20
    }
}

extension Configuration {
    /// What is no mistake, and yet hardly meant.
    public var warnings: [ScriptProblem] {
        var warnings = server.values.textKeys.map { place in
            let name = String(place.prefix { $0 != "[" && $0 != "." })
            return problem(
                "warning: \(place) is written as text, so it is not kept: a start at which this "
                    + "file does not evaluate goes without it (write secret \"env:NAME\" or secret "
                    + "\"file:PATH\")", at: name)
        }
        if server.hasNoKeysByIntent {
            warnings.append(
                problem(
                    "warning: auth = false: there are no keys, and everybody may be anybody",
                    at: "auth"))
        }
        return warnings
    }

    /// The fault `text` at the assignment of `name`.
    package func problem(_ text: String, at name: String) -> ScriptProblem {
        let file = file.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
        return ScriptProblem(text, file: file, line: lines[name])
    }

    /// All that the file says, to tell whether it has changed: for a digest only, since keys that
    /// are written as text are in it.
    public var valuesInForce: String { generation.values.text + "\n" + server.values.whole }

    /// Takes grants away from plugins, by their names.
    public mutating func takeAway(_ grants: [String: [String]]) {
        for (plugin, taken) in grants {
            generation.overrides[plugin]?.grants.removeAll { taken.contains($0) }
        }
    }

    /// The files whose texts are secrets, as the operator's file names them.
    public var secretFiles: [String] {
        generation.values.secretFiles + server.values.secretFiles
    }

    /// The user directory; nil: everybody is in it.
    package var directory: Accounts? { server.users.flatMap { $0 == ["*"] ? nil : Accounts($0) } }

    /// The switchboard's settings with plugins that have `hooks`.
    public func settings(hooks: Hooks) -> Settings {
        var settings = Settings()
        settings.answerFor = Accounts(generation.answerFor)
        settings.users = directory
        settings.names = generation.names
        settings.hooks = hooks
        settings.inviteDefault = generation.invite.standard
        settings.inviteWhenLate =
            generation.invite.onError == .reject ? .reject : generation.invite.standard
        settings.decideWithin = generation.invite.decideIn
        settings.deliveryCheckDefault = generation.invite.deliveryCheck
        settings.devicesPerUser = server.devicesPerUser
        settings.callAgeMax = server.maxCallAge
        settings.keysPerUser = server.limits.keysPerUser
        settings.keysMax = server.limits.keys
        settings.itemsMax = server.limits.items
        settings.transfersMax = server.limits.transfers
        settings.questionsPerCause = server.limits.questionsPerCause
        settings.heldWithin = server.limits.heldTime
        // Receivers of events are told of what the report hooks are told of.
        if !server.webhooks.isEmpty { settings.hooks.insert(.reports) }
        // Also without a push service: who was called in vain is told at the next connection.
        settings.wakesDevices = true
        settings.modes = modes.map { ModeRow($0) }
        settings.defaultMode =
            ModeRow(named: generation.invite.mode, in: settings.modes) ?? settings.defaultMode
        settings.groups = generation.groups
        return settings
    }

    /// The built-in modes under the operator's limits, then the operator's own.
    public var modes: [Mode] { Mode.all.map { limited($0, but: []) } + ownModes }

    /// The operator's own modes.
    public var ownModes: [Mode] { generation.modes.map { limited($0.mode, but: $0.given) } }

    /// A mode that says nothing of how many it takes takes as many as `limits` says.
    private func limited(_ mode: Mode, but given: Set<String>) -> Mode {
        var mode = mode
        if mode.invitees == Mode.standardInvitees, !given.contains("invitees") {
            mode.invitees = server.limits.invitees
        }
        if mode.participants == Mode.standardParticipants, !given.contains("participants") {
            mode.participants = server.limits.participants
        }
        return mode
    }
}
