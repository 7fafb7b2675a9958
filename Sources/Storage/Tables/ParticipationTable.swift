// Which calls a user was in.

import CallModel
import StoreContract

/// The tables `participation` and `recent_participation`.
///
/// In order of users each row is in a page of its own, so that a row costs a search and a page of
/// the log. So the rows of one commit go into `recent_participation` first, as one row, and into
/// `participation` together with those of many other commits, where rows of a busy user share a
/// page.
final class ParticipationTable {
    private let connection: DatabaseConnection
    private let put: Statement
    /// The same for `manyCount` rows: to begin and to end a statement costs as much as a row does.
    private let putMany: Statement
    private static let manyCount = 16
    private let remove: Statement
    private let putRecent: Statement
    private let recent: Statement
    private let removeRecent: Statement
    /// What the transaction under way adds, as a row of `recent_participation`.
    private var added: [UInt8] = []
    private var addedCount = 0
    /// The number of participations in `recent_participation`.
    private var recentCount = 0

    init(_ connection: DatabaseConnection) throws(StoreError) {
        self.connection = connection
        put = try connection.prepare(
            "INSERT OR IGNORE INTO participation VALUES (?, ?)", for: "indexing a call")
        let rows = Array(repeating: "(?, ?)", count: Self.manyCount).joined(separator: ", ")
        putMany = try connection.prepare(
            "INSERT OR IGNORE INTO participation VALUES \(rows)", for: "indexing calls")
        remove = try connection.prepare(
            "DELETE FROM participation WHERE user = ? AND call = ?", for: "removing an old call")
        putRecent = try connection.prepare(
            "INSERT INTO recent_participation (participations) VALUES (?)",
            for: "indexing a call")
        recent = try connection.prepare(
            Participation.selectRecent, for: "reading the last indexed calls")
        removeRecent = try connection.prepare(
            "DELETE FROM recent_participation", for: "indexing calls")
        try recent.rows { (row) throws(StoreError) in
            try connection.participations(in: row) { _ in recentCount += 1 }
            return true
        }
    }

    /// `user` came into the call; stored by `finish`.
    func add(_ user: UserID, _ call: CallID) {
        Participation.write(user, call, to: &added)
        addedCount += 1
    }

    /// Stores what was added. At most `recentMax` participations wait for others afterwards.
    func finish(recentMax: Int) throws(StoreError) {
        guard addedCount > 0 else { return }
        try putRecent.run(.bytes(added))
        recentCount += addedCount
        added.removeAll(keepingCapacity: true)
        addedCount = 0
        if recentCount > recentMax { try merge() }
    }

    private func merge() throws(StoreError) {
        var (bytes, users): ([UInt8], [Range<Int>]) = ([], [])
        try recent.rows { (row) throws(StoreError) in
            let start = bytes.count
            bytes.append(contentsOf: row.raw(0))
            try connection.participations(in: row) { one in
                users.append(start + one.user.startIndex..<start + one.user.endIndex)
            }
            return true
        }
        let done = bytes.withUnsafeBytes { bytes in
            Result { () throws(StoreError) in try insert(users, of: bytes) }
        }
        try done.get()
        try removeRecent.run()
        recentCount = 0
    }

    /// Inserts participations: the ids of the users stand at `users` in `bytes`, each with that of
    /// the call behind it.
    private func insert(
        _ users: [Range<Int>], of bytes: UnsafeRawBufferPointer
    ) throws(StoreError) {
        var values: [SQLValue] = []
        for (place, user) in users.enumerated() {
            let call = user.upperBound..<user.upperBound + CallID.byteCount
            values.append(.writtenText(UnsafeRawBufferPointer(rebasing: bytes[user])))
            values.append(.written(UnsafeRawBufferPointer(rebasing: bytes[call])))
            if values.count == 2 * Self.manyCount {
                try putMany.run(with: values)
            } else if place >= users.count / Self.manyCount * Self.manyCount {
                try put.run(with: values)
            } else {
                continue
            }
            values.removeAll(keepingCapacity: true)
        }
    }

    /// Deletes the participation of `user` in a call that is forgotten.
    func forget(_ user: UserID, _ call: CallID) throws(StoreError) {
        if recentCount > 0 { try merge() }
        try remove.run(.text(user.text), .id(call))
    }
}

/// A user and a call, where they stand in a row of `recent_participation`: the length of the user's
/// id, the id, and the 16 bytes of the call's, and behind them the next.
struct Participation {
    /// The bytes of the user's id.
    let user: Slice<UnsafeRawBufferPointer>
    private let callBytes: Slice<UnsafeRawBufferPointer>

    static let selectRecent = "SELECT participations FROM recent_participation ORDER BY place"

    /// The call; its id is made of the bytes only when it is asked for.
    var call: CallID { CallID(bytes: UnsafeRawBufferPointer(rebasing: callBytes)) }

    /// The one at `place`, which moves on to the next; nil where bytes are missing.
    init?(in bytes: UnsafeRawBufferPointer, at place: inout Int) {
        let end = place + 1 + Int(bytes[place])
        guard end + CallID.byteCount <= bytes.count else { return nil }
        user = bytes[place + 1..<end]
        callBytes = bytes[end..<end + CallID.byteCount]
        place = end + CallID.byteCount
    }

    /// Appends one.
    static func write(_ user: UserID, _ call: CallID, to bytes: inout [UInt8]) {
        bytes.append(UInt8(user.text.utf8.count))
        bytes.append(contentsOf: user.text.utf8)
        call.withBytes { bytes.append(contentsOf: $0) }
    }
}

extension DatabaseConnection {
    /// Hands what a row of `recent_participation` has to `body`.
    func participations(
        in row: Row, _ body: (Participation) throws(StoreError) -> Void
    ) throws(StoreError) {
        let bytes = row.raw(0)
        var place = 0
        while place < bytes.count {
            guard let next = Participation(in: bytes, at: &place) else {
                throw StoreError(
                    .damagedRecord, path: path, operation: "reading the last indexed calls",
                    detail: "a row of recent_participation is cut off")
            }
            try body(next)
        }
    }
}
