// Ended calls, packed one behind the other.

import Bookkeeping
import CallModel

/// Ended calls as bytes in large pieces of memory. Most are written once and read once more, when
/// they are forgotten. As objects of four pieces of memory each, thousands of them would drive
/// everything else out of the processor's caches.
struct PackedCalls {
    /// Where a call lies.
    private struct Record {
        let piece: Int32
        let start: Int32
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

    /// A piece has this room; for a larger call it has as much as that needs.
    private static let pieceSize = 65_536

    private var records = Slab<Record>()
    private var pieces: [Piece] = []
    private var freePieces: [Int32] = []
    /// The piece that calls are put into.
    private var current: Int32?
    /// The memory of an emptied piece, for the next one.
    private var spare: [UInt8] = []

    /// Packs `call`, which `CallBytes` can write, and gives its place.
    mutating func insert(_ call: Call) -> Int32 {
        withUnsafeTemporaryAllocation(
            byteCount: CallBytes.size(of: call), alignment: 1
        ) { bytes in
            guard let start = bytes.baseAddress else { preconditionFailure("no memory") }
            CallBytes.write(call, from: start)
            let piece = pieceWithRoom(for: bytes.count)
            let record = Record(piece: piece, start: Int32(pieces[Int(piece)].bytes.count))
            pieces[Int(piece)].add(UnsafeRawBufferPointer(bytes))
            return records.insert(record)
        }
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
        current = place
        return place
    }

    /// Lets the piece at `place` go, if nothing in it is kept.
    private mutating func drop(_ place: Int32) {
        guard pieces[Int(place)].count == 0 else { return }
        spare = []
        swap(&pieces[Int(place)].bytes, &spare)
        spare.removeAll(keepingCapacity: spare.capacity < 2 * Self.pieceSize)
        freePieces.append(place)
    }

    /// Pieces of memory that are in use.
    var pieceCount: Int { pieces.count - freePieces.count }

    /// Forgets the call at `place`.
    mutating func remove(at place: Int32) {
        guard let record = records.remove(at: place) else { return }
        pieces[Int(record.piece)].count -= 1
        if record.piece != current { drop(record.piece) }
    }

    /// A copy of the call at `place`.
    subscript(place: Int32) -> Call { read(place) { CallBytes.read(from: $0) } }

    /// The id of the call at `place`.
    func id(at place: Int32) -> CallID { read(place) { CallBytes.id(from: $0) } }

    /// The users of the call at `place`.
    func users(at place: Int32) -> [UserID] { read(place) { CallBytes.users(from: $0) } }

    private func read<Value>(_ place: Int32, _ body: (UnsafeRawPointer) -> Value) -> Value {
        guard let record = records[place] else {
            preconditionFailure("no call at place \(place)")
        }
        return pieces[Int(record.piece)].bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { preconditionFailure("an empty piece") }
            return body(start + Int(record.start))
        }
    }
}
