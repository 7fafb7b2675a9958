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
    /// Most calls take less.
    private static let usualSize = 384

    let id: CallID
    /// Where the table of journals has it.
    var place: Int32 = -1
    /// Since when its times count.
    let since: Moment
    /// Whether it has all from the call's beginning; else the file may have what came before.
    let isWhole: Bool
    /// Writes the entries, and holds them.
    var pen = JournalPen(capacity: CallJournal.usualSize)
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
    }

    /// The size of all entries.
    var size: Int { pen.bytes.count }

    /// The entries, and what may be made of them instead.
    private(set) var bytes: [UInt8] {
        get { Array(pen.bytes) }
        set { pen = JournalPen(after: newValue, capacity: Self.usualSize) }
    }

    /// Ends the entry that the pen has written.
    ///
    /// - Returns: by how much the journal has grown.
    func endEntry(at now: Moment) -> Int {
        let before = pen.start
        pen.end(after: UInt64(max(0, now - since)))
        count += 1
        // Large entries at the beginning leave room for those at the end.
        let isHead = count == Self.firstMax || size >= Self.bytesMax / 2
        if headEnd == 0, isHead { headEnd = size }
        if count - leftOut > Self.firstMax + Self.lastMax + 100 || size > Self.bytesMax {
            shorten()
        }
        return size - before
    }

    /// Takes entries out of the middle.
    private func shorten() {
        guard headEnd > 0 else { return dropLast() }
        var bytes = bytes
        var place = headEnd
        while place < bytes.count,
            count - leftOut > Self.firstMax + Self.lastMax
                || bytes.count - (place - headEnd) > Self.bytesMax * 3 / 4
        {
            place += Self.size(at: place, in: bytes)
            leftOut += 1
        }
        bytes.removeSubrange(headEnd..<place)
        self.bytes = bytes
        unwritten = unwritten <= headEnd ? unwritten : max(headEnd, unwritten - (place - headEnd))
    }

    /// The first entries alone are too large: there is no room for more than that.
    private func dropLast() {
        var bytes = bytes
        while bytes.count > Self.bytesMax, let last = Self.lastPlace(in: bytes) {
            bytes.removeSubrange(last...)
            leftOut += 1
        }
        headEnd = bytes.count
        unwritten = min(unwritten, bytes.count)
        self.bytes = bytes
    }

    private static func lastPlace(in bytes: [UInt8]) -> Int? {
        var place = 0
        var last: Int?
        while place < bytes.count {
            last = place
            place += size(at: place, in: bytes)
        }
        return last
    }

    /// The size of the entry at `place`; never more than there is, whatever its length says.
    private static func size(at place: Int, in bytes: [UInt8]) -> Int {
        let rest = bytes.count - place
        return rest < 2 ? rest : min(rest, 2 + Int(bytes[place]) + Int(bytes[place + 1]) << 8)
    }

    /// Names `gone` no more.
    func forget(_ gone: Forgotten) {
        let bytes = bytes
        func size(_ end: Int) -> Int {
            JournalText.forgetting(gone, in: Array(bytes[..<end])).count
        }
        (headEnd, unwritten) = (size(headEnd), size(unwritten))
        self.bytes = JournalText.forgetting(gone, in: bytes)
    }

    /// What is not written to a file yet; it counts as written from now on.
    func takeUnwritten() -> [UInt8] {
        defer { unwritten = size }
        return Array(pen.bytes[unwritten...])
    }
}
