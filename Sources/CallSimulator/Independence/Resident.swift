// Somebody in a town: what they do is decided by dice of their own.

import CallModel

/// An account with one device, or an attacker with one.
struct Resident {
    let address: Address
    /// Whom the resident knows, themselves included: nobody else is ever called.
    let circle: [UserID]
    /// Accounts that plugins answer for, which everybody may call.
    let desks: [UserID]
    let isAttacker: Bool
    var isConnected = false
    /// Nobody else uses these: what strangers do does not change what this resident does.
    private var dice: SeededGenerator
    private var actions: RandomActions

    init(
        _ name: String, circle: [UserID], desks: [UserID], isAttacker: Bool, seed: UInt64
    ) {
        address = Address(UserID(name), DeviceID("phone"))
        self.circle = circle
        self.desks = desks
        self.isAttacker = isAttacker
        let own = name.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        dice = SeededGenerator(seed: own)
        actions = RandomActions(seed: own &+ 1, users: circle)
    }

    /// What it may do next with its device.
    enum Act {
        case connect, disconnect, bye
        case ask(Operation)
    }

    /// Until it does something again.
    mutating func pause() -> Milliseconds {
        Milliseconds.random(in: isAttacker ? 5...120 : 300...6_000, using: &dice)
    }

    /// What it does now, as far as its phone shows it calls that ring or that it is in.
    mutating func act(ringing: [CallID], joined: [CallID]) -> Act {
        guard isConnected else { return .connect }
        switch Int.random(in: 0..<100, using: &dice) {
        case 0..<2: return .disconnect
        case 2: return .bye
        case 3..<45: return .ask(.invite(callDesk()))
        case 45..<75 where !ringing.isEmpty:
            return .ask(
                .call(actions.pick(ringing), actions.pick([.accept(), .ringing, .reject()])))
        case 45..<75 where !joined.isEmpty:
            return .ask(.call(actions.pick(joined), actions.pick([.leave(), .end(), .cancel()])))
        default: return .ask(actions.operation())
        }
    }

    /// Remembers the calls that its own device has seen.
    mutating func note(_ observation: Observation) { actions.note(observation) }

    /// A call to an account that the plugins answer for.
    private mutating func callDesk() -> Invitation {
        var invitation = Invitation(invitees: [actions.pick(desks)])
        invitation.mode = actions.pick([.common, .advanced])
        guard isAttacker else {
            invitation.extendedData = actions.pick([
                "{\"note\":\"a\"}", "{\"wait\":true}", "{\"ring\":true}", "{\"remind\":true}",
            ])
            return invitation
        }
        invitation.extendedData = "{\"poison\":\"\(actions.pick(TownScripts.poisons))\"}"
        if actions.flip(1, in: 2) { invitation.timeout = 1_000 }
        return invitation
    }
}
