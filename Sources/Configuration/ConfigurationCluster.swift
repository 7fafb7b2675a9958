// What the operator decides about several machines (`cluster` of callagent.lua).

import CallModel
import Lua

extension Configuration {
    /// One node of several machines with one database.
    public struct Cluster: Sendable, Equatable {
        /// A connection string of libpq.
        public var database = Secret("")
        /// The node's name; nil: the machine's.
        public var node: String?
        /// Whether it may own; false: it only serves clients for the owner.
        public var isEligible = true
        /// How often the owner beats.
        public var beat: Milliseconds = 500
        /// How long a beat must stand still before another node takes over.
        public var lease: Milliseconds = 2_500
        /// How long a start waits for the database.
        public var startWithin: Milliseconds = 60_000

        /// Where other nodes reach it; nil: they do not, and it serves nobody while another owns.
        public var link: String?
        /// Where it listens for them; nil: at `link`.
        public var bind: String?
        /// PEM files of the authority that signs the nodes' certificates, and of this node's own.
        public var authority: String?
        /// The node's own certificate in PEM.
        public var certificate: String?
        /// Its private key in PEM.
        public var key: Secret?
        /// Bytes that may wait for another node to read.
        public var linkBuffer = 8 << 20
        /// A link over which nothing came for so long is broken.
        public var linkSilence: Milliseconds = 2_000
        /// How long clients in no call are kept while nobody owns.
        public var keepClients: Milliseconds = 10_000

        /// The defaults, without a database.
        public init() {}
    }
}

extension ConfigurationField {
    static let cluster: [ConfigurationField] = [
        .server(
            "cluster.database", "connection string", "none",
            "PostgreSQL that several nodes share; write it as a secret."
        ) {
            c, v throws(LuaProblem) in
            let text = try v.string()
            guard !text.isEmpty else { throw LuaProblem("it is empty") }
            try c.node { $0.database = Configuration.Secret(text) }
        },
        .server("cluster.node", "name", "the machine's", "This node; each has another one.") {
            c, v throws(LuaProblem) in
            let name = try v.string()
            guard (1...64).contains(name.utf8.count),
                name.allSatisfy({
                    $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0))
                }), name.first?.isLetter == true || name.first?.isNumber == true
            else {
                // Tools take a name that begins with '-' for an option.
                throw LuaProblem(
                    "1 to 64 letters, digits, '-', '.' and '_', a letter or digit first")
            }
            try c.node { $0.node = name }
        },
        .server("cluster.eligible", "boolean", "true", "Whether this node may own.") {
            c, v throws(LuaProblem) in
            let may = try v.boolean()
            try c.node { $0.isEligible = may }
        },
        .server("cluster.beat", "duration", "\"500ms\"", "How often the owner shows that it lives.")
        {
            c, v throws(LuaProblem) in
            let time = try v.duration(50...60_000)
            try c.node { $0.beat = time }
        },
        .server(
            "cluster.lease", "duration", "\"2500ms\"", "Silence after which another takes over."
        ) {
            c, v throws(LuaProblem) in
            let time = try v.duration(1_000...600_000)
            try c.node { $0.lease = time }
        },
        .server("cluster.link", "address", "none", "Where other nodes reach it.") {
            c, v throws(LuaProblem) in
            let text = try v.address()
            try c.node { $0.link = text }
        },
        .server("cluster.bind", "address", "link", "Where it listens for other nodes.") {
            c, v throws(LuaProblem) in
            let text = try v.address()
            try c.node { $0.bind = text }
        },
        .server("cluster.ca", "path", "none", "Who signs the nodes' certificates (PEM).") {
            c, v throws(LuaProblem) in
            let path = try v.string()
            try c.node { $0.authority = path }
        },
        .server("cluster.cert", "path", "none", "Its certificate, for the name of the node (PEM).")
        {
            c, v throws(LuaProblem) in
            let path = try v.string()
            try c.node { $0.certificate = path }
        },
        .server("cluster.key", "PEM", "none", "Its private key; write it as a secret.") {
            c, v throws(LuaProblem) in
            let text = try v.string()
            try c.node { $0.key = Configuration.Secret(text) }
        },
        .server(
            "cluster.link_buffer", "size", "\"8MB\"", "Waiting for another node to read."
        ) {
            c, v throws(LuaProblem) in
            let size = try v.size(1 << 20...1 << 30)
            try c.node { $0.linkBuffer = size }
        },
        .server(
            "cluster.link_silence", "duration", "\"2s\"", "A link so silent is broken."
        ) {
            c, v throws(LuaProblem) in
            let time = try v.duration(200...60_000)
            try c.node { $0.linkSilence = time }
        },
        .server(
            "cluster.keep_clients", "duration", "\"10s\"",
            "Clients in no call are kept while nobody owns."
        ) {
            c, v throws(LuaProblem) in
            let time = try v.duration(0...600_000)
            try c.node { $0.keepClients = time }
        },
        .server("cluster.start_within", "duration", "\"60s\"", "How long a start waits for it.") {
            c, v throws(LuaProblem) in
            let time = try v.duration(0...86_400_000)
            try c.node { $0.startWithin = time }
        },
    ]
}

extension ServerPart {
    fileprivate mutating func node(
        _ change: (inout Configuration.Cluster) throws(LuaProblem) -> Void
    ) throws(LuaProblem) {
        var one = cluster ?? Configuration.Cluster()
        try change(&one)
        cluster = one
    }
}

extension Configuration.Cluster {
    /// Why links make no sense like that; nil: they do.
    var linkProblem: String? {
        let parts = [authority, certificate, key?.text].compactMap { $0 }.count
        guard parts == 0 || parts == 3 else { return "ca, cert and key belong together" }
        guard link != nil else {
            return bind == nil && parts == 0 ? nil : "link is missing"
        }
        let isFar = [link, bind].compactMap { $0 }.contains { !Self.isLoopback($0) }
        guard !isFar || parts == 3 else {
            return "link: ca, cert and key are needed beyond loopback"
        }
        return nil
    }

    private static func isLoopback(_ address: String) -> Bool {
        ["127.", "localhost:", "[::1]:", "unix:"].contains { address.hasPrefix($0) }
    }
}
