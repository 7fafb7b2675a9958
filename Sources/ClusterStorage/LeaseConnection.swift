// Carries out what a lease wants, on a connection of its own.

import CallModel
import ClusterCore
import StoreContract

/// What a node writes about itself with every order.
public struct NodeNote: Sendable, Equatable {
    /// Its name.
    public let name: String
    /// The machine and the process, for people.
    public let process: String
    /// The version of the program.
    public let program: String
    /// A digest of each setting that should be the same on all nodes, by its name.
    public var settings: [String: String]
    /// Where other nodes reach it; empty: they do not.
    public var link: String
    /// Whether it may own.
    public var isEligible = true
    /// The nodes to which it has a link, in order.
    public var links: [String] = []
    /// The nodes that it reaches over the network, beside the owner, in order.
    public var sees: [String] = []
    /// The digest of the certificate that it shows over links; empty: it shows none.
    public var fingerprint: [UInt8] = []
    /// The generation that it has loaded; empty: none.
    public var generation = ""
    /// Why it may not own although its file says so; empty: it may.
    public var whyNot = ""

    /// The node `name`.
    public init(
        _ name: String, process: String, program: String, settings: [String: String] = [:],
        link: String = ""
    ) {
        (self.name, self.process, self.program) = (name, process, program)
        (self.settings, self.link) = (settings, link)
    }

    /// The digests as they are stored: a line each.
    var settingsText: String {
        settings.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            .joined(separator: "\n")
    }

    /// Names as they are stored: a line each.
    static func text(_ names: [String]) -> String { names.joined(separator: "\n") }

    static func names(_ text: String) -> [String] {
        text.split(separator: "\n").map { String($0) }
    }

    static func settings(_ text: String) -> [String: String] {
        var found: [String: String] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1)
            if words.count == 2 { found[String(words[0])] = String(words[1]) }
        }
        return found
    }
}

/// Where a node is reached, and how it is known there.
public struct NodePlace: Sendable, Equatable {
    /// Empty: nowhere.
    public var link = ""
    /// The digest of the certificate that it shows; empty: it shows none.
    public var fingerprint: [UInt8] = []

    /// Nowhere.
    public init() {}

    /// A node that is reached at `link` and shows a certificate with this digest.
    public init(link: String, fingerprint: [UInt8]) {
        (self.link, self.fingerprint) = (link, fingerprint)
    }
}

/// The connection over which a node beats and looks. Used by one thread at a time; opened again
/// by itself after a failure.
public final class LeaseConnection {
    private let address: DatabaseAddress
    private let space: String
    /// What it writes about itself with the next order.
    public var note: NodeNote
    private let patience: Milliseconds
    private let silence: Milliseconds
    private var open: (link: PostgresConnection, space: Space)?
    /// Why the last order failed; nil: it did not.
    public private(set) var trouble: StoreError?
    /// All nodes, as they were when this node looked last.
    public private(set) var nodes: [ClusterNodeState] = []
    /// Where the owner was reached when this node looked last.
    public private(set) var ownerPlace = NodePlace()
    /// The generation in force when this node looked last; empty: there is none.
    public private(set) var generation = ""

    /// Connects with the first order.
    ///
    /// - Parameter silence: how long a living node may say nothing.
    public init(
        to address: DatabaseAddress, of note: NodeNote, in space: String = Space.usual,
        patience: Milliseconds = 2_000, silence: Milliseconds = 3_000
    ) {
        (self.address, self.note, self.space) = (address, note, space)
        (self.patience, self.silence) = (patience, silence)
    }

    private static let beat = PostgresStatement(
        "beat",
        """
        UPDATE beat SET beat = beat + 1 WHERE space = $1 AND EXISTS
        (SELECT 1 FROM space WHERE id = $1 AND epoch = $2 AND token = $3) RETURNING wish
        """)
    // A takeover that went through has ended every transaction of the owner before: each holds the
    // row until its end.
    private static let take = PostgresStatement(
        "take_lease",
        """
        WITH taken AS (UPDATE space SET epoch = epoch + 1, owner = $2, token = $3,
        released = false, successor = ''
        WHERE id = $1 AND epoch = $4 AND token = $5 AND released = ($6::bigint = 1)
        AND successor = $7 AND importing IS NULL
        AND (owner = $2 OR $8::bigint = (SELECT beat FROM beat WHERE space = $1))
        RETURNING epoch, owner), noted AS (UPDATE beat SET wish = NULL
        WHERE space = $1 AND EXISTS (SELECT 1 FROM taken))
        INSERT INTO term (space, epoch, owner) SELECT $1, epoch, owner FROM taken
        RETURNING epoch
        """)
    private static let release = PostgresStatement(
        "release",
        """
        UPDATE space SET released = true, successor = $4
        WHERE id = $1 AND epoch = $2 AND token = $3 RETURNING epoch
        """)
    private static let noteNode = PostgresStatement(
        "note_node",
        """
        INSERT INTO node (space, name, process, program, at, settings, link, links, eligible,
        generation, why_not, fingerprint, tables, sees)
        VALUES ($1, $2, $3, $4, clock_timestamp(), $5, $6, $7, $8::bigint = 1, $9, $10, $11, $12,
        $13)
        ON CONFLICT (space, name) DO UPDATE SET process = excluded.process,
        program = excluded.program, at = excluded.at, settings = excluded.settings,
        link = excluded.link, links = excluded.links, eligible = excluded.eligible,
        generation = excluded.generation, why_not = excluded.why_not,
        fingerprint = excluded.fingerprint, tables = excluded.tables, has_left = false,
        sees = excluded.sees
        """)
    private static let findGeneration = PostgresStatement(
        "find_generation",
        "SELECT name FROM generation WHERE space = $1 ORDER BY place DESC LIMIT 1")
    private static let noteLeaving = PostgresStatement(
        "note_leaving",
        "UPDATE node SET has_left = true WHERE space = $1 AND name = $2 AND process = $3")

    /// Carries out `order`; `failed` when the database did not do it, or nobody knows.
    public func carryOut(_ order: LeaseOrder) -> LeaseResult {
        do throws(StoreError) {
            let open = try connected()
            do throws(PostgresFailure) {
                let result = try carryOut(order, open.link, open.space)
                trouble = nil
                return result
            } catch {
                throw error.error(of: address.name, "keeping the lease")
            }
        } catch {
            open = nil
            trouble = error
            return .failed
        }
    }

    private func connected() throws(StoreError) -> (link: PostgresConnection, space: Space) {
        if let open { return open }
        let link = try PostgresConnection(to: address, patience: patience)
        try ClusterSchema.current.require(link)
        let made = (link, try Space(space, by: link))
        do throws(PostgresFailure) {
            // A beat that is lost is made up by the next one.
            link.query("SELECT set_config('synchronous_commit', 'off', false)")
            try link.finish()
        } catch {
            throw error.error(of: address.name, "connecting")
        }
        open = made
        return made
    }

    private func carryOut(
        _ order: LeaseOrder, _ link: PostgresConnection, _ space: Space
    ) throws(PostgresFailure) -> LeaseResult {
        let id = PostgresValue.integer(space.id)
        switch order {
        case .look:
            sendNote(id, link)
            return .row(try look(id, link))
        case .beat(let grant):
            sendNote(id, link)
            link.run(Self.beat, id, .integer(Int64(grant.term.epoch)), .bytes(grant.token))
            let rows = try link.finish()[1]
            if let row = rows.first { return .beaten(wish: row.optionalText(0)) }
        case .take(let row, let token):
            let rows = try take(row, token, id, link, space)
            if let epoch = rows.first?.integer(0) {
                let term = Term(owner: note.name, epoch: UInt32(clamping: epoch))
                return .taken(Grant(term, token: token))
            }
        case .release(let grant, let target):
            Self.makeDurable(link)
            link.run(
                Self.release, id, .integer(Int64(grant.term.epoch)), .bytes(grant.token),
                .text(target))
            if try link.finish()[1].count == 1 { return .released }
        }
        link.run(LeaseRow.read, id)
        guard let row = try link.finish().last?.first else {
            throw PostgresFailure(text: "the space is gone")
        }
        return .row(LeaseRow(row))
    }

    /// The row, the nodes, and the generation in force.
    private func look(
        _ id: PostgresValue, _ link: PostgresConnection
    ) throws(PostgresFailure) -> LeaseRow {
        link.run(ClusterNodeState.read, id, .integer(silence))
        link.run(Self.findGeneration, id)
        link.run(LeaseRow.read, id)
        let found = try link.finish()
        guard let row = found.last?.first else {
            throw PostgresFailure(text: "the space is gone")
        }
        let judged = LeaseRow(row)
        nodes = found[1].all.map { ClusterNodeState($0) }
        ownerPlace = nodes.first { $0.note.name == judged.term.owner }?.place ?? NodePlace()
        generation = found[2].first?.text(0) ?? ""
        return judged
    }

    private func sendNote(_ id: PostgresValue, _ link: PostgresConnection) {
        link.run(
            Self.noteNode, id, .text(note.name), .text(note.process), .text(note.program),
            .text(note.settingsText), .text(note.link), .text(NodeNote.text(note.links)),
            .integer(note.isEligible ? 1 : 0), .text(note.generation), .text(note.whyNot),
            .bytes(note.fingerprint), .integer(Int64(ClusterSchema.current.version)),
            .text(NodeNote.text(note.sees)))
    }

    private static let readFingerprints = PostgresStatement(
        "fingerprints", "SELECT name, fingerprint FROM node WHERE space = $1")

    /// The digest of each node's certificate, by its name; nil: the database does not answer now.
    public func fingerprints() -> [String: [UInt8]]? {
        guard let open else { return nil }
        do throws(PostgresFailure) {
            open.link.run(Self.readFingerprints, .integer(open.space.id))
            let found = try open.link.finish().first?.all.map { ($0.text(0), $0.bytes(1)) } ?? []
            return Dictionary(found, uniquingKeysWith: { one, _ in one })
        } catch {
            // The next order connects again, and says why where it cannot.
            self.open = nil
            return nil
        }
    }

    /// Notes that this process ends as it should, if the database answers: nobody misses it.
    public func noteLeaving() {
        guard let open else { return }
        open.link.run(
            Self.noteLeaving, .integer(open.space.id), .text(note.name), .text(note.process))
        _ = try? open.link.finish()
    }

    /// For this turn only.
    private static func makeDurable(_ link: PostgresConnection) {
        link.query("SELECT set_config('synchronous_commit', 'on', true)")
    }

    private func take(
        _ row: LeaseRow, _ token: [UInt8], _ id: PostgresValue, _ link: PostgresConnection,
        _ space: Space
    ) throws(PostgresFailure) -> PostgresRows {
        var taken: PostgresRows?
        try ClusterStore.ending(writerOf: space, on: link) { () throws(PostgresFailure) in
            Self.makeDurable(link)
            link.run(
                Self.take, id, .text(note.name), .bytes(token), .integer(Int64(row.term.epoch)),
                .bytes(row.token), .integer(row.isReleased ? 1 : 0), .text(row.successor),
                .integer(row.beat))
            taken = try link.finish()[1]
        }
        guard let taken else { throw PostgresFailure(text: "the takeover gave nothing") }
        return taken
    }
}
