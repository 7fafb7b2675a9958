// The command `call`: what its options mean.

import CallModel
import Configuration
import EventLoop

extension Command {
    static let call = Command(
        "call", "call people, show what happens, stay until the end", operands: .several("USER"),
        options: DeviceOptions.options + [
            Option("--mode", "MODE", "how the call behaves (default: the server's)"),
            Option("--kind", "KIND", "audio, video or a word of your own (default: audio)"),
            Option("--video", nil, "the same as --kind video"),
            Option("--no-audio", nil, "begin without sending audio"),
            Option("--data", "JSON", "extended data of the invitation"),
            Option("--item", "KEY=VALUE", "a named text of the call", isRepeatable: true),
            Option("--delivery-check", "[MS]", "after it an invitation is undelivered (5000)"),
            Option("--push-title", "TEXT", "first line of the push"),
            Option("--push-body", "TEXT", "second line of the push"),
            Option("--push-payload", "JSON", "the app's own data in the push"),
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
    init(_ arguments: CommandArguments) throws(CommandError) {
        var invitees: [UserID] = []
        for text in arguments.operands { invitees.append(try CommandArguments.user(text, "USER")) }
        invitation = Invitation(invitees: invitees)
        let modes = try Installation.configuration(arguments).modes.map { ModeRow($0) }
        let mode = try arguments.choice("--mode", among: modes.map(\.name))
        // Without one it is the server's to choose: invite.mode of its file (H88).
        invitation.mode = mode.flatMap { ModeRow(named: $0, in: modes) }
        invitation.kind = try Self.kind(arguments)
        invitation.extendedData = try arguments.json("--data")
        invitation.timeout = try arguments.duration("--timeout")
        invitation.deliveryCheck = try Self.deliveryCheck(arguments)
        if arguments.has("--no-audio") { invitation.audio = false }
        invitation.items = try Self.items(arguments)
        invitation.push = try Self.push(arguments)
        hangUp = try Self.hangUp(arguments)
    }

    private static func kind(_ arguments: CommandArguments) throws(CommandError) -> String {
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

    private static func deliveryCheck(
        _ arguments: CommandArguments
    ) throws(CommandError) -> Milliseconds? {
        guard let text = arguments.text("--delivery-check") else { return nil }
        if text.isEmpty { return Invitation.usualDeliveryCheck }
        return try arguments.number("--delivery-check", in: 1_000...30_000).map { Milliseconds($0) }
    }

    private static func items(_ arguments: CommandArguments) throws(CommandError) -> [Call.Item] {
        var items: [Call.Item] = []
        for text in arguments.texts("--item") {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw .usage("--item takes KEY=VALUE, not '\(text)'")
            }
            let key = String(parts[0])
            guard !items.contains(where: { $0.key == key }) else {
                throw .usage("--item \(key) is given twice")
            }
            items.append(Call.Item(key: key, value: String(parts[1])))
        }
        return items
    }

    private static func push(_ arguments: CommandArguments) throws(CommandError) -> PushText? {
        let push = PushText(
            title: arguments.text("--push-title"), body: arguments.text("--push-body"),
            payload: try arguments.json("--push-payload"))
        return push == PushText() ? nil : push
    }

    private static func hangUp(_ arguments: CommandArguments) throws(CommandError) -> HangUp? {
        guard let option = try arguments.oneOf("--leave-after", "--hang-up-after"),
            let span = try arguments.duration(option)
        else { return nil }
        return HangUp(after: span, forAll: option == "--hang-up-after")
    }
}
