// What a plugin waits for, in words: the same words whenever the same is asked for.

import CallModel
import WebProtocols

extension WaitRequest {
    /// `users.get carol`, `kv.get k`, `http.get https://host/path #a1b2c3d4e5f6`. What may be
    /// secret (a query, headers, a body) is there as a digest only.
    package var words: String {
        switch self {
        case .lookUp(let user, _): "users.get \(user)"
        case .call(let call): "call \(call)"
        case .store(let request): request.words
        case .fetch(let request): request.words
        }
    }
}

extension StoreRequest {
    fileprivate var words: String {
        switch self {
        case .get(let key): "kv.get \(key)"
        case .set(let key, _, _): "kv.set \(key)"
        case .increment(let key, _, _): "kv.incr \(key)"
        case .delete(let key): "kv.delete \(key)"
        case .keys(let prefix): "kv.keys \(prefix)"
        }
    }
}

extension FetchRequest {
    fileprivate var words: String {
        var all = Array(url.utf8)
        for header in headers { all += Array("\n\(header.name): \(header.value)".utf8) }
        all += [0] + body
        let place = url.prefix { $0 != "?" && $0 != "#" }
        return "http.\(method.lowercased()) \(place) #\(Fingerprint.of(all))"
    }
}

extension Operation {
    /// The method of a call that a script used, with the call.
    package var words: String {
        guard case .call(let id, let action, _) = self else { return "operation" }
        return "call:\(action.method) \(id)"
    }
}

extension CallAction {
    /// The method of a call in Lua: the last word of the operation's name, unless it has one of
    /// its own.
    package var method: String {
        switch self {
        case .add: "invite"
        case .items: "set_items"
        case .end, .finish: "finish"
        default: "\(name.rawValue.split(separator: ".").last ?? "operation")"
        }
    }
}
