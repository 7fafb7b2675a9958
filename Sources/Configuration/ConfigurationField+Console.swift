// The names of callagent.lua for whoever looks after the server.

import Lua

extension ConfigurationField {
    static let console: [ConfigurationField] = [
        .server("console.listen", "address", "none", "Where people connect, with a token.") {
            c, v throws(LuaProblem) in c.console.made.listen = try v.address()
        },
        .server("console.tls", "table", "none", "cert and key, paths of PEM files.") {
            c, v throws(LuaProblem) in c.console.made.tls = try v.certificate()
        },
        .server("console.origins", "list of origins", "{}", "Other hosts that it may be named by.")
        {
            c, v throws(LuaProblem) in c.console.made.origins = try v.origins()
        },
        .server("console.connections", "integer", "100", "At once.") {
            c, v throws(LuaProblem) in c.console.made.connections = try v.integer(1...10_000)
        },
        .server("console.body", "size", "\"256KB\"", "Of one request.") {
            c, v throws(LuaProblem) in c.console.made.body = try v.size(4_096...16 << 20)
        },
        .server("console.audit", "size", "\"256MB\"", "Who changed what, the oldest go.") {
            c, v throws(LuaProblem) in c.console.made.audit = try v.size(1 << 20...1 << 28)
        },
        .server("journal.calls", "integer", "10000", "Ended calls whose journals are in memory.") {
            c, v throws(LuaProblem) in c.journal.calls = try v.integer(0...1_000_000)
        },
        .server("journal.memory", "size", "\"64MB\"", "All journals in memory.") {
            c, v throws(LuaProblem) in c.journal.memory = try v.size(1 << 20...1 << 36)
        },
        .server("journal.file", "size, or false", "\"256MB\"", "All files of it; false: none.") {
            c, v throws(LuaProblem) in
            c.journal.file = v == .bool(false) ? nil : try v.size(1 << 20...1 << 40)
        },
    ]
}

extension Configuration.Console? {
    /// The console, which is there from now on.
    fileprivate var made: Configuration.Console {
        get { self ?? Configuration.Console() }
        set { self = newValue }
    }
}

extension LuaValue {
    /// `{ cert = …, key = … }`.
    fileprivate func certificate() throws(LuaProblem) -> Configuration.TLS {
        guard let pairs = table, pairs.count == 2 else { throw wrong("a table of cert and key") }
        return Configuration.TLS(
            certificate: try self["cert"].string(), key: try self["key"].string())
    }
}
