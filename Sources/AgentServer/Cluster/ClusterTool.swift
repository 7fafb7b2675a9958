// What `callagent cluster` does with the database that an operator's file names.

import CallModel
import ClusterCore
import ClusterStorage
import Configuration
import EventLoop
import JSON
import Outbound
import Storage
import StoreContract

/// The cluster of an operator's file, for tools. It talks to the database, so it works on any
/// machine that reaches that, also where no node runs.
public struct ClusterTool {
    private let database: ClusterDatabase
    private let name: String
    private let silence: Milliseconds

    /// The cluster of `configuration`.
    public init(_ configuration: Configuration) throws(AgentError) {
        guard let cluster = configuration.cluster else {
            throw .configuration("there is no cluster in the operator's file")
        }
        silence = max(3_000, cluster.lease)
        do throws(StoreError) {
            let address = try DatabaseAddress(cluster.database.text)
            name = address.name
            database = try ClusterDatabase(at: address)
        } catch {
            throw .store(error)
        }
    }

    /// Makes the tables, or what a newer program needs.
    ///
    /// - Returns: what was done, in one line.
    public func prepare() throws(AgentError) -> String {
        do throws(StoreError) {
            return "\(name): ready (\(try database.prepare()))"
        } catch {
            throw .store(error)
        }
    }

    /// Brings in what the state directory at `path` holds; no process may have it.
    ///
    /// - Parameter progress: hears now and then how much is written.
    /// - Returns: what was done, a line each.
    public func importAll(
        from path: String, _ progress: @escaping (Int) -> Void
    ) throws(AgentError) -> [String] {
        do throws(StoreError) {
            guard Files.isFolder(path) else {
                throw StoreError(
                    .cannotOpen, path: path, operation: "importing", detail: "there is no folder")
            }
            // Whoever names another folder by mistake must not hear that all is in.
            guard StoreExport.hasStore(at: path) else {
                throw StoreError(
                    .cannotOpen, path: path, operation: "importing",
                    detail: "there is no store in it: no callagent.db, or one without a byte")
            }
            let source = try StoreExport(of: try StateDirectory(claiming: path))
            var count = 0
            try database.importAll(from: source, at: path) { written in
                count = written
                progress(written)
            }
            return ["\(path): \(count) changes are in \(name)"]
                + (source.damage.text.map { [$0] } ?? [])
        } catch {
            throw .store(error)
        }
    }

    /// Throws away what an import that did not end has brought in.
    ///
    /// - Returns: what was done, in one line.
    public func discardImport() throws(AgentError) -> String {
        do throws(StoreError) {
            try database.discardImport()
            return "\(name): nothing of the import is left"
        } catch {
            throw .store(error)
        }
    }

    /// Forgets a node that will not come back.
    ///
    /// - Returns: what was done, in one line.
    public func forget(_ node: String) throws(AgentError) -> String {
        do throws(StoreError) {
            try database.forget(node)
            return "\(node) is forgotten"
        } catch {
            throw .store(error)
        }
    }

    /// The state of the cluster.
    public func state() throws(AgentError) -> ClusterState {
        do throws(StoreError) {
            return try database.state(silence: silence)
        } catch {
            throw .store(error)
        }
    }

    /// Asks the owner to give up to `target`, empty: to any other node, and waits until another
    /// one owns.
    ///
    /// - Returns: who owns then.
    /// - Throws: `refused` also if `target` does not own in the end.
    public func handOver(to target: String, within patience: Int64 = 15_000) throws(AgentError)
        -> Term
    {
        let before = try state(whereIsSeen: target)
        guard before.hasOwner else { throw .refused("no node owns at this moment") }
        let others = before.nodes.filter { $0.isAlive && $0.note.name != before.term.owner }
        guard before.term.owner != target else { return before.term }
        let named = others.filter { target.isEmpty || $0.note.name == target }
        guard !named.isEmpty else {
            throw .refused(
                target.isEmpty ? "there is no other living node" : "no living node is '\(target)'")
        }
        let reasons = named.compactMap { before.whyNot($0) }
        if reasons.count == named.count, let first = reasons.first {
            let who = target.isEmpty ? "no other living node may own" : "\(target) may not own"
            throw .refused("\(who): \(first)")
        }
        do throws(StoreError) {
            try database.askOwner(toGiveUpTo: target)
        } catch {
            throw .store(error)
        }
        let end = Clock.bootMilliseconds() + patience
        while Clock.bootMilliseconds() < end {
            Self.pause()
            let now = try state()
            guard now.term.epoch != before.term.epoch, !now.isReleased else { continue }
            let isMeant =
                target.isEmpty ? now.term.owner != before.term.owner : now.term.owner == target
            if isMeant { return now.term }
            let who = target.isEmpty ? "no other node" : target
            throw .refused("\(who) did not take over: \(now.term) owns")
        }
        throw .refused("\(before.term.owner) still owns: it did not answer")
    }

    /// The state in which `target` may own as far as others see it, or as it is after a moment: a
    /// node that has just started is not seen yet.
    private func state(whereIsSeen target: String) throws(AgentError) -> ClusterState {
        let end = Clock.bootMilliseconds() + Self.sightPatience
        var now = try state()
        while let node = now.nodes.first(where: { $0.isAlive && $0.note.name == target }),
            node.whyNot == nil, now.whyNot(node) != nil, Clock.bootMilliseconds() < end
        {
            Self.pause()
            now = try state()
        }
        return now
    }

    private static let sightPatience: Int64 = 3_000

    private static func pause() {
        var none: [Bool] = []
        _ = WorkerMailbox<Bool>().takeAll(
            into: &none, until: Clock.bootMilliseconds() + pauseTime)
    }

    private static let pauseTime: Int64 = 100
}

extension ClusterNodeState {
    /// Why it may not own, as it says itself; nil: it may.
    fileprivate var whyNot: String? {
        note.isEligible ? trouble : "cluster.eligible is false in its file"
    }

    /// Why it cannot own although it should be able to; nil: it can.
    var trouble: String? { note.whyNot.isEmpty ? nil : note.whyNot }
}

extension ClusterState {
    /// Whether a node owns that lives.
    public var hasOwner: Bool {
        !isReleased && nodes.contains { $0.isAlive && $0.note.name == term.owner }
    }

    /// Why the owner takes no calls, as its node says; nil: it does, or nobody owns.
    public var ownersTrouble: String? {
        hasOwner ? nodes.first { $0.note.name == term.owner }?.trouble : nil
    }

    /// Who sees whom.
    public var view: ClusterView { ClusterView(owner: term.owner, nodes) }

    /// Why `node` may not own now; nil: it may.
    public func whyNot(_ node: ClusterNodeState) -> String? {
        if let why = node.whyNot { return why }
        let isOwner = !isReleased && node.note.name == term.owner
        guard node.isAlive, !isOwner, let heir = view.betterHeir(than: node.note.name) else {
            return nil
        }
        return "beside the owner no node sees it, and \(heir) is seen"
    }

    /// `owner`, `front` for a node that serves clients for it, or `standby`.
    public func role(of node: ClusterNodeState) -> String {
        if !isReleased && node.note.name == term.owner { return "owner" }
        return node.isAlive && node.note.links.contains(term.owner) ? "front" : "standby"
    }

    /// As one JSON object.
    public var json: String {
        let view = view
        var writer = JSONWriter()
        writer.object {
            $0.field("space", Space.usual)
            if hasOwner { $0.field("owner", term.owner) } else { $0.null("owner") }
            $0.field("trouble", ownersTrouble)
            $0.field("epoch", Int64(term.epoch))
            if let importing { $0.field("importing", importing) }
            $0.array("nodes") {
                for node in nodes {
                    $0.object {
                        $0.field("name", node.note.name)
                        $0.field("role", role(of: node))
                        $0.field("alive", node.isAlive)
                        $0.field("process", node.note.process)
                        $0.field("program", node.note.program)
                        $0.field("tables", node.tables)
                        if node.note.generation.isEmpty {
                            $0.null("generation")
                        } else {
                            $0.field("generation", node.note.generation)
                        }
                        $0.field("lost", node.isLost)
                        $0.field("eligible", node.note.isEligible)
                        if let why = whyNot(node) {
                            $0.field("why_not", why)
                        } else {
                            $0.null("why_not")
                        }
                        $0.field("link", node.note.link)
                        $0.field("fingerprint", node.note.fingerprint.hex)
                        $0.array("links") { for name in node.note.links { $0.value(name) } }
                        $0.array("sees") { for name in node.note.sees { $0.value(name) } }
                        $0.array("seen_by") {
                            for name in view.seers(of: node.note.name) { $0.value(name) }
                        }
                        $0.array("differs") { for name in differing(node) { $0.value(name) } }
                    }
                }
            }
            $0.object("database") {
                $0.field("synchronous", isSynchronous)
                $0.field("timeline", timeline)
                $0.field("schema", tables.version)
                $0.field("readable_from", tables.readableFrom)
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
