// The requests of a client that have no answer yet.

import CallModel
import CallWire
import JSON

/// What a request asks for, kept so that it can be asked again.
enum Asked {
    case operation(Operation)
    case named(String, JSONValue)

    var isReading: Bool {
        switch self {
        case .operation(let operation): operation.isReading
        case .named: false
        }
    }

    /// The name on the wire.
    var name: String {
        switch self {
        case .operation(let operation): operation.name.rawValue
        case .named(let name, _): name
        }
    }

    /// Why it is not sent at all; a name that this client does not know is for the server to judge.
    var refusal: Refusal? {
        switch self {
        case .operation: nil
        case .named(let name, let data): OperationName(rawValue: name)?.refusal(of: data)
        }
    }
}

/// One request and its completion.
struct OpenRequest {
    let asked: Asked
    let key: String?
    /// When the completion is called at the latest.
    let deadline: Int64
    /// When it is asked again, because the server was busy.
    var repeatAt: Int64?
    let completion: (Result<JSONValue, RequestFailure>) -> Void

    /// Whether sending it twice does no harm.
    var mayRepeat: Bool { key != nil || asked.isReading }
    /// The moment at which something must be done about it.
    var due: Int64 { min(deadline, repeatAt ?? deadline) }
}

/// All of them, by the number under which each was sent last.
struct OpenRequests {
    private var byID: [Int64: OpenRequest] = [:]

    var isEmpty: Bool { byID.isEmpty }
    /// When `takeDue` has something to give.
    var nextDue: Int64? { byID.values.lazy.map(\.due).min() }

    mutating func add(_ request: OpenRequest, as id: Int64) { byID[id] = request }

    mutating func remove(_ id: Int64) -> [OpenRequest] {
        byID.removeValue(forKey: id).map { [$0] } ?? []
    }

    /// Takes out all of them, the earliest first.
    mutating func removeAll() -> [OpenRequest] {
        defer { byID = [:] }
        return byID.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Takes out those for which it is time, the earliest first.
    mutating func takeDue(at now: Int64) -> [(id: Int64, request: OpenRequest)] {
        let due = byID.filter { $0.value.due <= now }.sorted { $0.key < $1.key }
        for (id, _) in due { byID[id] = nil }
        return due.map { (id: $0.key, request: $0.value) }
    }
}
