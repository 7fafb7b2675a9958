// Reads what happens in a step.

import CallModel

/// A step as it is meant: a directive of the notation, or something that happens.
enum Meaning {
    /// `with alice, bob/laptop`: these connect, and nobody looks.
    case with([Address])
    /// Something happens, done by this device where a device does it.
    case action(Action, by: Address?)
    /// `alice gets c1 in full`.
    case look(Action, by: Address)
}

/// Reads the steps of one scenario.
struct StepParser {
    /// Names of the calls so far.
    var names = CallNames()
    private let settings = Settings()

    mutating func read(_ step: Scenario.Step) throws(ScenarioError) -> Meaning {
        var words = try StepReader(step.text, line: step.line)
        let meaning = try read(&words)
        try words.end()
        return meaning
    }

    private mutating func read(_ words: inout StepReader) throws(ScenarioError) -> Meaning {
        if words.take("with") {
            var devices: [Address] = []
            for name in try words.list("a device") { devices.append(address(name)) }
            return .with(devices)
        }
        if words.take("setting") {
            let name = try words.next("a setting")
            return .action(.setting(name, try words.rest()), by: nil)
        }
        if words.take("policy") { return .action(try policy(&words), by: nil) }
        if words.take("server") {
            try words.must("restarts")
            let pause = try words.value(after: "after") ?? "0s"
            return .action(.restart(after: try length(pause, words)), by: nil)
        }
        let first = try words.next("who does something")
        if let time = span(first) {
            guard words.take("pass") || words.take("passes") else {
                throw words.expected("`pass`")
            }
            return .action(.pass(time), by: nil)
        }
        return try device(address(first), &words)
    }

    // MARK: Devices

    private mutating func device(
        _ device: Address, _ words: inout StepReader
    ) throws(ScenarioError) -> Meaning {
        if words.take("connects") { return .action(.connect(device, resuming: false), by: device) }
        if words.take("resumes") { return .action(.connect(device, resuming: true), by: device) }
        if words.take("disconnects") { return .action(.disconnect(device), by: device) }
        if words.take("expires") { return .action(.forget(device), by: device) }
        if words.take("says") {
            try words.must("bye")
            return .action(.bye(device), by: device)
        }
        let verb = try words.next("what \(device.user) does")
        let operation = try operation(verb, &words)
        let key = try words.value(after: "key")
        let action = Action.request(device, operation, key: key)
        if words.take("in") {
            try words.must("full")
            return .look(action, by: device)
        }
        return .action(action, by: device)
    }

    /// What a device or a policy asks for.
    mutating func operation(
        _ verb: String, _ words: inout StepReader
    ) throws(ScenarioError) -> Operation {
        switch verb {
        case "invites": return try invitation(&words)
        case "lists": return .list(try query(&words))
        case "registers":
            let provider = try words.next("a provider")
            return .pushRegister(
                PushRegistration(provider: provider, token: try words.next("a token")))
        case "unregisters": return .pushUnregister(provider: try words.next("a provider"))
        case "adds":
            let invitees = try users(&words)
            try words.must("to")
            return .call(try call(&words), .add(invitees, push: try push(&words)))
        case "acknowledges":
            let user = UserID(try words.next("a user"))
            try words.must("in")
            return .call(try call(&words), .acceptAck(user))
        case "wants":
            for word in ["a", "token", "for"] { try words.must(word) }
            return .call(try call(&words), .token)
        default:
            let id = try call(&words)
            let action = try action(verb, &words)
            return .call(id, action, saying: try words.value(after: "saying"))
        }
    }

    private func action(_ verb: String, _ words: inout StepReader) throws(ScenarioError)
        -> CallAction
    {
        switch verb {
        case "shows": return .ringing
        case "accepts": return try acceptance(&words)
        case "rejects": return .reject(busy: words.take("busy"))
        case "cancels":
            let chosen = words.take("for") ? try users(&words) : []
            return .cancel(chosen, push: try push(&words))
        case "joins":
            let audio = try flag("audio", &words)
            return .join(audio: audio, video: try flag("video", &words))
        case "leaves": return .leave(push: try push(&words))
        case "ends": return .end(push: try push(&words))
        case "finishes":
            return .finish(code: try words.value(after: "with").flatMap { EndDetail(code: $0) })
        case "gets": return .get
        case "holds": return .hold(on: true, force: words.take("force"))
        case "unholds": return .hold(on: false, force: words.take("force"))
        case "sets":
            let audio = try flag("audio", &words)
            return .media(audio: audio, video: try flag("video", &words))
        case "edits": return .items(try itemsChange(&words))
        case "signals":
            let user = try words.value(after: "to").map { UserID($0) }
            return .signal(to: user, data: Array(try words.next("JSON").utf8))
        case "reports":
            let word = try words.next("what of the media")
            guard let report = MediaReport(rawValue: word) else {
                throw words.expected("connected, lost, recovered or failed")
            }
            return .report(report)
        default: throw ScenarioError(line: words.line, "nobody `\(verb)` anything")
        }
    }

    private mutating func invitation(_ words: inout StepReader) throws(ScenarioError) -> Operation {
        var invitation = Invitation(invitees: try users(&words))
        if let name = try words.value(after: "as") { names.announce(name) }
        if let name = try words.value(after: "mode") {
            guard let mode = ModeIndex(named: name, in: settings.modes) else {
                throw ScenarioError(line: words.line, "no mode is called \(name)")
            }
            invitation.mode = mode
        }
        invitation.kind = try words.value(after: "kind") ?? invitation.kind
        if let text = try words.value(after: "timeout") {
            invitation.timeout = try length(text, words)
        }
        if words.take("checked") {
            invitation.deliveryCheck = Invitation.usualDeliveryCheck
            if let text = try words.value(after: "after") {
                invitation.deliveryCheck = try length(text, words)
            }
        } else if words.take("unchecked") {
            invitation.deliveryCheck = 0
        }
        if words.take("items") { invitation.items = try items(&words) }
        invitation.audio = try flag("audio", &words)
        invitation.video = try flag("video", &words)
        invitation.push = try push(&words)
        invitation.extendedData = try words.value(after: "saying")
        return .invite(invitation)
    }

    private func acceptance(_ words: inout StepReader) throws(ScenarioError) -> CallAction {
        var acceptance = Acceptance()
        acceptance.audio = try flag("audio", &words)
        acceptance.video = try flag("video", &words)
        acceptance.holdActive = words.take("holding")
        return .accept(acceptance)
    }

    private func query(_ words: inout StepReader) throws(ScenarioError) -> ListQuery {
        var query = ListQuery()
        if let text = try words.value(after: "limit") { query.limit = Int(text) ?? query.limit }
        if words.take("before") { query.before = try call(&words) }
        query.state = try words.value(after: "state").flatMap { Call.State(rawValue: $0) }
        query.role = try words.value(after: "role").flatMap { Participant.Role(rawValue: $0) }
        query.kind = try words.value(after: "kind")
        query.peer = try words.value(after: "with").map { UserID($0) }
        if words.take("ended") {
            query.endReasons = try words.list("a reason").compactMap { EndReason(rawValue: $0) }
        }
        return query
    }

    // MARK: Parts

    func call(_ words: inout StepReader) throws(ScenarioError) -> CallID {
        let name = try words.next("a call")
        guard let id = names.id(name) else {
            throw ScenarioError(line: words.line, "no call is named \(name)")
        }
        return id
    }

    func users(_ words: inout StepReader) throws(ScenarioError) -> [UserID] {
        try words.list("a user").map { UserID($0) }
    }

    func length(_ text: String, _ words: StepReader) throws(ScenarioError) -> Milliseconds {
        guard let length = span(text) else {
            throw ScenarioError(line: words.line, "`\(text)` is no length of time, like 30s")
        }
        return length
    }

    private func flag(_ name: String, _ words: inout StepReader) throws(ScenarioError) -> Bool? {
        guard let word = try words.value(after: name) else { return nil }
        guard word == "on" || word == "off" else { throw words.expected("`on` or `off`") }
        return word == "on"
    }

    private func push(_ words: inout StepReader) throws(ScenarioError) -> PushText? {
        guard let title = try words.value(after: "pushing") else { return nil }
        return PushText(title: title)
    }

    private func items(_ words: inout StepReader) throws(ScenarioError) -> [Call.Item] {
        var items: [Call.Item] = []
        for word in try words.list("KEY=VALUE") {
            let parts = word.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else {
                throw ScenarioError(line: words.line, "`\(word)` is not KEY=VALUE")
            }
            items.append(Call.Item(key: String(parts[0]), value: String(parts[1])))
        }
        return items
    }

    private func itemsChange(_ words: inout StepReader) throws(ScenarioError) -> ItemsChange {
        var change = ItemsChange()
        change.clear = words.take("clear")
        if words.take("delete") { change.delete = try words.list("a key") }
        if words.take("put") { change.put = try items(&words) }
        return change
    }
}
