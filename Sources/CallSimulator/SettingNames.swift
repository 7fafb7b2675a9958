// The settings that a scenario may change, by the names of the operator's file.

import CallModel

extension Settings {
    /// Sets `name` to `values`; throws when there is no such setting or value.
    public mutating func change(_ name: String, to values: [String]) throws(RigFailure) {
        func number() throws(RigFailure) -> Int {
            guard values.count == 1, let number = Int(values[0]) else {
                throw RigFailure("`\(name)` is one whole number")
            }
            return number
        }
        func time() throws(RigFailure) -> Milliseconds {
            guard values.count == 1, let time = span(values[0]) else {
                throw RigFailure("`\(name)` is one length of time")
            }
            return time
        }
        switch name {
        case "mode":
            guard let mode = ModeRow(named: values.first ?? "", in: modes) else {
                throw RigFailure("no mode is called `\(values.first ?? "")`")
            }
            defaultMode = mode
        case "own_mode":
            guard let mode = Mode(text: values.joined(separator: " ")) else {
                throw RigFailure("`own_mode` is written as `clinic like=managed add=nobody`")
            }
            if let contradiction = mode.contradiction { throw RigFailure(contradiction) }
            modes.removeAll { $0.name == mode.name }
            modes.append(ModeRow(mode))
        case "without_mode": modes.removeAll { values.contains($0.name) }
        case "group": groups[values.first ?? ""] = values.dropFirst().map { UserID($0) }
        case "delivery_check": deliveryCheckDefault = try time()
        case "answer_for": answerFor = Accounts(values)
        case "users": users = Accounts(values)
        case "devices_per_user": devicesPerUser = try number()
        case "decide_in": decideWithin = try time()
        case "max_call_age": callAgeMax = try time()
        case "keys": keysPerUser = try number()
        case "held_signals": heldSignalsMax = try number()
        case "held_signal_bytes": heldSignalBytesMax = try number()
        case "held_signal_bytes_of_sender": heldSignalBytesOfSenderMax = try number()
        case "transfers": transfersMax = try number()
        case "questions": questionsPerCause = try number()
        case "key_lifetime": keyLifetime = try time()
        case "calls_in_hello": welcomeCallsMax = try number()
        case "ended_calls": endedCallsMax = try number()
        case "push": wakesDevices = values == ["on"]
        case "hooks": hooks = try Self.hooks(values)
        case "default": inviteDefault = try Self.outcome(values)
        case "invite_guards": inviteGuards = Self.guards(values)
        case "dial_guards": dialGuards = Self.guards(values)
        case "late": inviteWhenLate = try Self.outcome(values)
        default: throw RigFailure("no setting is called `\(name)`")
        }
    }

    private static func outcome(_ values: [String]) throws(RigFailure) -> InviteDefault {
        guard let outcome = InviteDefault(rawValue: values.first ?? "") else {
            throw RigFailure("the default is `ring` or `reject`")
        }
        return outcome
    }

    /// The first ones of the chain, which are asked about everybody.
    private static func guards(_ names: [String]) -> [Guard] {
        names.enumerated().map { Guard(plugin: $1, place: $0, users: nil) }
    }

    private static func hooks(_ values: [String]) throws(RigFailure) -> Hooks {
        let known: [String: Hooks] = [
            "dial": .dial, "in": .incomingData, "out": .outgoingData, "join": .join,
            "token": .token, "reports": .reports, "presence": .presence, "signal": .signal,
        ]
        var hooks: Hooks = []
        for value in values {
            guard let hook = known[value] else { throw RigFailure("no hook is called `\(value)`") }
            hooks.insert(hook)
        }
        return hooks
    }
}
