// Which calls a user was in.

import CallModel

/// The tables `participation` and `recent_participation`.
///
/// In order of users each row stands at a place of its own, so that a row costs a search and a page
/// of the log. Hence those of one commit go into `recent_participation` first, as one row, and into
/// `participation` together with those of many others, where a busy user's share a page.
final class ParticipationTable {
    private let put: Statement
    private let remove: Statement
    private let putRecent: Statement
    private let removeRecent: Statement
    /// What the transaction under way adds.
    private var added = ParticipationBytes()
    /// What `recent_participation` has.
    private var recent = ParticipationBytes()

    init(_ connection: Connection) throws(StoreError) {
        put = try connection.prepare(
            "INSERT OR IGNORE INTO participation VALUES (?, ?)", for: "indexing a call")
        remove = try connection.prepare(
            "DELETE FROM participation WHERE user = ? AND call = ?", for: "removing an old call")
        putRecent = try connection.prepare(
            "INSERT INTO recent_participation (participations) VALUES (?)",
            for: "indexing a call")
        removeRecent = try connection.prepare(
            "DELETE FROM recent_participation", for: "indexing calls")
        let all = try connection.prepare(
            ParticipationBytes.selectRecent, for: "reading the last indexed calls")
        try all.rows { (row) throws(StoreError) in
            let bytes = row.raw(0)
            var place = 0
            while let next = ParticipationBytes.next(in: bytes, at: &place) {
                recent.append(next.user, next.call)
            }
            guard place == bytes.count else { throw connection.cutOff }
            return true
        }
    }

    /// `user` came into the call; stored by `finish`.
    func add(_ user: UserID, _ call: CallID) {
        added.append(user.text.utf8, call)
    }

    /// Stores what was added. At most `recentMax` participations wait for others afterwards.
    func finish(recentMax: Int) throws(StoreError) {
        guard added.count > 0 else { return }
        recent.append(added)
        if recent.count > recentMax {
            try merge()
        } else {
            try putRecent.run(.bytes(added.bytes))
        }
        added.removeAll()
    }

    private func merge() throws(StoreError) {
        var place = 0
        while let next = ParticipationBytes.next(in: recent.bytes, at: &place) {
            try put.run(.text(String(decoding: next.user, as: UTF8.self)), .id(next.call))
        }
        try removeRecent.run()
        recent.removeAll()
    }

    /// The call is forgotten, and so is that `user` was in it.
    func forget(_ user: UserID, _ call: CallID) throws(StoreError) {
        if recent.count > 0 { try merge() }
        try remove.run(.text(user.text), .id(call))
    }
}

/// Users and calls that they are in, one behind the other: the length of the user's id, the id, and
/// the 16 bytes of the call's.
struct ParticipationBytes {
    private(set) var bytes: [UInt8] = []
    private(set) var count = 0

    static let selectRecent = "SELECT participations FROM recent_participation ORDER BY place"

    mutating func append(_ user: some Collection<UInt8>, _ call: CallID) {
        bytes.append(UInt8(user.count))
        bytes.append(contentsOf: user)
        withUnsafeBytes(of: (call.high.bigEndian, call.low.bigEndian)) {
            bytes.append(contentsOf: $0)
        }
        count += 1
    }

    mutating func append(_ others: ParticipationBytes) {
        bytes += others.bytes
        count += others.count
    }

    /// Takes all out and keeps the memory.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        count = 0
    }

    /// The one at `place`, which moves on to the next; nil at the end, and where bytes are missing,
    /// before the end.
    static func next<Bytes: RandomAccessCollection<UInt8>>(
        in bytes: Bytes, at place: inout Int
    ) -> (user: Bytes.SubSequence, call: CallID)? where Bytes.Index == Int {
        guard place < bytes.count else { return nil }
        let end = place + 1 + Int(bytes[place])
        guard end + 16 <= bytes.count else { return nil }
        let half = { (from: Int) in
            bytes[from..<from + 8].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        }
        defer { place = end + 16 }
        return (bytes[place + 1..<end], CallID(high: half(end), low: half(end + 8)))
    }
}

extension ParticipationBytes {
    /// The calls that `user` is in, of which there are few among all that are passed over; nil:
    /// bytes are missing at the end.
    static func calls(of user: [UInt8], in bytes: UnsafeRawBufferPointer) -> [CallID]? {
        var calls: [CallID] = []
        var place = 0
        while place < bytes.count {
            let start = place + 1
            let end = start + Int(bytes[place])
            guard end + 16 <= bytes.count else { return nil }
            if end - start == user.count, bytes[start..<end].elementsEqual(user) {
                var place = place
                if let found = next(in: bytes, at: &place) { calls.append(found.call) }
            }
            place = end + 16
        }
        return calls
    }
}

extension Connection {
    /// The error for a row of `recent_participation` of which bytes are missing.
    var cutOff: StoreError {
        StoreError(
            .damagedRecord, path: path, operation: "reading the last indexed calls",
            detail: "a row of recent_participation is cut off")
    }
}
