// The records of a rig without a server.

import CallModel

/// Everything that `persist` made durable, where nothing is between the switchboard and its rig.
public struct RecordStore: Sendable {
    private var calls: [CallID: Call] = [:]
    private var keys: [KeyName: KeyRecord] = [:]
    private var keyOrder: [KeyMark] = []

    private struct KeyName: Hashable {
        let user: UserID
        let key: String
    }

    /// An empty store.
    public init() {}

    /// Makes `record` durable.
    public mutating func apply(_ record: Record) {
        switch record {
        case .call(let call): calls[call.id] = call
        case .key(let record):
            keys[KeyName(user: record.user, key: record.key.text)] = record
            keyOrder.append(
                KeyMark(
                    user: record.user, key: record.key.text, bodyHash: record.key.bodyHash,
                    at: record.at))
        case .push, .registration, .name: break
        }
    }

    /// The call `id`.
    public subscript(id: CallID) -> Call? { calls[id] }

    /// What is kept under a user's key.
    public func kept(_ user: UserID, _ key: String) -> KeyRecord? {
        keys[KeyName(user: user, key: key)]
    }

    /// What a start restores.
    public var restored: Restored {
        var restored = Restored()
        restored.calls = calls.values.filter(\.isLive).sorted { $0.id < $1.id }
        restored.keys = keyOrder
        return restored
    }

    /// A page of the calls of `user`, newest first, and whether there are more.
    public func page(_ query: ListQuery, for user: UserID) -> (calls: [Call], more: Bool) {
        let found = calls.values.filter { query.matches($0, user) }.sorted { $0.id > $1.id }
        return (Array(found.prefix(query.limit)), found.count > query.limit)
    }
}

extension ListQuery {
    /// Whether `call` belongs into the answer to `user`.
    fileprivate func matches(_ call: Call, _ user: UserID) -> Bool {
        guard let participant = call.participant(user), participant.isVisible else { return false }
        if let before, call.id >= before { return false }
        if let state, call.state != state { return false }
        if let role, participant.role != role { return false }
        if let reason = call.end?.reason {
            if !endReasons.isEmpty, !endReasons.contains(reason) { return false }
        } else if !endReasons.isEmpty {
            return false
        }
        if let kind, call.kind != kind { return false }
        if let peer, call.participant(peer) == nil { return false }
        if let since, call.createdAt < since { return false }
        if let until, call.createdAt >= until { return false }
        return true
    }
}
