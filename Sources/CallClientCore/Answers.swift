// What requests are answered with, as values.

import CallModel
import CallWire
import JSON

/// The answer to an operation that names users: to invite, to add, to cancel.
public struct Invited: Sendable, Equatable {
    /// The call as it is now.
    public let call: Call
    /// For whom it was not carried out, and why.
    public let errors: [InviteeError]
}

/// The named texts of a call after a change.
public struct ChangedItems: Sendable, Equatable {
    /// All that there are now.
    public let items: [Call.Item]
    /// The keys that the change touched.
    public let keys: [String]
}

/// What people are called.
public struct AskedNames: Sendable, Equatable {
    /// Those whose names the user may know.
    public let users: [NamedUser]
    /// Why nothing is told of the others.
    public let errors: [InviteeError]
}

/// A page of calls.
public struct ListedCalls: Sendable, Equatable {
    /// The newest first.
    public let calls: [Call]
    /// Where the next page begins; nil: this is the last one.
    public let cursor: CallID?
}

/// Answers as values.
enum Reading {
    typealias Answer = (Result<JSONValue, RequestFailure>) -> Void

    static let decoder = ServerMessageDecoder()

    /// A completion that reads `ok` before it goes on; nil: the answer lacks something.
    static func answer<Value>(
        _ read: @escaping (JSONValue) -> Value?,
        _ completion: @escaping (Result<Value, RequestFailure>) -> Void
    ) -> Answer {
        { result in
            completion(
                result.flatMap { ok in read(ok).map { .success($0) } ?? .failure(.unreadable) })
        }
    }

    static func nothing(_ ok: JSONValue) -> Void? { () }

    static func call(_ ok: JSONValue) -> Call? { decoder.call(ok["call"]) }

    static func invited(_ ok: JSONValue) -> Invited? {
        call(ok).map { call in
            let errors = ok["errors"]?.array ?? []
            return Invited(call: call, errors: errors.compactMap { InviteeError($0) })
        }
    }

    static func changedItems(_ ok: JSONValue) -> ChangedItems? {
        guard let items = decoder.items(ok["items"]), let keys = ok["keys"]?.array else {
            return nil
        }
        return ChangedItems(items: items, keys: keys.compactMap(\.string))
    }

    static func token(_ ok: JSONValue) -> JSONValue? { ok["token"] }

    static func names(_ ok: JSONValue) -> AskedNames? {
        guard let users = ok["users"]?.array else { return nil }
        return AskedNames(
            users: users.compactMap { NamedUser($0) },
            errors: (ok["errors"]?.array ?? []).compactMap { InviteeError($0) })
    }

    static func listed(_ ok: JSONValue) -> ListedCalls? {
        ok["calls"]?.array.map { calls in
            ListedCalls(
                calls: calls.compactMap { decoder.call($0) },
                cursor: ok["cursor"]?.string.flatMap { CallID($0) })
        }
    }
}
