// What people are called, in memory.

import CallModel
import StoreContract

/// What `NameTable` is on disk.
struct MemoryNames {
    private var names: [UserID: StoredName] = [:]
    /// Their ids in order, from when somebody reads page by page until a name comes or goes.
    private var order: [UserID]?

    mutating func apply(_ user: UserID, _ name: PersonName?, from origin: NameOrigin) {
        if let old = names[user], old.origin > origin { return }
        let isKnown = names[user] != nil
        names[user] = name.map { StoredName(user, $0, from: origin) }
        if isKnown != (name != nil) { order = nil }
    }

    mutating func page(after user: UserID?, limit: Int) -> [StoredName] {
        let order = order ?? names.keys.sorted()
        self.order = order
        let first = user.map { last in order.firstPlace { $0 > last } } ?? 0
        return order[first...].prefix(limit).compactMap { names[$0] }
    }
}
