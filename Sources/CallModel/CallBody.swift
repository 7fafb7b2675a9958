// The storage of a call's members, which its copies share.

extension Call {
    /// The members of a call; `Call+Members` says what they mean.
    @usableFromInline
    struct Fields: Sendable, Equatable {
        @usableFromInline let id: CallID
        @usableFromInline let kind: String
        @usableFromInline let createdAt: Moment
        @usableFromInline var extendedData: String?
        @usableFromInline var items: [Item] = []
        @usableFromInline var participants: [Participant] = []
        @usableFromInline var views: [View] = []
        @Packed @usableFromInline var answeredAt: Moment? = nil
        @Packed @usableFromInline var connectedAt: Moment? = nil
        @Packed @usableFromInline var endedAt: Moment? = nil
        @Packed @usableFromInline var mediaAlarm: Moment? = nil
        @Packed @usableFromInline var idleAlarm: Moment? = nil
        @usableFromInline var rare: RareBox?
        // Small members stand together, and the ring time takes four bytes: there are many calls,
        // and with its header an object fits into the 192 bytes of an allocator's size.
        @usableFromInline let ringTime: Int32
        @usableFromInline var revision: UInt32 = 0
        @usableFromInline let row: ModeRow
        @usableFromInline var state = State.ringing
        @usableFromInline var media = Media.none
        @usableFromInline var isGroup = false
        /// Milliseconds, of which there are 30,000 at most; 0: no check.
        @usableFromInline let deliveryCheck: UInt16

        @usableFromInline
        init(
            id: CallID, mode: ModeRow, kind: String, ringTime: Milliseconds,
            deliveryCheck: Milliseconds?, createdAt: Moment
        ) {
            self.id = id
            row = mode
            self.kind = kind
            self.ringTime = Int32(clamping: ringTime)
            self.deliveryCheck = UInt16(clamping: deliveryCheck ?? 0)
            self.createdAt = createdAt
        }
    }

    /// Members that most calls do not have.
    @usableFromInline
    struct Rare: Sendable, Equatable {
        var end: End?
        var transfers: [Transfer] = []
        var removed: [UserID] = []
        var forks: [Fork] = []
        var receiver: UserID?
        var returns: [Return] = []

        var isEmpty: Bool {
            end == nil && transfers.isEmpty && removed.isEmpty && forks.isEmpty && receiver == nil
                && returns.isEmpty
        }
    }

    /// The same in separate memory.
    @usableFromInline
    final class RareBox: Sendable, Equatable, CustomStringConvertible {
        let value: Rare

        init(_ value: Rare) { self.value = value }

        @usableFromInline
        static func == (left: RareBox, right: RareBox) -> Bool { left.value == right.value }

        @usableFromInline var description: String { "\(value)" }
    }

    /// An object that copies share. Code that changes it makes a separate object before, so nobody
    /// else sees the change: it is sendable, and accesses cannot overlap.
    @usableFromInline
    final class Body: @unchecked Sendable {
        @exclusivity(unchecked) @usableFromInline var fields: Fields

        @usableFromInline
        init(_ fields: Fields) { self.fields = fields }
    }

    /// Gives this copy its own members, if it shares them.
    @inlinable
    mutating func separate() {
        if !isKnownUniquelyReferenced(&body) { body = Body(body.fields) }
    }
}

/// A call is printed with its members, not as a box.
extension Call: CustomReflectable {
    /// The fields, for whoever prints a call.
    public var customMirror: Mirror {
        Mirror(self, children: Mirror(reflecting: body.fields).children, displayStyle: .struct)
    }
}
