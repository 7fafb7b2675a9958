// What handlers wait for: sleep, all, kv, http, users, and what they do to calls.

import CLua
import CallModel
import Configuration
import JSON
import Lua
import WebProtocols

/// What a handler waits for.
package enum Wait {
    case sleep(Milliseconds)
    case request(WaitRequest)
    case operation(UserID, Operation)
    /// These functions, each on its own.
    case all([Int32])
    /// A step of a test.
    case test(String, Arguments)
}

extension Bindings {
    /// What waits for something outside of the script.
    static let outside = CALLUA_WAITS | CALLUA_GIVES_TROUBLE

    static let waits: [Binding] =
        [
            Binding(
                "sleep", CALLUA_WAITS, type: "fun(span: Duration)", help: "Waits (\"2s\")."
            ) { _, arguments throws(Refused) in
                .wait(.sleep(try arguments.duration(0)))
            },
            Binding(
                "all", CALLUA_WAITS | CALLUA_TAKES_FUNCTIONS,
                type: "fun(functions: (fun(): any)[]): ...",
                help: "Runs functions side by side and returns the first result of each."
            ) { state, arguments throws(Refused) in
                let list = arguments[0].list ?? []
                let functions = list.compactMap(\.function)
                guard functions.count == list.count, (1...16).contains(list.count) else {
                    for function in functions { callua_release(state.vm, function) }
                    throw Refused("'all' takes a list of 1 to 16 functions")
                }
                return .wait(.all(functions))
            },
            Binding(
                "detach", CALLUA_HANDLER_ONLY | CALLUA_TAKES_FUNCTIONS,
                type: "fun(body: fun()): true?, string?",
                help: "Runs a function that does not end with the call."
            ) { state, arguments throws(Refused) in
                let function = try arguments.function(0)
                let (limits, cause) = (state.setting.limits, state.origin.cause)
                let hasRoom = state.memory.detached.hasRoom(
                    cause, most: limits.coroutines, part: limits.coroutinesOfCause)
                guard hasRoom, state.hasRoom(for: limits.coroutines) else {
                    callua_release(state.vm, function)
                    return .limit
                }
                state.detached.append((function, QuotaUse(state.memory, \.detached, cause)))
                return .value(.bool(true))
            },
            Binding(
                "users.get", outside, type: "fun(id: string|User): User?, string?",
                help: "What is known of a user now."
            ) { state, arguments throws(Refused) in
                // The id may come from a user: a bad one is no fault of the script.
                if let user = try arguments.possibleUser(0) {
                    return .asking(.lookUp(user, besides: state.call))
                }
                return .trouble("bad user id '\(arguments[0].shown)'")
            },
            Binding(
                "users.group", CALLUA_GIVES_TROUBLE, type: "fun(name: string): string[]?, string?",
                help: "The ids of the people of a group of the operator's."
            ) { state, arguments throws(Refused) in
                guard let group = state.setting.groups[try arguments.text(0)] else {
                    return .trouble("unknown")
                }
                return .value(.list(group.map { .text($0.text) }))
            },
        ] + store + web

    private static let store: [Binding] = [
        Binding(
            "kv.get", outside, type: "fun(key: string): any, string?",
            help: "The value under a key of this plugin, or nil."
        ) { state, arguments throws(Refused) in
            .asking(.store(.get(key: try arguments.key(0))))
        },
        Binding(
            "kv.set", outside,
            type: "fun(key: string, value: any, extra?: {ttl?: Duration}): true?, string?",
            help: "Keeps a value; it is durable when this returns."
        ) { state, arguments throws(Refused) in
            let value = try arguments.json(1)
            guard !value.isNull else { throw Refused("kv.set: the value is nil (use kv.delete)") }
            let count = value.bytes.count
            guard count <= state.setting.limits.state else { return .tooLarge }
            let (key, ttl) = (try arguments.key(0), try arguments.ttl(2))
            let hasRoom = state.memory.kept.keep(
                state.entry(count, for: ttl), under: key,
                part: state.setting.limits.keptOfCause, at: state.services.now)
            guard hasRoom else { return .limit }
            return .asking(.store(.set(key: key, value, lifetime: ttl)))
        },
        Binding(
            "kv.incr", outside,
            type: "fun(key: string, n?: integer, extra?: {ttl?: Duration}): integer?, string?",
            help: "Adds to a number under a key and returns the sum."
        ) { state, arguments throws(Refused) in
            let amount = try arguments[1].isNull ? 1 : arguments.integer(1)
            let (key, ttl) = (try arguments.key(0), try arguments.ttl(2))
            let hasRoom = state.memory.kept.add(
                state.entry(MemoryLayout<Int64>.size, for: ttl), to: key,
                part: state.setting.limits.keptOfCause, at: state.services.now)
            guard hasRoom else { return .limit }
            return .asking(.store(.increment(key: key, by: amount, lifetime: ttl)))
        },
        Binding(
            "kv.delete", outside, type: "fun(key: string): true?, string?",
            help: "Forgets the value under a key."
        ) { state, arguments throws(Refused) in
            let key = try arguments.key(0)
            state.memory.kept.forget(key)
            return .asking(.store(.delete(key: key)))
        },
        Binding(
            "kv.keys", outside, type: "fun(prefix?: string): string[]?, string?",
            help: "The keys that begin with a prefix, sorted."
        ) { state, arguments throws(Refused) in
            .asking(
                .store(.keys(prefix: arguments[0].isNull ? "" : try arguments.text(0))))
        },
        Binding(
            "limit", CALLUA_HANDLER_ONLY,
            type: "fun(key: string, max: integer, per: Duration): boolean?, string?",
            help: "Whether this happened fewer than max times in the last while; counts it if so."
        ) { state, arguments throws(Refused) in
            let most = try arguments.integer(1)
            guard (0...Int64(SlidingWindows.eventsMax)).contains(most) else {
                throw Refused("limit: max is between 0 and \(SlidingWindows.eventsMax)")
            }
            let event = SlidingWindows.Event(
                key: try arguments.text(0), most: Int(most), span: try arguments.duration(2),
                cause: state.origin.cause)
            let isAdmitted = state.memory.windows.admit(
                event, state.setting.limits, at: state.services.now)
            return isAdmitted.map { .value(.bool($0)) } ?? .limit
        },
    ]

    private static let web: [Binding] = [
        Binding(
            "http.get", outside,
            type: "fun(url: string, extra?: HttpExtra): HttpReply?, string?",
            help: "Fetches from a granted host."
        ) { state, arguments throws(Refused) in
            try state.fetch("GET", arguments)
        },
        Binding(
            "http.post", outside,
            type: "fun(url: string, extra?: HttpExtra): HttpReply?, string?",
            help: "Posts to a granted host: extra.json or extra.body."
        ) { state, arguments throws(Refused) in
            try state.fetch("POST", arguments)
        },
    ]
}

extension Arguments {
    /// A key of the durable store.
    fileprivate func key(_ index: Int) throws(Refused) -> String {
        let key = try text(index)
        guard (1...256).contains(key.utf8.count) else {
            throw Refused("\(name): a key has 1 to 256 bytes")
        }
        return key
    }

    fileprivate func ttl(_ index: Int) throws(Refused) -> Milliseconds? {
        if self[index].isNull { return nil }
        for pair in try table(index).table ?? [] where pair.key != .text("ttl") {
            throw Refused(
                "\(name): unknown field '\(pair.key.shown)' (did you mean 'ttl'?)",
                isWrongType: true)
        }
        let ttl = self[index]["ttl"]
        if ttl.isNull { return nil }
        guard let span = ttl.text.flatMap({ Duration.parse($0) }), span > 0 else {
            throw Refused(
                "\(name): bad ttl '\(ttl.shown)' (write \"10m\", \"7d\")",
                isWrongType: ttl.text == nil)
        }
        return span
    }
}

extension Response {
    fileprivate static func asking(_ request: WaitRequest) -> Response { .wait(.request(request)) }
}

extension PluginState {
    /// What the run at hand keeps in `kv`.
    fileprivate func entry(_ bytes: Int, for lifetime: Milliseconds?) -> KeptKeys.Entry {
        KeptKeys.Entry(
            cause: origin.cause, bytes: bytes,
            expiresAt: lifetime.map { services.now + $0 })
    }

    /// Trouble that no script can fix: the operator, or its author, must hear of it.
    func complaining(_ text: String, _ failure: Failure? = nil) -> Response {
        let message = "\(file): \(text)"
        if let left = memory.lines.admit(message, at: services.now) {
            var line = PolicyLog(.error, message, plugin: name, call: call)
            line.fields["failure"] = failure.map { .string($0.rawValue) }
            if left > 0 { line.fields["left_out"] = .integer(Int64(left)) }
            services.emit(.log(line))
        }
        return .trouble(text)
    }

    fileprivate func fetch(_ method: String, _ arguments: Arguments) throws(Refused) -> Response {
        let url = try arguments.text(0)
        guard let host = WebAddress.host(of: url) else {
            return .trouble("bad address '\(url)'")
        }
        guard setting.grants.contains("http:\(host)") else {
            tally.failures[.denied, default: 0] += 1
            return complaining(
                "\(arguments.name): \"http:\(host)\" is not granted to this plugin", .denied)
        }
        var request = FetchRequest(
            method: method, url: url, headers: [], body: [], timeout: 5_000)
        request.mayBeInternal = setting.grants.contains("internal:\(host)")
        let extras = try arguments[1].isNull ? .null : arguments.table(1)
        for pair in extras.table ?? [] { try request.take(pair, arguments) }
        let hasRoom = memory.fetches.hasRoom(
            origin.cause, most: setting.limits.fetches, part: setting.limits.fetchesOfCause)
        guard hasRoom else { return .limit }
        return .asking(.fetch(request))
    }
}

extension FetchRequest {
    private static let extras = ["json", "body", "headers", "timeout"]

    /// Takes one field of the second argument.
    fileprivate mutating func take(
        _ pair: LuaValue.Pair, _ arguments: Arguments
    ) throws(Refused) {
        switch pair.key.text {
        case "json":
            do throws(LuaProblem) {
                body = try pair.value.json().bytes
            } catch {
                throw Refused("\(arguments.name): json: \(error.message)")
            }
            headers.append(HTTPHeader("Content-Type", "application/json"))
        case "body":
            guard let text = pair.value.text else {
                throw Refused("\(arguments.name): body is a string", isWrongType: true)
            }
            body = Array(text.utf8)
        case "headers":
            for header in pair.value.table ?? [] {
                guard let name = header.key.text, let value = header.value.text,
                    !name.utf8.contains(where: { $0 < 0x21 || $0 == 0x3A }),
                    !value.utf8.contains(where: { $0 < 0x20 && $0 != 9 })
                else { throw Refused("\(arguments.name): bad header '\(header.key.shown)'") }
                headers.append(HTTPHeader(name, value))
            }
        case "timeout":
            guard let text = pair.value.text, let span = Duration.parse(text),
                (1...60_000).contains(span)
            else { throw Refused("\(arguments.name): timeout is a duration of at most \"60s\"") }
            timeout = span
        default:
            let name = pair.key.shown
            throw Refused(
                "\(arguments.name): unknown field '\(name)'"
                    + Suggestion.text(for: name, among: Self.extras), isWrongType: true)
        }
    }
}
