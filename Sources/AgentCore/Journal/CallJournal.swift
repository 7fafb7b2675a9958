// The journal of one call, packed.

import CallModel

/// What happened to one call, in the order in which it happened. Each entry is its length in two
/// bytes, the milliseconds since the call was made, and its fields.
final class CallJournal {
    /// Entries kept from the beginning, and from the end.
    static let firstMax = 100
    static let lastMax = 400
    /// Bytes of one journal.
    static let bytesMax = 32_768

    let id: CallID
    /// Where the table of journals has it.
    var place: Int32 = -1
    /// Since when its times count.
    let since: Moment
    /// Whether it has all from the call's beginning; else the file may have what came before.
    let isWhole: Bool
    private(set) var bytes: [UInt8] = []
    private(set) var count = 0
    /// Entries that were taken out of its middle.
    private(set) var leftOut = 0
    /// Signals that were sent in the call.
    var signals = 0
    /// State and reason of each participant at the last change: two bytes for each.
    var states: [UInt8] = []
    var media: UInt8 = 0
    /// The revision whose timer is entered.
    var timerRevision: UInt32 = 0
    /// Where the part begins that is not written to a file yet.
    private var unwritten = 0
    var isDirty = false
    /// The journals that began before and after it. The table of journals holds them, and takes
    /// one out of this list before it lets it go.
    unowned(unsafe) var older: CallJournal?
    unowned(unsafe) var newer: CallJournal?
    var hasEnded = false
    /// Where the entries behind the first ones begin.
    private var headEnd = 0

    init(_ id: CallID, since: Moment, isWhole: Bool) {
        (self.id, self.since, self.isWhole) = (id, since, isWhole)
        bytes = [UInt8](unsafeUninitializedCapacity: 384) { $1 = 0 }
    }

    /// Adds the entry that `pen` has written.
    func add(_ pen: JournalPen, at now: Moment) {
        pen.end(after: UInt64(max(0, now - since)))
        bytes.append(contentsOf: pen.bytes)
        count += 1
        // Large entries at the beginning leave room for those at the end.
        let isHead = count == Self.firstMax || bytes.count >= Self.bytesMax / 2
        if headEnd == 0, isHead { headEnd = bytes.count }
        if count - leftOut > Self.firstMax + Self.lastMax + 100 || bytes.count > Self.bytesMax {
            shorten()
        }
    }

    /// Takes entries out of the middle.
    private func shorten() {
        guard headEnd > 0 else { return dropLast() }
        var place = headEnd
        while place < bytes.count,
            count - leftOut > Self.firstMax + Self.lastMax
                || bytes.count - (place - headEnd) > Self.bytesMax * 3 / 4
        {
            place += size(at: place)
            leftOut += 1
        }
        bytes.removeSubrange(headEnd..<place)
        unwritten = unwritten <= headEnd ? unwritten : max(headEnd, unwritten - (place - headEnd))
    }

    /// The first entries alone are too large: there is no room for more than that.
    private func dropLast() {
        headEnd = bytes.count
        while bytes.count > Self.bytesMax, let last = lastPlace() {
            bytes.removeSubrange(last...)
            leftOut += 1
            headEnd = bytes.count
        }
        unwritten = min(unwritten, bytes.count)
    }

    private func lastPlace() -> Int? {
        var place = 0
        var last: Int?
        while place < bytes.count {
            last = place
            place += size(at: place)
        }
        return last
    }

    private func size(at place: Int) -> Int {
        2 + Int(bytes[place]) + Int(bytes[place + 1]) << 8
    }

    /// Names `gone` no more.
    func forget(_ gone: Forgotten) {
        func size(_ end: Int) -> Int {
            JournalText.forgetting(gone, in: Array(bytes[..<end])).count
        }
        (headEnd, unwritten) = (size(headEnd), size(unwritten))
        bytes = JournalText.forgetting(gone, in: bytes)
    }

    /// What is not written to a file yet; it counts as written from now on.
    func takeUnwritten() -> [UInt8] {
        defer { unwritten = bytes.count }
        return Array(bytes[unwritten...])
    }
}
