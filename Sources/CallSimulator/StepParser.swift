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
    /// The built-in modes, and those that the scenario made.
    var modes = Settings().modes

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
            let values = try words.rest()
            if name == "own_mode", let mode = Mode(text: values.joined(separator: " ")) {
                modes.removeAll { $0.name == mode.name }
                modes.append(ModeRow(mode))
            }
            return .action(.setting(name, values), by: nil)
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
}
