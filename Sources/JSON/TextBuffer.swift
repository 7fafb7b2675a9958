// The memory that a writer fills: grows by doubling and is used again for the next text.

/// Bytes of a text under way, in memory that one writer owns.
///
/// Whoever appends asks for room once for all that it may need, writes, and says how much it was:
/// checks for uniqueness and room at every byte would cost more than the bytes.
@usableFromInline
package struct TextBuffer: ~Copyable {
    /// Where it begins; moves when it grows.
    @usableFromInline package var start: UnsafeMutablePointer<UInt8>
    @usableFromInline var capacity: Int
    @usableFromInline var count = 0

    package init(capacity: Int) {
        self.capacity = max(capacity, 16)
        start = .allocate(capacity: self.capacity)
    }

    @inlinable deinit { start.deallocate() }

    /// What was appended; valid until the next change.
    @inlinable
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    package mutating func cut(to count: Int) {
        precondition(0...self.count ~= count, "cut beyond the end")
        self.count = count
    }

    /// Where `size` more bytes may be written; `commit` says how many were.
    @inlinable @inline(__always)
    package mutating func reserve(_ size: Int) -> UnsafeMutablePointer<UInt8> {
        if size > capacity &- count { grow(by: size) }
        return start + count
    }

    /// The first `size` bytes of the reserved room are part of the text now.
    @inlinable @inline(__always)
    package mutating func commit(_ size: Int) {
        assert(size <= capacity - count, "more was written than reserved")
        count &+= size
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        copy(source, bytes.count, to: reserve(bytes.count))
        commit(bytes.count)
    }

    @inline(never) @usableFromInline
    mutating func grow(by size: Int) {
        let grown = max(capacity * 2, count + size)
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: grown)
        memory.update(from: start, count: count)
        start.deallocate()
        start = memory
        capacity = grown
    }
}

/// Copies `count` bytes; up to sixteen, as most names and values are, without a call.
@inlinable @inline(__always)
package func copy(_ source: UnsafeRawPointer, _ count: Int, to target: UnsafeMutablePointer<UInt8>)
{
    let target = UnsafeMutableRawPointer(target)
    switch count {
    case 17...: target.copyMemory(from: source, byteCount: count)
    case 8...16: copyEnds(of: source, count, to: target, as: UInt64.self)
    case 4...7: copyEnds(of: source, count, to: target, as: UInt32.self)
    case 2...3: copyEnds(of: source, count, to: target, as: UInt16.self)
    case 1: target.storeBytes(of: source.load(as: UInt8.self), as: UInt8.self)
    default: break
    }
}

/// Copies the first and the last word, which may overlap.
@inlinable @inline(__always)
func copyEnds<Word: BitwiseCopyable>(
    of source: UnsafeRawPointer, _ count: Int, to target: UnsafeMutableRawPointer, as _: Word.Type
) {
    let last = count &- MemoryLayout<Word>.size
    let (head, tail) = (
        source.loadUnaligned(as: Word.self),
        source.loadUnaligned(fromByteOffset: last, as: Word.self)
    )
    target.storeBytes(of: head, as: Word.self)
    target.storeBytes(of: tail, toByteOffset: last, as: Word.self)
}

extension String {
    /// Hands its UTF-8 to `body`, with no reference to the text taken and nothing copied: texts of
    /// this platform are contiguous.
    @inlinable @inline(__always)
    package func withBytes<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        utf8.withContiguousStorageIfAvailable(body) ?? withCopiedBytes(body)
    }

    /// Not part of its caller, which would hold the text for it in any case.
    @inline(never) @usableFromInline
    func withCopiedBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        Array(utf8).withUnsafeBufferPointer(body)
    }
}
