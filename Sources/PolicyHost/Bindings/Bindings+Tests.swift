// What `test("…", function(t) … end)` gets as `t`.

import CLua
import Lua

extension Bindings {
    /// Bound only where tests are run.
    static let tests: [Binding] = steps.map { step in
        Binding("t:\(step.name)", CALLUA_WAITS | step.flags, type: step.type, help: step.help) {
            _, arguments throws(Refused) in
            .wait(.test(step.name, Arguments(values: arguments.values, name: "t.\(step.name)")))
        }
    }

    private struct TestStep {
        let name: String
        var flags = 0
        let type: String
        let help: String
    }

    private static let steps: [TestStep] = [
        .init(
            name: "invite", type: "fun(invitation: TestCall): Decision?",
            help: "Begins a call; returns the decision about its first invitee, or nil."),
        .init(
            name: "again", type: "fun(): Decision?",
            help: "Lets the time of ring { for_ = … } pass; returns what is decided then."),
        .init(
            name: "dial", type: "fun(invitation: TestCall): Decision?",
            help: "Asks on.dial; to may be a list. With by, this user adds them to the last call."),
        .init(
            name: "join", type: "fun(call?: TestCall): Decision?",
            help: "Asks on.join about user, who was not invited; eve unless you say who."),
        .init(
            name: "token", type: "fun(call?: TestCall): any",
            help: "Asks on.token for the callee, or for user."),
        .init(
            name: "data", type: "fun(data: any, dir?: \"in\"|\"out\", call?: TestCall): any",
            help: "Asks on.extended_data; returns the data as shaped, nil if dropped."),
        .init(
            name: "push", type: "fun(push: TestPush, call?: TestCall): any",
            help: "Asks on.push; returns the push as shaped, nil if dropped."),
        .init(
            name: "accept", type: "fun(call?: TestCall)",
            help: "A device of whoever is called accepts: on.accepted."),
        .init(
            name: "event", type: "fun(name: string, event?: TestEvent)",
            help: "Lets something happen, or tells a report hook that it did."),
        .init(
            name: "user",
            type: "fun(id: string, facts: {calls?: integer, devices?: integer, online?: boolean, "
                + "name?: string})",
            help: "What is known of a user from now on."),
        .init(
            name: "group", type: "fun(name: string, users: string[])",
            help: "Loads the plugin anew, where the operator has this group."),
        .init(
            name: "options", type: "fun(options: table)",
            help: "Loads the plugin anew, with these options."),
        .init(
            name: "clock", type: "fun(time: string)",
            help: "Sets the clock: \"Mon 10:00\" of that week or \"2030-05-01 10:00\"."),
        .init(
            name: "timezone", type: "fun(name: string)",
            help: "Loads the plugin anew in this time zone, such as \"Europe/Berlin\"; it is UTC."),
        .init(
            name: "advance", type: "fun(span: Duration)",
            help: "Lets time pass; timers fire and waits end."),
        .init(
            name: "http", type: "fun(url: string, reply: TestReply|string)",
            help: "What http.get and http.post of this address come to; a string is an error."),
        .init(
            name: "reload", type: "fun()",
            help: "Hands the plugin over to a new generation, as a reload does."),
        .init(
            name: "expect", type: "fun(decision: Decision?, expected: Decision?)",
            help: "Fails unless both decisions are the same."),
        .init(
            name: "equal", type: "fun(value: any, expected: any)",
            help: "Fails unless both values are the same, all the way down."),
        .init(
            name: "calls", type: "fun(): any",
            help: "What the plugin did to calls and asked of the web, in order."),
        .init(
            name: "cost", type: "fun(): number",
            help: "Milliseconds of processor time that the most expensive decision took."),
        .init(name: "logs", type: "fun(): string[]", help: "What the plugin logged, in order."),
    ]
}
