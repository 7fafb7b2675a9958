// Who is lost at a moment, told from what happened alone: a second opinion for the invariants.

import CallModel
import CallSimulator

/// The presence of users by the letter of A20. The bare core hears of a connection's end when it
/// ends, so the last frame came then.
struct PresenceModel {
    private struct User {
        /// The devices with a session, and whether they are connected.
        var devices: [DeviceID: Bool] = [:]
        /// When it is lost, unless it is connected.
        var lostAt = Moment(0)
        var saidBye = false

        var isConnected: Bool { devices.values.contains(true) }
    }

    private static let patience: Milliseconds = 35_000
    private var users: [UserID: User] = [:]

    /// Notes what an action at `now` does to everybody's presence.
    mutating func note(
        _ action: Action, _ seen: [Observation], at now: Moment, _ calls: [Call]
    ) {
        switch action {
        case .connect(let device, _):
            users[device.user, default: User()].devices[device.device] = true
            users[device.user]?.saidBye = false
        case .disconnect(let device): hear(device, at: now) { $0.devices[device.device] = false }
        case .forget(let device): users[device.user]?.devices[device.device] = nil
        case .bye(let device):
            hear(device, at: now) { $0.devices[device.device] = nil }
            let isLast = users[device.user]?.devices.isEmpty == true
            users[device.user]?.saidBye = isLast
        case .request(let device, _, _): hear(device, at: now) { $0.saidBye = false }
        case .restart: restart(at: now, calls)
        case .pass, .answer, .think, .policyRequest, .setting: break
        }
        for observation in seen {
            guard case .device(let device) = observation.observer, case .closed = observation.sight
            else { continue }
            users[device.user]?.devices[device.device] = nil
        }
    }

    private mutating func hear(_ device: Address, at now: Moment, _ change: (inout User) -> Void) {
        var user = users[device.user] ?? User()
        user.lostAt = max(user.lostAt, now + Self.patience)
        change(&user)
        users[device.user] = user
    }

    /// Presence begins anew: whoever was heard in a call has as long to come back as anybody.
    private mutating func restart(at now: Moment, _ calls: [Call]) {
        users = [:]
        for participant in calls.flatMap(\.participants) where participant.wasConnected {
            users[participant.user] = User(lostAt: now + Self.patience)
        }
    }

    /// Whether the call has lost the participant, who is joined, at `now`.
    func isLost(_ participant: Participant, at now: Moment) -> Bool {
        guard participant.state == .joined, participant.wasConnected, !participant.isUnattended,
            let user = users[participant.user], !user.isConnected
        else { return false }
        return user.saidBye || user.lostAt <= now
    }
}
