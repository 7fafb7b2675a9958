// Where the database is, as the operator writes it, and how it may be spoken of.

import CPostgres
import Glibc
import StoreContract

/// A connection string of libpq: `host=db user=callagent …` or `postgresql://…`.
///
/// It may hold a password, so only `name` is ever shown.
public struct DatabaseAddress: Sendable {
    /// The string itself.
    let text: String
    /// Where the database is, without user and password: `postgresql://host:port/name`.
    public let name: String
    /// What libpq is told before the string, which may say otherwise.
    let defaults: [(keyword: String, value: String)]
    /// What keeps others on the way from listening or answering instead of the database.
    public let protection: Protection

    /// How a connection is protected.
    public enum Protection: Sendable, Equatable {
        /// It does not leave this machine.
        case local
        /// Encrypted, and the server's certificate and name are checked.
        case verified
        /// Less than that, because the string says so: its `sslmode`.
        case weaker(String)
    }

    /// The address `text`.
    ///
    /// - Throws: when libpq is not there, or cannot read the string. Nothing of the string is part
    ///   of the error.
    public init(_ text: String) throws(StoreError) {
        let given = try Self.parse(text)
        let host =
            given["hostaddr"] ?? Self.variable("PGHOSTADDR") ?? given["host"]
            ?? Self.variable("PGHOST") ?? ""
        // A service names its host in a file of libpq's, and that may be anywhere.
        let hasService = (given["service"] ?? Self.variable("PGSERVICE")) != nil
        let port = given["port"] ?? Self.variable("PGPORT") ?? "5432"
        let database = given["dbname"] ?? Self.variable("PGDATABASE") ?? given["user"] ?? ""
        self.text = text
        name = "postgresql://\(host.isEmpty ? "local" : host):\(port)/\(database)"
        let mode = given["sslmode"] ?? Self.variable("PGSSLMODE")
        let isLocal = !hasService && host.split(separator: ",").allSatisfy(Self.isLocal)
        switch mode {
        case _ where isLocal: protection = .local
        case nil, "verify-full": protection = .verified
        case let weaker?: protection = .weaker(weaker)
        }
        var defaults = Self.always
        if mode == nil, !isLocal { defaults.append(("sslmode", "verify-full")) }
        self.defaults = defaults
    }

    /// A peer behind a black hole is noticed by the system too, not only by the timer of each turn.
    private static let always: [(keyword: String, value: String)] = [
        ("application_name", "callagent"), ("client_encoding", "UTF8"), ("keepalives", "1"),
        ("keepalives_idle", "1"), ("keepalives_interval", "1"), ("keepalives_count", "2"),
        ("tcp_user_timeout", "2000"), ("target_session_attrs", "read-write"),
    ]

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    private static func isLocal(_ host: Substring) -> Bool {
        // `127.example.org` is a name.
        let isAddress = host.allSatisfy { $0 == "." || ("0"..."9").contains($0) }
        return host.hasPrefix("/") || host.hasPrefix("@") || host == "::1" || host == "localhost"
            || isAddress && host.hasPrefix("127.")
    }

    private static func parse(_ text: String) throws(StoreError) -> [String: String] {
        let library = try PostgresLibrary.functions()
        var problem: UnsafeMutablePointer<CChar>?
        guard let options = library.pointee.parse(text, &problem) else {
            // What libpq says quotes the string.
            library.pointee.free_memory(problem)
            throw StoreError(
                .other, path: "database", operation: "reading its address",
                detail: "it is no connection string, such as \"host=db dbname=callagent\"")
        }
        defer { library.pointee.free_options(options) }
        var given: [String: String] = [:]
        var place = options
        while let keyword = place.pointee.keyword {
            if let value = place.pointee.val {
                given[String(cString: keyword)] = String(cString: value)
            }
            place += 1
        }
        return given
    }
}

/// The functions of libpq, loaded when they are first needed.
enum PostgresLibrary {
    /// All functions.
    ///
    /// - Throws: when there is no libpq, or one that is too old.
    static func functions() throws(StoreError) -> UnsafePointer<cpostgres_functions> {
        guard let functions = cpostgres_load() else {
            throw StoreError(
                .other, path: "database", operation: "loading libpq",
                detail: "\(String(cString: cpostgres_problem())); install libpq5")
        }
        return functions
    }
}
