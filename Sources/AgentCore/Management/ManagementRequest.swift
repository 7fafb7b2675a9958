// Requests of the management API: checked once, by the rows of their operations.

import CallModel
import JSON
import WebProtocols

/// A request of the management API whose parameters are what its row says.
public struct ManagementRequest: Sendable {
    /// What is asked.
    public let operation: ManagementOperation
    /// Who asks.
    public let identity: ManagementIdentity
    private let values: [String: String]
    private let objects: [String: JSONObject]

    /// Reads a request.
    ///
    /// - Throws: `not_found` where there is no such path, `unsupported` for another method,
    ///   `forbidden` where the role is too low, `bad_request` with the name of the parameter.
    public init(
        _ request: HTTPRequest, by identity: ManagementIdentity
    ) throws(Refusal) {
        let path = request.target.rawPath
        let found = ManagementOperation.all.filter { $0.matches(path) != nil }
        guard !found.isEmpty else {
            throw Refusal(.notFound, "no such resource: \(path)")
        }
        guard let operation = found.first(where: { $0.method == request.method }) else {
            let allowed = ManagementOperation.methods(at: path).joined(separator: ", ")
            throw Refusal(.unsupported, "only \(allowed) is allowed")
        }
        guard operation.role == .viewer || identity.role == .operator else {
            throw Refusal(.forbidden, "\(operation.name.rawValue) is for operators")
        }
        self.operation = operation
        self.identity = identity
        var values = operation.matches(path) ?? [:]
        var objects: [String: JSONObject] = [:]
        for (name, value) in try Self.given(request, for: operation) {
            guard values[name] == nil, objects[name] == nil, let found = operation.parameter(name)
            else { throw .bad(name, "is unknown or there twice") }
            switch value {
            case .text(let text): values[found.name] = text
            case .object(let object): objects[found.name] = object
            }
        }
        for parameter in operation.parameters {
            guard let value = values[parameter.name] else {
                if operation.hasInPath(parameter.name) { throw .bad(parameter.name, "is missing") }
                continue
            }
            if let problem = parameter.problem(with: value) { throw .bad(parameter.name, problem) }
        }
        self.values = values
        self.objects = objects
    }

    private enum Given {
        case text(String)
        case object(JSONObject)
    }

    /// What stands in the query of a `GET`, in the body of others.
    private static func given(
        _ request: HTTPRequest, for operation: ManagementOperation
    ) throws(Refusal) -> [(String, Given)] {
        if request.method == .get {
            return request.target.query.map { ($0.name, .text($0.value)) }
        }
        if let first = request.target.query.first { throw .bad(first.name, "belongs in the body") }
        if request.body.isEmpty { return [] }
        let limits = JSONLimits(bytes: request.body.count)
        guard
            let members = (try? JSONValue(parsing: request.body, limits: limits))?.object?.members
        else { throw Refusal(.badRequest, "the body is no JSON object") }
        var given: [(String, Given)] = []
        for member in members where member.value != .null {
            if case .object? = operation.parameter(member.key)?.kind {
                guard let object = member.value.object else {
                    throw .bad(member.key, "is a JSON object")
                }
                given.append((member.key, .object(object)))
                continue
            }
            guard let text = member.value.string ?? member.value.integer.map({ "\($0)" }) else {
                throw .bad(member.key, "is text or a whole number")
            }
            given.append((member.key, .text(text)))
        }
        return given
    }

    /// The text of a parameter; nil: it was not given.
    public func text(_ name: String) -> String? { values[name] }
    /// The number of a parameter, at most what its row says.
    public func integer(_ name: String) -> Int? {
        guard let number = values[name].flatMap({ Int($0) }) else { return nil }
        switch operation.parameter(name)?.kind {
        case .count(let most)?, .number(let most)?: return Int(min(Int64(number), most))
        default: return number
        }
    }
    /// The object of a parameter; nil: it was not given.
    public func object(_ name: String) -> JSONObject? { objects[name] }
    /// How many items a page has at most.
    public var limit: Int { integer("limit") ?? 50 }
    /// The moment of a parameter.
    public func moment(_ name: String) -> Moment? {
        integer(name).map { Moment(Int64($0)) }
    }
    /// The parameter `call_id`.
    public var callID: CallID? { values["call_id"].flatMap { CallID($0) } }
    /// The parameter `user`.
    public var user: UserID? { values["user"].flatMap { UserID(checking: $0) } }
    /// The parameter `device`.
    public var device: DeviceID? { values["device"].flatMap { DeviceID(checking: $0) } }
}

extension ManagementOperation {
    /// The methods that `path` has.
    public static func methods(at path: String) -> [String] {
        all.filter { $0.matches(path) != nil }.flatMap { row in
            row.method == .get ? ["GET", "HEAD"] : [row.method.rawValue]
        }
    }

    func parameter(_ name: String) -> ManagementParameter? {
        parameters.first { $0.name == name }
    }

    /// What stands for the parameters in `path`; nil: it is the path of something else. The first
    /// of two rows that match has the more exact path. Where nothing stands, the value is in the
    /// query or the body: browsers take the names `.` and `..` out of a path.
    fileprivate func matches(_ text: String) -> [String: String]? {
        let wanted = (Self.root + path).split(separator: "/")
        let given = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard given.count == wanted.count else { return nil }
        var values: [String: String] = [:]
        for (word, part) in zip(wanted, given) {
            if word.hasPrefix("{") {
                guard let value = HTTPTarget.decoded(part) else { return nil }
                if !value.isEmpty { values[String(word.dropFirst().dropLast())] = value }
            } else if word != part {
                return nil
            }
        }
        return values
    }

    /// The path with `values` in the place of its parameters, each percent-encoded.
    public func path(with values: [String: String]) -> String {
        let parts = path.split(separator: "/").map { part in
            guard part.hasPrefix("{") else { return String(part) }
            return HTTPTarget.encoded(values[String(part.dropFirst().dropLast())] ?? "")
        }
        return Self.root + "/" + parts.joined(separator: "/")
    }

    /// Whether the parameter `name` stands in the path.
    public func hasInPath(_ name: String) -> Bool { path.contains("{\(name)}") }
}

extension ManagementParameter {
    /// What is wrong with `value`; nil: nothing.
    fileprivate func problem(with value: String) -> String? {
        switch kind {
        case .callID: CallID(value) == nil ? "must be 32 lower-case hex digits" : nil
        case .user, .device:
            UserID(checking: value) == nil
                ? "must be 1-64 bytes of printable ASCII without space" : nil
        case .count: Int64(value).map { $0 < 1 } ?? true ? "must be a whole number from 1" : nil
        case .number: Int64(value).map { $0 < 0 } ?? true ? "must be a whole number from 0" : nil
        case .object: "must be a JSON object"
        case .word(let words):
            words.contains(value) ? nil : "must be one of \(words.joined(separator: ", "))"
        case .text(let most):
            (1...most).contains(value.utf8.count) ? nil : "must have 1-\(most) bytes"
        }
    }
}

extension Refusal {
    /// The parameter `name` is not what it must be.
    public static func bad(_ name: String, _ problem: String) -> Refusal {
        Refusal(.badRequest, "\(name) \(problem)", detail: .field(name))
    }
}
