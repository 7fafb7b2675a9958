// Who is known: users with their devices and live calls.

import CallModel
import Collections

/// A place in the table of calls.
typealias CallSlot = Int32

/// What the switchboard knows of one user. There may be a million of them, so small fields share a
/// word (`stamp`).
struct UserState: Sendable {
    /// A device with a live connection, or a session that may be resumed.
    struct Device: Sendable {
        let id: DeviceID
        /// The moment of the last use times two; bit 0 is `isConnected`.
        var stamp: Int64

        init(_ id: DeviceID, usedAt now: Moment) {
            self.id = id
            stamp = now.milliseconds << 1 | 1
        }

        var isConnected: Bool {
            get { stamp & 1 == 1 }
            set { stamp = stamp & ~1 | (newValue ? 1 : 0) }
        }

        var usedAt: Moment {
            get { Moment(stamp >> 1) }
            set { stamp = newValue.milliseconds << 1 | stamp & 1 }
        }
    }

    let id: UserID
    /// In the order in which they came.
    var devices: [Device] = []
    /// Live calls in which the user is pending or joined, in the order in which they came in.
    var calls = PlaceList()
    /// When the user is lost if nothing more is heard (A20), by the connections that have ended.
    var lostAt = Moment(0)
    /// Live calls that the user made, also those that the user has left.
    var callsMade: Int32 = 0
    /// The number of the timer times four; bit 1 is `isLost`, bit 0 is `isOnline`.
    private var stamp = TimerHandle.none.node << 2

    init(id: UserID) { self.id = id }

    /// Runs from the loss of the last connection until the user counts as lost.
    var lostTimer: TimerHandle {
        get { TimerHandle(node: stamp >> 2) }
        set { stamp = newValue.node << 2 | stamp & 3 }
    }

    /// Whether the user was connected and is not lost.
    var isOnline: Bool {
        get { stamp & 1 == 1 }
        set { stamp = stamp & ~1 | (newValue ? 1 : 0) }
    }

    /// Whether the user was lost and has not come back. False spares the look at each call.
    var isLost: Bool {
        get { stamp & 2 == 2 }
        set { stamp = stamp & ~2 | (newValue ? 2 : 0) }
    }

    /// Devices with a live connection.
    var connectedCount: Int { devices.count { $0.isConnected } }
}

/// A slab of users, found by id.
struct UserTable: Sendable {
    private var places = HashIndex()
    /// Not private, so that the subscript is inlined: else each access would copy the user.
    var slab = Pages<UserState>()
    private var free: [Int32] = []
    /// Makes the hashes differ from process to process: users choose their names.
    private let seed: UInt64

    init(seed: UInt64) { self.seed = seed }

    /// The place of `user`; nil: nothing is known of them.
    func find(_ user: UserID) -> Int32? {
        places.find(user.hash(seed)) { slab[Int($0)].id == user }
    }

    /// The place of `user`, who is given one if there is none.
    mutating func findOrAdd(_ user: UserID) -> Int32 {
        if let place = find(user) { return place }
        let place = free.popLast() ?? Int32(slab.count)
        if Int(place) == slab.count {
            slab.append(UserState(id: user))
        } else {
            slab[Int(place)] = UserState(id: user)
        }
        places.insert(user.hash(seed), place)
        return place
    }

    /// Forgets the user at `place` if no call, device, timer or count needs it.
    mutating func releaseIfIdle(_ place: Int32) {
        guard self[place].calls.isEmpty, self[place].devices.isEmpty,
            self[place].lostTimer == .none, !self[place].isOnline, self[place].callsMade == 0
        else { return }
        guard find(self[place].id) == place else { return }
        places.remove(self[place].id.hash(seed), place)
        slab[Int(place)] = UserState(id: UserID(""))
        free.append(place)
    }

    subscript(place: Int32) -> UserState {
        _read { yield slab[Int(place)] }
        _modify { yield &slab[Int(place)] }
    }

    subscript(user: UserID) -> UserState? { find(user).map { slab[Int($0)] } }
}
