// A decision as one line of JSON.

import CallModel
import JSON
import Lua
import PolicyHost
import WebProtocols

extension DecisionRecord {
    /// Writes the record as one JSON object.
    public func write(into writer: inout JSONWriter) {
        writer.object {
            $0.field("at", at.milliseconds)
            $0.key("call")
            $0.value(hex: call.high, call.low)
            $0.field("event", plain: hook.rawValue)
            $0.field("user", user.text)
            if !cause.isNobody { $0.object("cause") { cause.write(into: &$0) } }
            if let trace { $0.field("traceparent", trace.description) }
            $0.field("generation", generation)
            $0.field("took_ms", took)
            $0.array("asked") {
                for plugin in asked { plugin.write(into: &$0) }
            }
            $0.object("decision") { outcome.write(into: &$0) }
            if let input { $0.object("input") { input.write(into: &$0) } }
        }
    }

    /// The record as one JSON object.
    public var line: [UInt8] {
        var writer = JSONWriter()
        write(into: &writer)
        return writer.bytes
    }
}

extension Cause {
    fileprivate func write(into writer: inout JSONWriter) {
        if let user { writer.field("user", user.text) }
        if let caller { writer.field("caller", caller.text) }
    }
}

extension DecisionRecord.Asked {
    fileprivate func write(into writer: inout JSONWriter) {
        writer.object {
            $0.field("plugin", plugin)
            $0.field("said", literal: verdict.word)
            if case .failed(let failure) = verdict { $0.field("failure", failure.rawValue) }
            if let message { $0.field("message", message) }
            $0.field("wall_ms", wall)
            $0.field("cpu_us", Int64(processor / 1_000))
        }
    }
}

// MARK: - What was decided

extension DecisionRecord.Outcome {
    /// Writes the members of the decision.
    public func write(into writer: inout JSONWriter) {
        switch self {
        case .answer(let answer): answer.write(into: &writer)
        case .push(let draft?):
            writer.field("action", literal: "push")
            writer.field("push", .object(draft.table))
        case .push(nil): writer.field("action", literal: "drop")
        }
    }
}

extension Answer {
    fileprivate func write(into writer: inout JSONWriter) {
        switch self {
        case .invite(let decision, let plugin, let next):
            decision.write(into: &writer)
            writer.field("by", plugin)
            writer.field("next", next)
        case .allow(let allowance):
            writer.field("action", literal: "allow")
            if let timeout = allowance.timeout { writer.field("timeout_ms", timeout) }
            if let invitees = allowance.invitees { writer.field("invitees", invitees) }
            if let data = allowance.extendedData { writer.field("extended_data", data) }
        case .refuse(let code, let plugin):
            writer.field("action", literal: "refuse")
            writer.field("code", code)
            writer.field("by", plugin)
        case .data(let text):
            writer.field("action", literal: "data")
            writer.field("extended_data", text)
        case .views(let views):
            writer.field("action", literal: "views")
            writer.array("views") {
                for view in views { view.write(into: &$0) }
            }
        case .tooLarge(let plugin):
            writer.field("action", literal: "too_large")
            writer.field("by", plugin)
        // Whoever reads the log must not be able to use the credentials.
        case .token(let token): writer.field("action", token == nil ? "none" : "token")
        case .none: writer.field("action", literal: "default")
        }
    }
}

extension Decision {
    fileprivate func write(into writer: inout JSONWriter) {
        switch self {
        case .accept(let wait, let data):
            writer.field("action", literal: "accept")
            writer.field("wait_ms", wait)
            writer.field("extended_data", data)
        case .reject(let busy, let data):
            writer.field("action", literal: "reject")
            writer.field("reason", plain: busy ? "busy" : "declined")
            writer.field("extended_data", data)
        case .ring(let time):
            writer.field("action", literal: "ring")
            writer.field("for_ms", time)
        case .forward(let users, let each):
            writer.field("action", literal: "forward")
            writer.field("to", users)
            writer.field("each_ms", each)
        }
    }
}

extension Call.View {
    func write(into writer: inout JSONWriter) {
        writer.object {
            $0.field("receiver", receiver.text)
            owner.write(into: &$0)
            $0.field("extended_data", text)
        }
    }
}

extension TextOwner {
    fileprivate func write(into writer: inout JSONWriter) {
        switch self {
        case .call: writer.field("of", literal: "call")
        case .end: writer.field("of", literal: "end")
        case .transfer: writer.field("of", literal: "transfer")
        case .participant(let user):
            writer.field("of", literal: "participant")
            writer.field("participant", user.text)
        }
    }
}

// MARK: - What it was decided on

extension DecisionInput {
    fileprivate func write(into writer: inout JSONWriter) {
        writer.field("decide_in_ms", decideIn)
        if wallOffset != 0 { writer.field("wall_offset_ms", wallOffset) }
        // As text: not every reader of JSON has integers of 64 bits.
        writer.field("dice", hex: dice)
        subject.write(into: &writer)
        writer.key("call")
        writer.call(call, facts)
        if !vars.isEmpty { write(vars, into: &writer) }
        if let states { write(states, into: &writer) }
        guard !seen.isEmpty else { return }
        writer.array("seen") {
            for seen in seen { seen.write(into: &$0) }
        }
    }

    /// The copies themselves stand in files of their own (`StateFiles`).
    private func write(_ states: [State], into writer: inout JSONWriter) {
        writer.object("states") {
            for state in states {
                $0.key(text: state.plugin)
                $0.value(state.id.map { .string(String($0, radix: 16)) } ?? JSONValue.null)
            }
        }
    }

    private func write(_ vars: [Vars], into writer: inout JSONWriter) {
        writer.object("vars") {
            for vars in vars {
                // What is no JSON, such as a table with gaps, cannot be asked with again.
                guard let json = vars.json else { continue }
                $0.key(text: vars.plugin)
                $0.value(json)
            }
        }
    }
}

extension DecisionInput.Vars {
    /// The same as JSON; nil when it is none.
    var json: JSONValue? {
        bytes.withUnsafeBytes { bytes in
            var reader = PlainReader(bytes)
            return try? reader.value().json()
        }
    }
}

extension DecisionInput.Subject {
    fileprivate func write(into writer: inout JSONWriter) {
        switch self {
        case .push(let draft, _): writer.field("push", .object(draft.table))
        case .question(.invite(_, _, let from)): if from > 0 { writer.field("from", from) }
        case .question(.dial(_, _, let invitees)): writer.field("invitees", invitees)
        case .question(.incomingData(_, _, let data)): writer.field("data", data)
        case .question(.join), .question(.token): break
        case .question(.outgoingData(_, let texts)):
            writer.array("texts") {
                for text in texts {
                    $0.object {
                        $0.field("receiver", text.receiver.text)
                        text.owner.write(into: &$0)
                        $0.field("data", text.data)
                    }
                }
            }
        }
    }
}

extension DecisionInput.Seen {
    /// Longer bodies of web servers are not kept.
    static let bodyMax = 16 << 10

    fileprivate func write(into writer: inout JSONWriter) {
        writer.object {
            $0.field("plugin", plugin)
            $0.field("request", request)
            $0.field("after_ms", after)
            if let reply { write(reply, into: &$0) }
        }
    }

    private func write(_ reply: WaitReply, into writer: inout JSONWriter) {
        switch reply {
        case .value(let value): writer.field("value", value)
        case .user(let facts):
            writer.object("user") { $0.facts(facts) }
        case .operation(let refusal): writer.field("refused", refusal?.code.rawValue)
        case .trouble(let text): writer.field("trouble", text)
        case .call: writer.null("call")
        case .fetched(let reply): write(reply, into: &writer)
        }
    }

    private func write(_ reply: FetchReply, into writer: inout JSONWriter) {
        writer.field("status", reply.status)
        writer.object("headers") {
            for header in reply.headers where header.name.lowercased() != "set-cookie" {
                $0.key(text: header.name)
                $0.value(header.value)
            }
        }
        if reply.body.count <= Self.bodyMax,
            let text = String(validating: reply.body, as: UTF8.self)
        {
            writer.field("body", text)
        } else {
            writer.field("body_bytes", reply.body.count)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func field(_ key: StaticString, _ users: [UserID]) {
        array(key) {
            for user in users { $0.value(user.text) }
        }
    }

    fileprivate mutating func facts(_ facts: UserFacts) {
        field("user", facts.user.text)
        field("calls", facts.calls)
        field("devices", facts.devices)
        if let name = facts.name { field("name", name) }
    }

    /// What handlers see of a call.
    fileprivate mutating func call(_ call: Call, _ facts: [UserFacts]) {
        beginObject()
        var seen = SeenCall()
        swap(&seen.writer, &self)
        call.visit(&seen, for: nil)
        swap(&seen.writer, &self)
        array("users") {
            for facts in facts { $0.object { $0.facts(facts) } }
        }
        endObject()
    }
}
