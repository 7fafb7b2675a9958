// Memory for bytes to be sent: taken when a connection sends, returned when all is sent.

/// Spare chunks of one size. An idle connection owns none.
struct BufferPool {
    static let chunkBytes = 4_096
    /// At most 1 MiB is kept.
    static let spareLimit = 256
    private var spare: [UnsafeMutableRawPointer] = []

    mutating func take() -> UnsafeMutableRawPointer {
        spare.popLast() ?? .allocate(byteCount: Self.chunkBytes, alignment: 16)
    }

    mutating func give(_ chunk: UnsafeMutableRawPointer) {
        if spare.count < Self.spareLimit { spare.append(chunk) } else { chunk.deallocate() }
    }

    mutating func deallocate() {
        for chunk in spare { chunk.deallocate() }
        spare = []
    }
}

/// Bytes that wait to be written: appended at the end, taken off the front.
struct OutBuffer {
    private var base: UnsafeMutableRawPointer?
    private var start: UInt32 = 0
    private var end: UInt32 = 0
    private var capacity: UInt32 = 0

    var count: Int { Int(end - start) }

    /// The waiting bytes; valid until the buffer changes.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base.map { UnsafeRawPointer($0) + Int(start) }, count: count)
    }

    /// Room for `size` more bytes, to be filled and then `commit`ted.
    mutating func reserve(_ size: Int, from pool: inout BufferPool) -> UnsafeMutableRawBufferPointer
    {
        if base == nil {
            base = pool.take()
            capacity = UInt32(BufferPool.chunkBytes)
        }
        if Int(capacity) - Int(end) < size { makeRoom(for: size, from: &pool) }
        return UnsafeMutableRawBufferPointer(start: base.map { $0 + Int(end) }, count: size)
    }

    /// The first `size` bytes of the reserved room are filled now.
    mutating func commit(_ size: Int) { end += UInt32(size) }

    /// The first `size` bytes are written.
    mutating func consume(_ size: Int) { start += UInt32(size) }

    /// Gives the memory back.
    mutating func release(to pool: inout BufferPool) {
        if let base { Self.discard(base, Int(capacity), to: &pool) }
        self = OutBuffer()
    }

    /// Moves the bytes to the front of the same memory if that is enough and frees at least half of
    /// it, else to twice the memory: each byte is moved a bounded number of times.
    private mutating func makeRoom(for size: Int, from pool: inout BufferPool) {
        guard let old = base else { return }
        let needed = count + size
        let fits = needed <= Int(capacity) && Int(start) * 2 >= Int(capacity)
        let room = fits ? Int(capacity) : max(needed, Int(capacity) * 2)
        precondition(room <= Int(UInt32.max), "over 4 GiB wait to be written")
        let target = fits ? old : .allocate(byteCount: room, alignment: 16)
        target.copyMemory(from: old + Int(start), byteCount: count)
        if !fits { Self.discard(old, Int(capacity), to: &pool) }
        base = target
        end = UInt32(count)
        start = 0
        capacity = UInt32(room)
    }

    private static func discard(
        _ memory: UnsafeMutableRawPointer, _ size: Int, to pool: inout BufferPool
    ) {
        if size == BufferPool.chunkBytes { pool.give(memory) } else { memory.deallocate() }
    }
}
