// What the switchboard refuses, in words.

extension Refusal {
    package static let keyReused = Refusal(.keyReused, "the key was used with another request")
    package static let callEnded = Refusal(.callEnded, "the call has ended")
    package static let unreadable = Refusal(
        .unavailable, "the store cannot read this: repeat with the same key", retryAfter: 1_000)

    package static let settingsChanged = Refusal(
        .unavailable, "the settings have changed: repeat with the same key", retryAfter: 100)

    package static func notFound(_ id: CallID) -> Refusal { Refusal(.notFound, "no call \(id)") }

    package static func notInvited(_ user: UserID) -> Refusal {
        Refusal(.notInvited, "\(user) is not a participant of this call")
    }

    package static func wrongMode(_ mode: Mode) -> Refusal {
        Refusal(.wrongMode, "calls of mode \(mode.name) do not have this operation")
    }

    package static func wrongState(_ user: UserID, _ state: Participant.State) -> Refusal {
        Refusal(.wrongState, "\(user) is \(state.rawValue) in this call")
    }

    package static func wrongState(_ message: String) -> Refusal { Refusal(.wrongState, message) }

    package static let tooManySignals = Refusal(
        .rateLimited, "too many signals wait until somebody's device knows of a call",
        retryAfter: 1_000)
    package static let noTokenPlugin = Refusal(
        .unsupported, "no plugin makes credentials for the media side")

    package static func tooMany(_ errors: [InviteeError]) -> Refusal {
        Refusal(.tooMany, "more invitees than the mode allows", detail: .errors(errors))
    }
}
