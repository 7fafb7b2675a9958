// Ended calls, packed one behind the other.

import Collections
import CallModel

/// Ended calls as bytes in large pieces of memory. Most are written once and read once more, when
/// they are forgotten. As objects of four pieces of memory each, thousands of them would drive
/// everything else out of the processor's caches.
struct PackedCalls {
    /// A call at its place.
    private enum Record {
        /// Where its bytes lie.
        case packed(piece: Int32, start: Int32)
        /// One that has what `CallBytes` cannot write.
        case whole(Call)
    }

    /// Bytes, and how many calls among them are still kept.
    private struct Piece {
        var bytes: [UInt8] = []
        var count = 0

        mutating func add(_ call: UnsafeRawBufferPointer) {
            bytes.append(contentsOf: call)
            count += 1
        }
    }

    /// The size of a piece; a larger call gets a piece of its own size.
    private static let pieceSize = 65_536

    private var records = Slab<Record>()
    private var pieces: [Piece] = []
    private var freePieces: [Int32] = []
    /// The piece that calls are put into.
    private var current: Int32?
    /// The memory of an emptied piece, for the next one.
    private var spare: [UInt8] = []
    /// Bytes of memory of the pieces in use.
    private(set) var memory = 0

    /// Keeps `call` and gives its place.
    mutating func insert(_ call: Call) -> Int32 { records.insert(pack(call)) }

    /// Puts a later version of the call at `place`.
    mutating func replace(at place: Int32, with call: Call) {
        let new = pack(call)
        release(records[place])
        records[place] = new
    }

    private mutating func pack(_ call: Call) -> Record {
        guard CallBytes.canWrite(call) else { return .whole(call) }
        return pack(call, within: Self.usualSize)
    }

    /// Most calls take less, so that they are written only once.
    private static let usualSize = 1_024

    private mutating func pack(_ call: Call, within room: Int) -> Record {
        var record: Record?
        let size = withUnsafeTemporaryAllocation(byteCount: room, alignment: 1) { bytes -> Int in
            let size = CallBytes.write(call, into: bytes)
            guard size <= room else { return size }
            let piece = pieceWithRoom(for: size)
            record = .packed(piece: piece, start: Int32(pieces[Int(piece)].bytes.count))
            pieces[Int(piece)].add(UnsafeRawBufferPointer(rebasing: bytes[..<size]))
            return size
        }
        return record ?? pack(call, within: size)
    }

    private mutating func pieceWithRoom(for size: Int) -> Int32 {
        if let current {
            let filled = pieces[Int(current)].bytes.count
            if filled + size <= pieces[Int(current)].bytes.capacity { return current }
            drop(current)
        }
        let place = freePieces.popLast() ?? Int32(pieces.count)
        if place == pieces.count { pieces.append(Piece()) }
        swap(&pieces[Int(place)].bytes, &spare)
        pieces[Int(place)].bytes.reserveCapacity(max(size, Self.pieceSize))
        memory += pieces[Int(place)].bytes.capacity
        current = place
        return place
    }

    /// Frees the piece at `place` if no call in it is kept.
    private mutating func drop(_ place: Int32) {
        guard pieces[Int(place)].count == 0 else { return }
        memory -= pieces[Int(place)].bytes.capacity
        spare = []
        swap(&pieces[Int(place)].bytes, &spare)
        spare.removeAll(keepingCapacity: spare.capacity < 2 * Self.pieceSize)
        freePieces.append(place)
    }

    /// Pieces of memory that are in use.
    var pieceCount: Int { pieces.count - freePieces.count }

    /// Forgets the call at `place`.
    mutating func remove(at place: Int32) { release(records.remove(at: place)) }

    private mutating func release(_ record: Record?) {
        guard case .packed(let piece, _) = record else { return }
        pieces[Int(piece)].count -= 1
        if piece != current { drop(piece) }
    }

    /// A copy of the call at `place`.
    subscript(place: Int32) -> Call {
        read(place, { CallBytes.read(from: $0) }, whole: { $0 })
    }

    /// The id of the call at `place`.
    func id(at place: Int32) -> CallID {
        read(place, { CallBytes.id(from: $0) }, whole: { $0.id })
    }

    /// The users of the call at `place`.
    func users(at place: Int32) -> [UserID] {
        read(place, { CallBytes.users(from: $0) }, whole: { $0.participants.map(\.user) })
    }

    private func read<Value>(
        _ place: Int32, _ packed: (UnsafeRawPointer) -> Value, whole: (Call) -> Value
    ) -> Value {
        switch records[place] {
        case .packed(let piece, let start):
            pieces[Int(piece)].bytes.withUnsafeBytes { bytes in
                guard let first = bytes.baseAddress else { preconditionFailure("an empty piece") }
                return packed(first + Int(start))
            }
        case .whole(let call): whole(call)
        case nil: preconditionFailure("no call at place \(place)")
        }
    }
}
