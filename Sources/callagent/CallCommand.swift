// The command `call`: what its options mean.

import CallModel
import EventLoop

extension Command {
    static let call = Command(
        "call", "call people, show what happens, stay until the end", operands: .several("USER"),
        options: DeviceOptions.options + [
            Option("--mode", "MODE", "how the call behaves (default: advanced)"),
            Option("--kind", "KIND", "audio, video or a word of your own (default: audio)"),
            Option("--video", nil, "the same as --kind video"),
            Option("--data", "JSON", "extended data of the invitation"),
            Option("--timeout", "30s", "how long it rings (default: the mode's)"),
            Option("--leave-after", "3s", "leave so long after the first answer"),
            Option("--hang-up-after", "3s", "end the call for all so long after the first answer"),
        ]
    ) { (arguments) throws(CommandError) in
        let plan = try CallPlan(arguments)
        return try DeviceProgram.run(DeviceOptions(arguments)) { OutgoingCall(plan, $0) }
    }
}

extension CallPlan {
    /// What the command line asks for.
    init(_ arguments: Arguments) throws(CommandError) {
        var invitees: [UserID] = []
        for text in arguments.operands { invitees.append(try Arguments.user(text, "USER")) }
        invitation = Invitation(invitees: invitees)
        let mode = try arguments.choice("--mode", among: Mode.all.map(\.name))
        invitation.mode = mode.flatMap { ModeIndex(named: $0) } ?? .advanced
        invitation.kind = try Self.kind(arguments)
        invitation.extendedData = try arguments.json("--data")
        invitation.timeout = try arguments.duration("--timeout")
        hangUp = try Self.hangUp(arguments)
    }

    private static func kind(_ arguments: Arguments) throws(CommandError) -> String {
        switch try arguments.oneOf("--kind", "--video") {
        case "--video"?: return "video"
        default:
            let kind = arguments.text("--kind") ?? "audio"
            guard (1...32).contains(kind.utf8.count) else {
                throw .usage("--kind takes a word of 1-32 bytes")
            }
            return kind
        }
    }

    private static func hangUp(_ arguments: Arguments) throws(CommandError) -> HangUp? {
        guard let option = try arguments.oneOf("--leave-after", "--hang-up-after"),
            let span = try arguments.duration(option)
        else { return nil }
        return HangUp(after: span, forAll: option == "--hang-up-after")
    }
}
