// Who is known: users with their devices and live calls.

import CallModel

/// A user's part in a call, as a key.
public struct ParticipantKey: Hashable, Sendable {
    /// The user.
    public let user: UserID
    /// The call.
    public let call: CallID

    /// The part of `user` in `call`.
    @inlinable
    public init(user: UserID, call: CallID) {
        self.user = user
        self.call = call
    }
}

/// A place in the table of calls.
public typealias CallSlot = Int32

/// What the switchboard holds of one user.
public struct UserState: Sendable {
    /// A device with a live connection, or a session that may be resumed.
    public struct Device: Sendable {
        /// The device.
        public let id: DeviceID
        /// Twice the moment of the last use, and one more while it is connected.
        @usableFromInline var stamp: Int64

        /// A connected device.
        public init(_ id: DeviceID, usedAt now: Moment) {
            self.id = id
            stamp = now.milliseconds << 1 | 1
        }

        /// Whether it has a live connection.
        @inlinable
        public var isConnected: Bool {
            get { stamp & 1 == 1 }
            set { stamp = stamp & ~1 | (newValue ? 1 : 0) }
        }

        /// The last use.
        @inlinable
        public var usedAt: Moment {
            get { Moment(stamp >> 1) }
            set { stamp = newValue.milliseconds << 1 | stamp & 1 }
        }
    }

    /// The user.
    public let id: UserID
    /// In the order in which they came.
    public var devices: [Device] = []
    /// Live calls in which the user is pending or joined, in the order it came into them.
    public var calls = SlotList()
    /// When the user is lost unless something more is heard, as far as connections that ended tell.
    public var lostAt = Moment(0)
    /// Live calls that the user made, in whatever state its own part of them is.
    public var callsMade: Int32 = 0
    /// Four times the number of the timer, two more while calls have a lost user in this one, and
    /// one more while the user is online.
    private var stamp = TimerHandle.none.node << 2

    /// A user without devices and calls.
    init(id: UserID) { self.id = id }

    /// Runs from the loss of the last connection until the user counts as lost.
    public var lostTimer: TimerHandle {
        get { TimerHandle(node: stamp >> 2) }
        set { stamp = newValue.node << 2 | stamp & 3 }
    }

    /// Whether the user was connected and is not lost.
    public var isOnline: Bool {
        get { stamp & 1 == 1 }
        set { stamp = stamp & ~1 | (newValue ? 1 : 0) }
    }

    /// Whether the user was lost and has not come back: calls may count it as lost.
    public var isLost: Bool {
        get { stamp & 2 == 2 }
        set { stamp = stamp & ~2 | (newValue ? 2 : 0) }
    }

    /// Devices with a live connection.
    public var connectedCount: Int { devices.count { $0.isConnected } }
}

/// A slab of users, found by id.
public struct UserTable: Sendable {
    private var places = HashIndex()
    /// Inlinable with its subscript: an access from outside would need memory for each.
    @usableFromInline var slab: [UserState] = []
    private var free: [Int32] = []
    /// Makes the hashes differ from process to process: users choose their names.
    private let seed: UInt64

    /// A table without users.
    public init(seed: UInt64) { self.seed = seed }

    /// The place of `user`, if it is held.
    public func find(_ user: UserID) -> Int32? {
        places.find(user.hash(seed)) { slab[Int($0)].id == user }
    }

    /// The place of `user`, who is held from now on.
    public mutating func hold(_ user: UserID) -> Int32 {
        if let place = find(user) { return place }
        let place: Int32
        if let reused = free.popLast() {
            slab[Int(reused)] = UserState(id: user)
            place = reused
        } else {
            place = Int32(slab.count)
            slab.append(UserState(id: user))
        }
        places.insert(user.hash(seed), place)
        return place
    }

    /// Forgets the user at `place` if nothing is known of it any more.
    public mutating func releaseIfIdle(_ place: Int32) {
        guard self[place].calls.isEmpty, self[place].devices.isEmpty,
            self[place].lostTimer == .none, !self[place].isOnline, self[place].callsMade == 0
        else { return }
        let id = self[place].id
        guard find(id) == place else { return }
        places.remove(id.hash(seed), place)
        slab[Int(place)] = UserState(id: UserID(""))
        free.append(place)
    }

    /// The user at `place`.
    @inlinable
    public subscript(place: Int32) -> UserState {
        _read { yield slab[Int(place)] }
        _modify { yield &slab[Int(place)] }
    }

    /// The user, if it is held.
    public subscript(user: UserID) -> UserState? { find(user).map { slab[Int($0)] } }

    /// Live calls that the user is in or called for.
    public func callCount(of user: UserID) -> Int {
        find(user).map { slab[Int($0)].calls.count } ?? 0
    }

    /// Whether the user has a device, connected or resumable.
    public func hasDevices(_ user: UserID) -> Bool {
        find(user).map { !slab[Int($0)].devices.isEmpty } ?? false
    }
}

extension UserID {
    /// A hash that a seed decides.
    package func hash(_ seed: UInt64) -> UInt32 {
        var text = text
        return text.withUTF8 { bytes in
            let raw = UnsafeRawBufferPointer(bytes)
            var hash = seed ^ UInt64(raw.count)
            var index = 0
            while index &+ 8 <= raw.count {
                hash.mix(raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                index &+= 8
            }
            var rest: UInt64 = 0
            while index < raw.count {
                rest = rest << 8 | UInt64(raw[index])
                index &+= 1
            }
            hash.mix(rest)
            return UInt32(truncatingIfNeeded: hash)
        }
    }
}

extension UInt64 {
    /// Takes `word` in: a product of 128 bits folded into 64.
    fileprivate mutating func mix(_ word: UInt64) {
        let product = (self ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        self = product.high ^ product.low
    }
}
