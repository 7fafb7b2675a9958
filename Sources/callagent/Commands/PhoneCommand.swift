// The command `phone`: what its options mean.

import CallModel

extension Command {
    static let phone = Command(
        "phone", "be a phone: show incoming calls and answer them",
        options: DeviceOptions.options + [
            Option("--ring", nil, "only ring (the default)"),
            Option("--accept", nil, "accept every call"),
            Option("--reject", "REASON", "reject every call as busy or declined"),
            Option("--accept-after", "2s", "accept, but ring so long before"),
            Option("--data", "JSON", "extended data of the answer"),
            Option("--once", nil, "end after the first call"),
        ]
    ) { (arguments) throws(CommandError) in
        let plan = try PhonePlan(arguments)
        return try DeviceProgram.run(DeviceOptions(arguments)) { Phone(plan, $0) }
    }
}

extension PhonePlan {
    /// What the command line asks for.
    init(_ arguments: CommandArguments) throws(CommandError) {
        switch try arguments.oneOf("--ring", "--accept", "--reject", "--accept-after") {
        case "--accept"?: answer = .accept(after: 0)
        case "--accept-after"?:
            answer = .accept(after: try arguments.duration("--accept-after") ?? 0)
        case "--reject"?:
            let reason = try arguments.choice("--reject", among: ["busy", "declined"])
            answer = .reject(busy: reason == "busy")
        default: answer = .ring
        }
        data = try arguments.json("--data")
        isOnce = arguments.has("--once")
    }
}
