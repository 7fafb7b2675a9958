// A disk: what is durable, and what is on its way there.

import CallModel

/// What survives the server, and the commit under way.
struct SimulatedDisk {
    private(set) var durable = MemoryStore()
    private var underWay: [Record] = []

    /// Whether a commit is under way.
    var isBusy: Bool { !underWay.isEmpty }

    mutating func begin(_ records: [Record]) { underWay = records }

    /// The commit is durable.
    mutating func finish() {
        for record in underWay { durable.apply(record) }
        underWay = []
    }

    /// The commit is lost.
    mutating func fail() { underWay = [] }
}
