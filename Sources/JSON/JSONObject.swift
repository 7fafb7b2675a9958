// The members of a JSON object, in order.

/// An object: members in the order in which they were written, each name once.
public struct JSONObject: Sendable {
    /// One name and its value.
    public struct Member: Sendable, Equatable {
        /// The name.
        public let key: String
        /// What stands under it.
        public var value: JSONValue

        /// A member.
        public init(key: String, value: JSONValue) {
            self.key = key
            self.value = value
        }

        /// Whether both are the same member; names are compared byte for byte.
        public static func == (a: Member, b: Member) -> Bool {
            JSONObject.isSame(a.key, b.key) && a.value == b.value
        }
    }

    /// The members in order. No two have the same name.
    public private(set) var members: [Member]

    /// An object without members.
    public init() { members = [] }

    /// An object of `members`; of equal names the first gives the place and the last the value.
    public init(_ members: [Member]) {
        self.members = members.count <= 32 ? Self.merge(members) : Self.mergeMany(members)
    }

    /// How many members there are.
    public var count: Int { members.count }

    /// The value under `key`. Setting nil removes the member, a new name goes to the end.
    public subscript(key: String) -> JSONValue? {
        get { index(of: key).map { members[$0].value } }
        set {
            switch (index(of: key), newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(key: key, value: value))
            case (nil, nil): break
            }
        }
    }

    /// The members sorted by the UTF-8 bytes of their names.
    public var sortedMembers: [Member] {
        members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }

    private func index(of key: String) -> Int? { Self.index(of: key, in: members) }

    private static func index(of key: String, in members: [Member]) -> Int? {
        members.firstIndex { isSame($0.key, key) }
    }

    /// Whether two names have the same bytes. Equal texts may have others (an accent of its own or
    /// not), but to find that texts differ is quick: most names do.
    private static func isSame(_ a: String, _ b: String) -> Bool {
        guard a.utf8.count == b.utf8.count, a == b else { return false }
        let isSame = a.utf8.withContiguousStorageIfAvailable { a in
            b.utf8.withContiguousStorageIfAvailable { b in a.elementsEqual(b) }
        }
        return (isSame ?? nil) ?? a.utf8.elementsEqual(b.utf8)
    }

    private static func merge(_ members: [Member]) -> [Member] {
        var merged: [Member] = []
        merged.reserveCapacity(members.count)
        for member in members {
            if let index = index(of: member.key, in: merged) {
                merged[index] = member
            } else {
                merged.append(member)
            }
        }
        return merged
    }

    /// The same by sorting, so that an object of thousands of names does not cost their square.
    private static func mergeMany(_ members: [Member]) -> [Member] {
        let order = members.indices.sorted { a, b in
            let (left, right) = (members[a].key.utf8, members[b].key.utf8)
            if isSame(members[a].key, members[b].key) { return a < b }
            return left.lexicographicallyPrecedes(right)
        }
        var merged: [Member?] = members
        var place = order[0]
        for index in order.dropFirst() {
            if isSame(members[index].key, members[place].key) {
                merged[place] = members[index]
                merged[index] = nil
            } else {
                place = index
            }
        }
        return merged.compactMap { $0 }
    }
}

extension JSONObject: Equatable {
    /// Whether both have equal members, in any order.
    public static func == (a: JSONObject, b: JSONObject) -> Bool {
        a.count == b.count && (a.members == b.members || a.sortedMembers == b.sortedMembers)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// An object; of equal names the last one counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements.map { Member(key: $0.0, value: $0.1) })
    }
}
