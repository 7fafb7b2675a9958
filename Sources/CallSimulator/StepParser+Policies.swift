// Reads what the policies do in a step.

import CallModel

extension StepParser {
    mutating func policy(_ words: inout StepReader) throws(ScenarioError) -> Action {
        if words.take("as") {
            let user = UserID(try words.next("an account"))
            let verb = try words.next("what the policy does")
            if verb == "finishes" { return .policyRequest(user, try finish(&words)) }
            return .policyRequest(user, try operation(verb, &words))
        }
        if words.take("dial") { return .answer(.dial, try dialAnswer(&words)) }
        if words.take("join") { return .answer(.join, try joinAnswer(&words)) }
        if words.take("in") {
            return .answer(.incomingData, .data(try words.value(after: "says")))
        }
        if words.take("out") { return .answer(.outgoingData, .views(try views(&words))) }
        if words.take("token") {
            let token = try words.value(after: "is").map { Array($0.utf8) }
            return .answer(.token, .token(token))
        }
        try words.must("for")
        let user = UserID(try words.next("an account"))
        if words.take("thinks") { return .think(.invite(user)) }
        return .answer(.invite(user), try decision(&words))
    }

    /// Only policies end a call whatever its mode and state.
    private mutating func finish(_ words: inout StepReader) throws(ScenarioError) -> Operation {
        let id = try call(&words)
        let code = try words.value(after: "with").flatMap { EndDetail(code: $0) }
        return .call(id, .finish(code: code), saying: try words.value(after: "saying"))
    }

    private mutating func decision(_ words: inout StepReader) throws(ScenarioError) -> Answer {
        let verb = try words.next("what the policy decides")
        let decision: Decision
        switch verb {
        case "accepts":
            let wait = try words.value(after: "wait") ?? "0ms"
            decision = .accept(
                wait: try length(wait, words), extendedData: try words.value(after: "saying"))
        case "rejects":
            decision = .reject(
                busy: words.take("busy"), extendedData: try words.value(after: "saying"))
        case "rings":
            let time = try words.value(after: "for")
            decision = .ring(for: time == nil ? nil : try length(time ?? "", words))
        case "forwards":
            try words.must("to")
            let targets = try users(&words)
            let each = try words.value(after: "each")
            decision = .forward(targets, each: each == nil ? nil : try length(each ?? "", words))
        case "abstains": return .none
        default: throw ScenarioError(line: words.line, "no policy `\(verb)`")
        }
        let plugin = try words.value(after: "by") ?? "plugin"
        let next = try words.value(after: "next").flatMap { Int($0) } ?? 1
        return .invite(decision, by: plugin, next: next)
    }

    private func joinAnswer(_ words: inout StepReader) throws(ScenarioError) -> Answer {
        if let code = try words.value(after: "refuses") { return .refuse(code: code, by: "plugin") }
        if words.take("abstains") { return .none }
        try words.must("admits")
        return .allow(Allowance())
    }

    private func dialAnswer(_ words: inout StepReader) throws(ScenarioError) -> Answer {
        if let code = try words.value(after: "refuses") { return .refuse(code: code, by: "plugin") }
        if words.take("abstains") { return .none }
        try words.must("allows")
        var allowance = Allowance()
        if words.take("only") { allowance.invitees = try users(&words) }
        if let text = try words.value(after: "timeout") {
            allowance.timeout = try length(text, words)
        }
        if words.take("saying") { allowance.extendedData = .some(try words.next("a text")) }
        return .allow(allowance)
    }

    /// `bob sees "…" of alice, carol sees nothing of the call`.
    private func views(_ words: inout StepReader) throws(ScenarioError) -> [Call.View] {
        var views: [Call.View] = []
        while !words.isAtEnd {
            let receiver = UserID(try words.next("who sees it"))
            try words.must("sees")
            let text = words.take("nothing") ? nil : try words.next("a text")
            try words.must("of")
            let owner = try words.next("a user, `call`, `end` or `transfer`")
            let named: [String: TextOwner] = ["call": .call, "end": .end, "transfer": .transfer]
            let whose = named[owner] ?? .participant(UserID(owner))
            views.append(Call.View(receiver: receiver, owner: whose, text: text))
            guard words.takeComma() else { break }
        }
        return views
    }
}
