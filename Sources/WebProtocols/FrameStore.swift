// The memory of a decoder for what is not complete.

/// Holds the bytes of an incomplete message and, behind them, those of an incomplete control frame.
/// It has no memory while both are empty and `release` was called.
struct FrameStore: ~Copyable {
    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var heldMessage: UInt32 = 0
    private var heldControl: UInt8 = 0

    var capacity: Int { memory.count }

    /// The bytes of the message so far; the decoder keeps them below its limit.
    private(set) var messageCount: Int {
        get { Int(heldMessage) }
        set { heldMessage = UInt32(newValue) }
    }

    /// The bytes of the control frame so far, at most 125.
    private var controlCount: Int {
        get { Int(heldControl) }
        set { heldControl = UInt8(newValue) }
    }

    /// The bytes held.
    var count: Int { messageCount + controlCount }

    deinit { memory.deallocate() }

    mutating func appendMessage(_ piece: UnsafeRawBufferPointer) {
        append(piece, at: messageCount)
        messageCount += piece.count
    }

    mutating func appendControl(_ piece: UnsafeRawBufferPointer) {
        append(piece, at: messageCount + controlCount)
        controlCount += piece.count
    }

    /// The message, which is forgotten; its bytes stay valid until the next change.
    mutating func takeMessage() -> UnsafeRawBufferPointer {
        defer { messageCount = 0 }
        return UnsafeRawBufferPointer(rebasing: memory[..<messageCount])
    }

    /// The control frame's payload, which is forgotten; its bytes stay valid until the next change.
    mutating func takeControl() -> UnsafeRawBufferPointer {
        defer { controlCount = 0 }
        return UnsafeRawBufferPointer(rebasing: memory[messageCount..<messageCount + controlCount])
    }

    /// Gives the memory back.
    mutating func release() {
        (messageCount, controlCount) = (0, 0)
        guard capacity > 0 else { return }
        memory.deallocate()
        memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    }

    /// Doubles as bytes arrive: an announced length alone reserves nothing.
    private mutating func append(_ piece: UnsafeRawBufferPointer, at offset: Int) {
        guard !piece.isEmpty else { return }
        let needed = offset + piece.count
        if needed > memory.count {
            let grown = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(256, needed, 2 * memory.count), alignment: 16)
            grown.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<offset]))
            memory.deallocate()
            memory = grown
        }
        UnsafeMutableRawBufferPointer(rebasing: memory[offset...]).copyMemory(from: piece)
    }
}
