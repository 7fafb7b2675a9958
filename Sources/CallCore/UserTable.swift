// Who is known: users with their devices and live calls.

import CallModel
import Collections

/// A user's part in a call, as a key.
struct ParticipantKey: Hashable, Sendable {
    /// The user.
    let user: UserID
    /// The call.
    let call: CallID

    /// The part of `user` in `call`.
    init(user: UserID, call: CallID) {
        self.user = user
        self.call = call
    }
}

/// A place in the table of calls.
typealias CallSlot = Int32

/// What the switchboard holds of one user.
struct UserState: Sendable {
    /// A device with a live connection, or a session that may be resumed.
    struct Device: Sendable {
        /// The device.
        let id: DeviceID
        /// Twice the moment of the last use, and one more while it is connected.
        var stamp: Int64

        /// A connected device.
        init(_ id: DeviceID, usedAt now: Moment) {
            self.id = id
            stamp = now.milliseconds << 1 | 1
        }

        /// Whether it has a live connection.
        var isConnected: Bool {
            get { stamp & 1 == 1 }
            set { stamp = stamp & ~1 | (newValue ? 1 : 0) }
        }

        /// The last use.
        var usedAt: Moment {
            get { Moment(stamp >> 1) }
            set { stamp = newValue.milliseconds << 1 | stamp & 1 }
        }
    }

    /// The user.
    let id: UserID
    /// In the order in which they came.
    var devices: [Device] = []
    /// Live calls in which the user is pending or joined, in the order it came into them.
    var calls = PlaceList()
    /// When the user is lost unless something more is heard, as far as connections that ended tell.
    var lostAt = Moment(0)
    /// Live calls that the user made, in whatever state its own part of them is.
    var callsMade: Int32 = 0
    /// Four times the number of the timer, two more while calls have a lost user in this one, and
    /// one more while the user is online.
    private var stamp = TimerHandle.none.node << 2

    /// A user without devices and calls.
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

    /// Whether the user was lost and has not come back: calls may count it as lost.
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
    /// Inlinable with its subscript: an access from outside would need memory for each.
    var slab: [UserState] = []
    private var free: [Int32] = []
    /// Makes the hashes differ from process to process: users choose their names.
    private let seed: UInt64

    /// A table without users.
    init(seed: UInt64) { self.seed = seed }

    /// The place of `user`, if it is held.
    func find(_ user: UserID) -> Int32? {
        places.find(user.hash(seed)) { slab[Int($0)].id == user }
    }

    /// The place of `user`, who is held from now on.
    mutating func hold(_ user: UserID) -> Int32 {
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
    mutating func releaseIfIdle(_ place: Int32) {
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
    subscript(place: Int32) -> UserState {
        _read { yield slab[Int(place)] }
        _modify { yield &slab[Int(place)] }
    }

    /// The user, if it is held.
    subscript(user: UserID) -> UserState? { find(user).map { slab[Int($0)] } }

    /// Live calls that the user is in or called for.
    func callCount(of user: UserID) -> Int {
        find(user).map { slab[Int($0)].calls.count } ?? 0
    }

    /// Whether the user has a device, connected or resumable.
    func hasDevices(_ user: UserID) -> Bool {
        find(user).map { !slab[Int($0)].devices.isEmpty } ?? false
    }
}
