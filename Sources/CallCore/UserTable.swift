// Who is known: users with their devices and live calls.

import CallModel

/// A place in the table of calls.
typealias CallSlot = Int32

/// A user's part in a call, as a key.
struct Seat: Hashable, Sendable {
    let user: UserID
    let call: CallID
}

/// What the switchboard holds of one user.
struct UserState: Sendable {
    struct Device: Sendable {
        let id: DeviceID
        var isConnected: Bool
        var usedAt: Moment
    }

    let id: UserID
    var devices: [Device] = []
    /// Live calls in which the user is pending or joined, in the order it came into them.
    var calls: [CallSlot] = []
    /// Runs from the loss of the last connection until the user counts as lost.
    var lostTimer: TimerHandle?
    /// Whether the user was connected and is not lost.
    var isOnline = false

    var connectedCount: Int { devices.count { $0.isConnected } }
}

/// A slab of users, found by id.
struct UserTable: Sendable {
    private var places: [UserID: Int32] = [:]
    private var slab: [UserState] = []
    private var free: [Int32] = []

    /// Users held.
    var count: Int { places.count }

    /// The place of `user`, if it is held.
    func find(_ user: UserID) -> Int32? { places[user] }

    /// The place of `user`, who is held from now on.
    mutating func hold(_ user: UserID) -> Int32 {
        if let place = places[user] { return place }
        let place: Int32
        if let reused = free.popLast() {
            slab[Int(reused)] = UserState(id: user)
            place = reused
        } else {
            place = Int32(slab.count)
            slab.append(UserState(id: user))
        }
        places[user] = place
        return place
    }

    /// Forgets the user at `place` if nothing is known of it any more.
    mutating func releaseIfIdle(_ place: Int32) {
        let state = slab[Int(place)]
        guard places[state.id] == place, state.devices.isEmpty, state.calls.isEmpty,
            state.lostTimer == nil, !state.isOnline
        else { return }
        places[state.id] = nil
        slab[Int(place)] = UserState(id: UserID(""))
        free.append(place)
    }

    /// The user at `place`.
    subscript(place: Int32) -> UserState {
        _read { yield slab[Int(place)] }
        _modify { yield &slab[Int(place)] }
    }

    /// The user, if it is held.
    subscript(user: UserID) -> UserState? { places[user].map { slab[Int($0)] } }
}
