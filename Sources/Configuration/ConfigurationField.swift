// Every name of callagent.lua with its type, default and help: one table for reading, checking
// and `callagent config`.

import CallModel
import JSON
import Lua

/// One name of the operator's file.
public struct ConfigurationField: Sendable {
    /// `listen`, or `invite.default` for a member of a table.
    public let name: String
    /// For people.
    public let type: String
    /// As it would be written.
    public let standard: String
    /// One line.
    public let help: String
    /// Which of the two kinds it is of.
    public let part: Part
    private let set: Setter

    /// The two kinds of names.
    public enum Part: String, Sendable, CaseIterable {
        /// Goes back with a rollback.
        case generation
        /// Is never taken back.
        case server
    }

    /// Says how a name is read, and by its type to which of the two parts it belongs.
    private enum Setter {
        case generation(@Sendable (inout GenerationPart, LuaValue) throws(LuaProblem) -> Void)
        case server(@Sendable (inout ServerPart, LuaValue) throws(LuaProblem) -> Void)
    }

    private init(_ words: [String], _ part: Part, _ set: Setter) {
        (name, type, standard, help) = (words[0], words[1], words[2], words[3])
        self.part = part
        self.set = set
    }

    /// A name of the generation's part.
    static func generation(
        _ name: String, _ type: String, _ standard: String, _ help: String,
        _ set: @escaping @Sendable (inout GenerationPart, LuaValue) throws(LuaProblem) -> Void
    ) -> ConfigurationField {
        ConfigurationField([name, type, standard, help], .generation, .generation(set))
    }

    /// A name of the server's part.
    static func server(
        _ name: String, _ type: String, _ standard: String, _ help: String,
        _ set: @escaping @Sendable (inout ServerPart, LuaValue) throws(LuaProblem) -> Void
    ) -> ConfigurationField {
        ConfigurationField([name, type, standard, help], .server, .server(set))
    }

    func assign(
        _ value: LuaValue, to configuration: inout Configuration
    ) throws(LuaProblem) {
        switch set {
        case .generation(let set): try set(&configuration.generation, value)
        case .server(let set): try set(&configuration.server, value)
        }
    }
}

extension ConfigurationField {
    /// Every name, in the order in which they are printed.
    public static let all: [ConfigurationField] =
        listening + console + decisions + answering + security + sizes + plugins + transport + rest
        + outbound + cluster

    /// The names that may stand at the left of an assignment.
    package static let topLevel: [String] = {
        var names: [String] = []
        for field in all {
            let name = String(field.name.prefix { $0 != "." })
            if !names.contains(name) { names.append(name) }
        }
        return names
    }()

    /// Those of them that are tables.
    static let tables: [String] =
        topLevel.filter { name in !all.contains { $0.name == name } }
        + ["options", "override", "modes", "groups"]

    /// The part of a name, or of a table of names.
    package static func part(of name: String) -> Part? {
        all.first { $0.name == name || $0.name.hasPrefix("\(name).") }?.part
    }

    private static let listening: [ConfigurationField] = [
        .server("listen", "address", "\"127.0.0.1:7600\"", "Where clients connect.") {
            c, v throws(LuaProblem) in c.listen = try v.address()
        },
        .server("admin", "path", "in state_dir", "The socket where `callagent reload` connects.") {
            c, v throws(LuaProblem) in c.admin = try v.socketPath()
        },
        .server(
            "state_dir", "path", "\"callagent.state\"",
            "What must last; \":memory:\" keeps nothing."
        ) {
            c, v throws(LuaProblem) in c.stateDirectory = try v.name()
        },
        .server("metrics", "address", "none", "Where figures can be read, and nothing else.") {
            c, v throws(LuaProblem) in c.metrics = try v.address()
        },
        .server("tls.cert", "path", "none", "Certificate chain (PEM).") {
            c, v throws(LuaProblem) in
            c.tls = Configuration.TLS(certificate: try v.string(), key: c.tls?.key ?? "")
        },
        .server("tls.key", "path", "none", "Private key (PEM).") {
            c, v throws(LuaProblem) in
            c.tls = Configuration.TLS(certificate: c.tls?.certificate ?? "", key: try v.string())
        },
        .server("origins", "list of origins", "all", "Web pages that may connect.") {
            c, v throws(LuaProblem) in c.origins = try v.origins()
        },
        .server("phone", "boolean", "false", "The page / is a phone also where there are keys.") {
            c, v throws(LuaProblem) in c.phone = try v.boolean()
        },
        .server(
            "trusted_proxies", "list of addresses", "{}",
            "Proxies that say for whom they ask (X-Forwarded-For)."
        ) {
            c, v throws(LuaProblem) in c.trustedProxies = try v.addressRanges()
        },
        .server("watch", "boolean", "false", "Reload by itself when a file changes.") {
            c, v throws(LuaProblem) in c.watch = try v.boolean()
        },
        .server("test_on_reload", "boolean", "false", "Run the plugins' tests before a reload.") {
            c, v throws(LuaProblem) in c.testOnReload = try v.boolean()
        },
        .server("fast_lane", "boolean", "true", "Ask plugins that are quick without a thread.") {
            c, v throws(LuaProblem) in c.fastLane = try v.boolean()
        },
        .server("log.level", "debug, info, warn, error", "\"info\"", "Least serious line written.")
        {
            c, v throws(LuaProblem) in c.log.level = try v.choice()
        },
        .server("log.format", "auto, text, json", "\"auto\"", "auto: text on a terminal.") {
            c, v throws(LuaProblem) in c.log.format = try v.choice()
        },
    ]

    private static let decisions: [ConfigurationField] = [
        .server("decision_log.size", "size", "\"64MB\"", "One file of decisions.") {
            c, v throws(LuaProblem) in c.decisionLog.size = try v.size(65_536...1 << 40)
        },
        .server("decision_log.files", "integer", "4", "Files of decisions kept, the oldest go.") {
            c, v throws(LuaProblem) in c.decisionLog.files = try v.integer(1...1_000)
        },
        .server("decision_log.inputs", "boolean", "true", "Keep what is needed to ask again.") {
            c, v throws(LuaProblem) in c.decisionLog.keepsInputs = try v.boolean()
        },
        .server("decision_log.replay", "integer", "1000", "Decisions that a reload asks again.") {
            c, v throws(LuaProblem) in c.decisionLog.replay = try v.integer(0...1_000_000)
        },
        .server("decision_log.replay_time", "duration", "\"1s\"", "For all of them.") {
            c, v throws(LuaProblem) in c.decisionLog.replayTime = try v.duration(10...600_000)
        },
    ]

    private static let answering: [ConfigurationField] = [
        .generation("answer_for", "list of accounts", "{}", "Whose invitations go to the plugins.")
        {
            c, v throws(LuaProblem) in c.answerFor = try v.accounts()
        },
        .generation("plugins", "list of plugins", "{}", "In order of precedence.") {
            c, v throws(LuaProblem) in c.plugins = try v.plugins()
        },
        .generation("options", "table by plugin", "{}", "The plugins' own options.") {
            c, v throws(LuaProblem) in c.options = try v.optionTables()
        },
        .generation("override", "table by plugin", "{}", "on_error, grant, limits of a plugin.") {
            c, v throws(LuaProblem) in c.overrides = try v.overrides()
        },
        .generation("names", "table of texts", "{}", "What people are called, by user.") {
            c, v throws(LuaProblem) in c.names = try v.names()
        },
        .generation("timezone", "time zone", "\"UTC\"", "For opening hours and at(…).") {
            c, v throws(LuaProblem) in
            let name = try v.string()
            guard TimeZoneRules(named: name) != nil else {
                throw LuaProblem("unknown time zone '\(name)'\(TimeZoneRules.hint(for: name))")
            }
            c.timezone = name
        },
        .generation(
            "modes", "table by name", "{}", "Modes of your own: what they are like, and what not."
        ) {
            c, v throws(LuaProblem) in c.modes = try v.modes()
        },
        .generation("groups", "table by name", "{}", "People who are called by one name.") {
            c, v throws(LuaProblem) in c.groups = try v.groups()
        },
        .generation("invite.default", "ring, reject", "\"ring\"", "When no plugin decided.") {
            c, v throws(LuaProblem) in c.invite.standard = try v.choice()
        },
        .generation(
            "invite.on_error", "skip, default, reject", "\"default\"", "When the chain is late."
        ) {
            c, v throws(LuaProblem) in
            c.invite.onError = try v.choice(among: [OnError.skip, .default, .reject])
        },
        .generation("invite.decide_in", "duration", "\"2s\"", "Time for the whole chain.") {
            c, v throws(LuaProblem) in c.invite.decideIn = try v.duration(1...60_000)
        },
        .generation(
            "invite.mode", "name of a mode", "\"advanced\"", "Of an invitation that names none."
        ) {
            c, v throws(LuaProblem) in
            c.invite.mode = try v.mode(among: Mode.all + c.modes.map(\.mode))
        },
        .generation(
            "invite.delivery_check", "boolean or duration", "false",
            "Of an invitation that says nothing of it; true: 5s."
        ) {
            c, v throws(LuaProblem) in c.invite.deliveryCheck = try v.deliveryCheck()
        },
    ]

    private static let security: [ConfigurationField] = [
        .server(
            "auth", "list of keys, or false", "none",
            "alg, key, kid, iss, aud, roles of tokens' keys; false: none on purpose."
        ) {
            c, v throws(LuaProblem) in
            c.hasNoKeysByIntent = v == .bool(false)
            c.auth = c.hasNoKeysByIntent ? [] : try v.keys()
        },
        .server("revoked", "list of texts", "{}", "jti of tokens that are taken back.") {
            c, v throws(LuaProblem) in c.revoked = try v.strings()
        },
        .server("users", "\"*\" or list of accounts", "\"*\"", "The user directory.") {
            c, v throws(LuaProblem) in c.users = try v.strings()
        },
        .server("names_for", "met, everybody", "\"met\"", "Whose names a user may ask for.") {
            c, v throws(LuaProblem) in c.namesFor = try v.choice()
        },
        .server("devices_per_user", "integer", "10", "One more replaces the one idle longest.") {
            c, v throws(LuaProblem) in c.devicesPerUser = try v.integer(1...1_000)
        },
    ]

    private static let sizes: [ConfigurationField] = [
        .server("limits.message", "size", "\"64KB\"", "One message of a client.") {
            c, v throws(LuaProblem) in c.limits.message = try v.size(1_024...65_536)
        },
        .server("limits.extended_data", "size", "\"2KB\"", "Extended data.") {
            c, v throws(LuaProblem) in c.limits.extendedData = try v.size(0...8_192)
        },
        .server("limits.invitees", "integer", "9", "Invitees of one operation.") {
            c, v throws(LuaProblem) in c.limits.invitees = try v.integer(1...255)
        },
        .server("limits.participants", "integer", "10", "Participants of one call.") {
            c, v throws(LuaProblem) in c.limits.participants = try v.integer(2...256)
        },
        .server("limits.items", "integer", "10", "Items of one call.") {
            c, v throws(LuaProblem) in c.limits.items = try v.integer(0...100)
        },
        .server("limits.transfers", "integer", "10", "Transfers of one call.") {
            c, v throws(LuaProblem) in c.limits.transfers = try v.integer(0...100)
        },
        .server("limits.requests_per_second", "integer", "200", "Requests of one user.") {
            c, v throws(LuaProblem) in c.limits.requestsPerSecond = try v.integer(1...1_000_000)
        },
        .server("limits.connections", "integer", "100000", "Connections in all.") {
            c, v throws(LuaProblem) in c.limits.connections = try v.integer(1...10_000_000)
        },
        .server("limits.connections_per_address", "integer", "10000", "Connections of one address.")
        {
            c, v throws(LuaProblem) in
            c.limits.connectionsPerAddress = try v.integer(1...10_000_000)
        },
        .server("limits.connections_per_user", "integer", "100", "Over HTTP, of one user.") {
            c, v throws(LuaProblem) in c.limits.connectionsPerUser = try v.integer(1...10_000_000)
        },
        .server("limits.unsent", "size", "\"1MB\"", "Unsent to one connection.") {
            c, v throws(LuaProblem) in c.limits.unsent = try v.size(65_536...1 << 30)
        },
        .server("limits.unsent_per_user", "size", "\"4MB\"", "Unsent to one user.") {
            c, v throws(LuaProblem) in c.limits.unsentPerUser = try v.size(65_536...1 << 33)
        },
        .server("limits.keys_per_user", "integer", "1000", "Idempotency keys of one user.") {
            c, v throws(LuaProblem) in c.limits.keysPerUser = try v.integer(1...1_000_000)
        },
        .server("limits.keys", "integer", "1000000", "Idempotency keys in all.") {
            c, v throws(LuaProblem) in c.limits.keys = try v.integer(1...100_000_000)
        },
        .server("limits.token_lifetime", "duration", "none", "Longest life left of a token.") {
            c, v throws(LuaProblem) in
            c.limits.tokenLifetime = try v.duration(60_000...3_660 * 86_400_000)
        },
        .server("limits.token_leeway", "duration", "\"5s\"", "How far clocks may differ.") {
            c, v throws(LuaProblem) in c.limits.tokenLeeway = try v.duration(0...60_000)
        },
        .server("limits.drain", "duration", "\"10s\"", "Longest drain at the end.") {
            c, v throws(LuaProblem) in c.limits.drain = try v.duration(0...600_000)
        },
        .server(
            "limits.drain_notice", "duration", "\"2s\"",
            "readyz says no for so long before a drain, where a load balancer asks for it."
        ) {
            c, v throws(LuaProblem) in c.limits.drainNotice = try v.duration(0...600_000)
        },
        .server("limits.plugin_memory", "size", "\"16MB\"", "Memory of one plugin.") {
            c, v throws(LuaProblem) in c.limits.pluginMemory = try v.size(1 << 20...1 << 30)
        },
        .server("limits.log_lines", "integer", "100", "Of a plugin, until it waits or ends.") {
            c, v throws(LuaProblem) in c.limits.logLines = try v.integer(1...1_000_000)
        },
        .server("limits.log_buffer", "size", "\"1MB\"", "Log lines that wait to be written.") {
            c, v throws(LuaProblem) in c.limits.logBuffer = try v.size(4_096...1 << 30)
        },
        .server("limits.decision_backlog", "size", "\"8MB\"", "Decisions that wait to be written.")
        {
            c, v throws(LuaProblem) in c.limits.decisionBacklog = try v.size(65_536...1 << 40)
        },
        .server("limits.policy_backlog", "integer", "100000", "Events that wait for the plugins.") {
            c, v throws(LuaProblem) in c.limits.policyBacklog = try v.integer(100...10_000_000)
        },
        .server("limits.commit_time", "duration", "\"1s\"", "Of the oldest commit that is open.") {
            c, v throws(LuaProblem) in c.limits.commitTime = try v.duration(100...600_000)
        },
        .server("limits.commit_backlog", "size", "\"8MB\"", "What waits for the store.") {
            c, v throws(LuaProblem) in c.limits.commitBacklog = try v.size(65_536...1 << 40)
        },
    ]

    private static let transport: [ConfigurationField] = [
        .server("limits.signal", "size", "\"16KB\"", "Data of one signal.") {
            c, v throws(LuaProblem) in c.limits.signal = try v.size(1_024...65_536)
        },
        .server(
            "limits.invitations_per_minute", "integer", "0",
            "Of one user, each invitee counted; 0: any."
        ) {
            c, v throws(LuaProblem) in c.limits.invitationsPerMinute = try v.integer(0...1_000_000)
        },
        .server("limits.names", "integer", "1000000", "Names of people that are kept.") {
            c, v throws(LuaProblem) in c.limits.names = try v.integer(0...100_000_000)
        },
        .server("limits.calls_per_user", "integer", "1000", "Live ones that a user made; 0: any.") {
            c, v throws(LuaProblem) in c.limits.callsPerUser = try v.integer(0...10_000_000)
        },
        .server(
            "limits.requests_under_way", "integer", "128", "Of one connection; a page counts 32."
        ) {
            c, v throws(LuaProblem) in c.limits.requestsUnderWay = try v.integer(1...100_000)
        },
        .server(
            "limits.page_part", "size", "\"16KB\"",
            "Of a page of calls; each further one costs as much as a request."
        ) {
            c, v throws(LuaProblem) in c.limits.pagePart = try v.size(1_024...1 << 20)
        },
        .server(
            "limits.max_rate", "size", "\"4MB\"",
            "Of one user in a second; what is more is read later; 0: any."
        ) {
            c, v throws(LuaProblem) in c.limits.maxRate = try v.size(0...1 << 40)
        },
        .server(
            "limits.refusals_at_once", "integer", "32",
            "For the rate of a user in 20 ms; then their connections are not read."
        ) {
            c, v throws(LuaProblem) in c.limits.refusalsAtOnce = try v.integer(1...1_000_000)
        },
        .server(
            "limits.accepts_per_second", "integer", "2000", "Newcomers; more wait in the kernel."
        ) {
            c, v throws(LuaProblem) in c.limits.acceptsPerSecond = try v.integer(10...1_000_000)
        },
        .server("limits.newcomers", "integer", "2000", "Connections that have not said hello.") {
            c, v throws(LuaProblem) in c.limits.newcomers = try v.integer(1...10_000_000)
        },
        .server("limits.newcomers_per_address", "integer", "100", "The same of one address.") {
            c, v throws(LuaProblem) in
            c.limits.newcomersPerAddress = try v.integer(1...10_000_000)
        },
        .server("limits.auth_failures", "integer", "100", "Of one address in 30 s; more are late.")
        {
            c, v throws(LuaProblem) in c.limits.authFailures = try v.integer(0...1_000_000)
        },
        .server("limits.auth_delay", "duration", "\"5s\"", "How late.") {
            c, v throws(LuaProblem) in c.limits.authDelay = try v.duration(0...60_000)
        },
        .server("limits.tls_handshakes", "integer", "1000", "Under way; the oldest goes.") {
            c, v throws(LuaProblem) in c.limits.tlsHandshakes = try v.integer(1...1_000_000)
        },
        .server("limits.tls_time", "duration", "\"10s\"", "For a TLS handshake.") {
            c, v throws(LuaProblem) in c.limits.tlsTime = try v.duration(100...600_000)
        },
        .server("limits.request_time", "duration", "\"10s\"", "For a whole HTTP request.") {
            c, v throws(LuaProblem) in c.limits.requestTime = try v.duration(100...600_000)
        },
        .server("limits.hello_time", "duration", "\"5s\"", "For the first message.") {
            c, v throws(LuaProblem) in c.limits.helloTime = try v.duration(100...600_000)
        },
        .server("limits.message_time", "duration", "\"60s\"", "For a whole message.") {
            c, v throws(LuaProblem) in c.limits.messageTime = try v.duration(1_000...600_000)
        },
        .server("limits.min_rate", "size", "\"1KB\"", "Each second of a message under way; 0: any.")
        {
            c, v throws(LuaProblem) in c.limits.minRate = try v.size(0...1 << 20)
        },
        .server("limits.min_rate_time", "duration", "\"5s\"", "Over which that is measured.") {
            c, v throws(LuaProblem) in c.limits.minRateTime = try v.duration(500...600_000)
        },
        .server("limits.strangers", "size", "\"40MB\"", "Begun or unread by all strangers.") {
            c, v throws(LuaProblem) in c.limits.strangers = try v.size(65_536...1 << 40)
        },
        .server(
            "limits.strangers_buffer", "size", "\"128KB\"",
            "In the kernel, for a stranger who reads nothing."
        ) {
            c, v throws(LuaProblem) in c.limits.strangersBuffer = try v.size(4_096...1 << 30)
        },
        .server(
            "limits.unsent_answers", "size", "\"64KB\"",
            "Over HTTP; then no further request is looked at."
        ) {
            c, v throws(LuaProblem) in c.limits.unsentAnswers = try v.size(4_096...1 << 30)
        },
        .server(
            "limits.turn_messages", "integer", "32", "Of one connection, before others have theirs."
        ) {
            c, v throws(LuaProblem) in c.limits.turnMessages = try v.integer(1...1_000_000)
        },
        .server(
            "limits.turn_strangers", "duration", "\"1ms\"",
            "Of one turn, for all who have not said hello."
        ) {
            c, v throws(LuaProblem) in c.limits.turnStrangers = try v.duration(1...1_000)
        },
        .server(
            "limits.turn_newcomers", "integer", "16", "Let in, and ended in time, by one turn."
        ) {
            c, v throws(LuaProblem) in c.limits.turnNewcomers = try v.integer(1...100_000)
        },
        .server("limits.idle_time", "duration", "\"60s\"", "Idle connections over HTTP.") {
            c, v throws(LuaProblem) in c.limits.idleTime = try v.duration(1_000...86_400_000)
        },
        .server("limits.ping", "duration", "\"25s\"", "Between pings.") {
            c, v throws(LuaProblem) in c.limits.ping = try v.duration(1_000...600_000)
        },
        .server(
            "limits.silence", "duration", "\"33s\"",
            "Of a connection, before it ends; longer than `ping`."
        ) {
            c, v throws(LuaProblem) in c.limits.silence = try v.duration(2_000...1_200_000)
        },
        .server("limits.resume_time", "duration", "\"2m\"", "For coming back to a session.") {
            c, v throws(LuaProblem) in c.limits.resumeTime = try v.duration(0...86_400_000)
        },
        .server("limits.resume_events", "integer", "256", "Kept for coming back.") {
            c, v throws(LuaProblem) in c.limits.resumeEvents = try v.integer(0...100_000)
        },
        .server("limits.resume_bytes", "size", "\"256KB\"", "Kept for coming back.") {
            c, v throws(LuaProblem) in c.limits.resumeBytes = try v.size(0...1 << 30)
        },
    ]

    private static let rest: [ConfigurationField] = [
        .server("retention", "duration", "\"90d\"", "How long ended calls are kept.") {
            c, v throws(LuaProblem) in c.retention = try v.duration(0...Duration.longest)
        },
        .server("max_call_age", "duration", "\"24h\"", "Age at which a forgotten call ends.") {
            c, v throws(LuaProblem) in c.maxCallAge = try v.duration(60_000...Duration.longest)
        },
    ]

    private static let outbound: [ConfigurationField] = [
        .server("push.apns", "table", "none", "Apple: key, key_id, team_id, bundle_id.") {
            c, v throws(LuaProblem) in c.push.apns = try v.apns()
        },
        .server("push.fcm", "table", "none", "Google: account, the service account's file.") {
            c, v throws(LuaProblem) in c.push.fcm = try v.fcm()
        },
        .server("push.web", "table", "none", "Browsers: key (VAPID), subject, hosts, allow.") {
            c, v throws(LuaProblem) in c.push.web = try v.webPush()
        },
        .server("push.webhook", "table", "none", "A service of your own: url, secret.") {
            c, v throws(LuaProblem) in c.push.webhook = try v.pushGateway()
        },
        .server("webhooks", "list of receivers", "{}", "name, url, secret, events, allow of each.")
        {
            c, v throws(LuaProblem) in c.webhooks = try v.webhooks()
        },
    ]
}
