// What handlers wait for: sleep, kv, http, users, all, operations on calls.

import CLua
import CallCore
import JSON

/// What a handler waits for.
enum Wait {
    case sleep(Milliseconds)
    case request(WaitRequest)
    case operation(UserID, Operation)
}

extension Bindings {
    static let waits: [Binding] = [
        Binding(
            "sleep", CALLUA_WAITS, type: "fun(span: string)", help: "Waits (\"2s\")."
        ) { _, arguments throws(Refused) in
            .wait(.sleep(try arguments.duration(0)))
        }
    ]
}
