// Values that cross between Lua and the host, and the helpers for data.

import CallModel
import Configuration
import JSON
import Lua
import PolicyTestSupport
import Testing
import WebProtocols

@testable import PolicyHost

@Suite struct DataTests {
    /// What `expression` comes to, as a log line shows it.
    private func value(_ expression: String, _ cryptography: Cryptography = .none) throws -> String
    {
        let generation = try Rig.generation([
            ("p", "on.invite(function() log.info(\(expression)) end)")
        ])
        let host = PolicyHost(generation, seed: 1, cryptography: cryptography)
        let rig = Rig(host)
        return rig.ask(rig.call()).said.joined(separator: "\n")
    }

    @Test(arguments: [
        (
            #"json.encode { a = 1, b = 1.5, c = "x", d = { 1, 2 }, e = {} }"#,
            #"{"a":1,"b":1.5,"c":"x","d":[1,2],"e":{}}"#
        ),
        (
            #"json.encode(json.decode '{"a":{},"b":[],"c":null,"d":9007199254740993}')"#,
            #"{"a":{},"b":[],"d":9007199254740993}"#
        ),
        (#"json.encode(json.decode '[1,null,{"a":[null]},3]')"#, #"[1,{"a":[]},3]"#),
        (#"math.type(json.decode "3") .. math.type(json.decode "3.0")"#, "integerfloat"),
        (#"json.encode { [1] = "a", [2] = "b" }"#, #"["a","b"]"#),
        (#"json.encode(json.decode [["\u00e9\ud83d\ude00"]])"#, "\"é😀\""),
        (#"select(2, json.decode "{x}")"#, "expected a member name in quotes"),
        (#"select(2, json.decode '"\255"')"#, "UTF-8"),
        (#"select(3, pcall(kv.get, "\255"))"#, "(a string that is not UTF-8)"),
        (#"math.type(math.random(0))"#, "integer"),
        (#"select(2, pcall(json.encode, { [1] = 1, [3] = 2 }))"#, "only strings as keys"),
        (#"select(2, pcall(json.encode, { a = { 1, print } }))"#, "(a[2]: a function is not data)"),
        (#"select(2, pcall(json.encode, "\255"))"#, "not UTF-8"),
        (#"select(2, pcall(json.encode, 1 / 0))"#, "not a finite number"),
        (#"base64.encode "\0\255\16" .. base64.encode("\255\255", true)"#, "AP8Q__8"),
        (#"#base64.decode "AP8Q""#, "3"),
        (#"tostring(base64.decode "A*")"#, "nil"),
        (
            #"time.format("%Y-%m-%d %H:%M:%S %a %b %j %z %%", 1700000000)"#,
            "2023-11-14 22:13:20 Tue Nov 318 +0000 %"
        ),
        (#"select(2, pcall(time.format, "%Q"))"#, "bad pattern '%Q'"),
        (#"time.format("%Y", 253402214399) .. time.format("%Y", -62167132800)"#, "99990"),
        (
            #"select(2, pcall(time.format, "%Y", math.maxinteger))"#,
            "time.format: 9223372036854775807 s is not in the years 0 to 9999"
        ),
        (#"select(2, pcall(time.format, "%Y", 253402214400))"#, "not in the years 0 to 9999"),
        (#"select(2, pcall(time.format, "%Y", -62167132801))"#, "not in the years 0 to 9999"),
        (#"(uuid():gsub("%x", "x"))"#, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"),
        (#"select(2, pcall(hmac, "md5", "k", "t"))"#, "unknown algorithm 'md5'"),
        (
            #"select(2, pcall(jwt, { a = 1 }, { alg = "none", key = "k" }))"#,
            "cannot sign with 'none'"
        ),
        (#"select(2, pcall(jwt, { a = 1 }, {}))"#, "jwt needs a key"),
        (#"select(2, pcall(count, "Bad Name"))"#, "bad metric name 'Bad Name'"),
        (#"select(2, pcall(count, "a", -1))"#, "count: a counter grows by 0 or more, not by -1"),
        (#"select(2, pcall(observe, "a", 0 / 0))"#, "bad argument #2 to 'observe'"),
        (#"select(2, pcall(kv.set, "a", 1, { ttl = 5 }))"#, "kv.set: bad ttl '5'"),
        (#"("x"):rep(3, "-") .. ("ab"):upper() .. #utf8.char(8364)"#, "x-x-xAB3"),
        (#"table.concat({ table.unpack({ 1, 2, 3 }, 2) }, ",")"#, "2,3"),
        (#"tostring(tonumber("0x10")) .. tostring(tonumber(("9"):rep(600)))"#, "16nil"),
    ])
    func theHelpers(_ expression: String, _ expected: String) throws {
        let found = try value(expression)
        #expect(found.contains(expected), "\(found)")
    }

    @Test func aUserIsItsIdWhereDataGoesOut() throws {
        let rig = try Rig(
            """
            on.invite(function(call)
              log.info(json.encode { who = call.caller, all = call.invitees })
              log.info(call.caller, { who = call.caller })
              log.info("from " .. call.caller .. " to " .. tostring(call.callee))
              log.info(select(2, pcall(function() return call.caller .. nil end)))
              return accept { extended_data = { from = call.caller } }
            end)
            """)
        let effects = rig.ask(rig.call())
        #expect(
            effects.said == [
                #"{"all":["bob"],"who":"ann"}"#, "ann", "from ann to bob",
                "p.lua:5: attempt to concatenate a nil value",
            ])
        #expect(
            effects.answer
                == .decided(.accept(wait: 0, extendedData: #"{"from":"ann"}"#)))
    }

    @Test func signingGoesThroughTheShell() throws {
        let fake = Cryptography(
            hmac: { algorithm, key, text in
                Array("\(algorithm)/\(String(decoding: key, as: UTF8.self))/".utf8) + text + [0xFF]
            },
            sign: { algorithm, key, text in algorithm == "HS256" ? key + [UInt8(text.count)] : nil }
        )
        #expect(try value(#"hmac("sha1", "k", "t"):byte(-1)"#, fake) == "255")
        #expect(try value(#"hmac("sha1", "k", "t"):sub(1, 8)"#, fake) == "sha1/k/t")
        let token = try value(#"jwt({ sub = "bob" }, { key = "k", kid = "1" })"#, fake)
        let parts = token.split(separator: ".").map { Base64.decode(String($0), as: .url) ?? [] }
        #expect(
            String(decoding: parts[0], as: UTF8.self) == #"{"alg":"HS256","typ":"JWT","kid":"1"}"#)
        #expect(String(decoding: parts[1], as: UTF8.self) == #"{"sub":"bob"}"#)
        #expect(parts[2].first == UInt8(ascii: "k"))
    }

    @Test func countersAndHistograms() throws {
        let rig = try Rig(
            """
            on.invite(function()
              count "calls"
              count("calls", 2, { who = "ann" })
              observe("wait_seconds", 0.5)
            end)
            """)
        let effects = rig.ask(rig.call())
        #expect(effects.contains(.count(plugin: "p", name: "calls", amount: 1, labels: [:])))
        #expect(
            effects.contains(.count(plugin: "p", name: "calls", amount: 2, labels: ["who": "ann"])))
        #expect(
            effects.contains(.observe(plugin: "p", name: "wait_seconds", value: 0.5, labels: [:])))
    }

    @Test func aLoopThatLogsIsCutShortAndEveryEventBeginsAnew() throws {
        let rig = try Rig(
            """
            on.accepted(function(call)
              for n = 1, call.extended_data.lines do log.info("line " .. n) end
              sleep "1s"
              print("awake")
            end)
            """
        ) {
            $0.plugins[0].setting.limits.logLines = 3
            // A sanitizer may take more than the usual 10 ms for a thousand lines.
            $0.plugins[0].setting.limits.runTime = 1_000
        }
        func said(lines: Int) -> [String] {
            let call = rig.call(data: "{\"lines\":\(lines)}", id: UInt64(lines))
            return rig.tell(.accepted(UserID("bob")), call).lines
        }
        let most = (1...3).map { "info: line \($0)" }
        let cut = "warn: more than 3 lines at once: the others are left out"
        #expect(said(lines: 3) == most)
        #expect(said(lines: 4) == most + [cut])
        #expect(said(lines: 1_000) == most + [cut])
        #expect(rig.pass(1_000).lines == ["info: awake", "info: awake", "info: awake"])
    }

    @Test func logLinesCarryPluginCallAndFields() throws {
        let rig = try Rig(
            "on.invite(function(call) log.warn('x', { n = 1, who = call.caller.id }) end)")
        let call = rig.call()
        let line = PolicyLog(
            .warn, "x", plugin: "p", call: call.id, fields: ["n": 1, "who": "ann"])
        #expect(rig.ask(call).contains(.log(line)))
    }

    @Test(arguments: [
        ("print", "function"), ("coroutine.create(print)", "coroutine"), ("io_", "nil"),
        ("0 / 0", "nan"), ("-1 / 0", "-inf"), ("{ a = { print } }", #"{"a":["function"]}"#),
        ("(function() local t = {} t.t = t return t end)()", #"{"t":"itself"}"#),
        ("cfg", #"{"w":["ann"]}"#), ("{ a = 0 / 0 }", #"{"a":"nan"}"#),
    ])
    func whatIsNoDataIsShownByItsName(_ expression: String, _ expected: String) throws {
        let rig = try Rig(
            """
            local io_
            local cfg = config { w = option.list { "ann" } }
            on.invite(function()
              print(\(expression))
              log.info("x", { v = \(expression) })
              return reject "busy"
            end)
            """)
        let effects = rig.ask(rig.call())
        #expect(effects.said == [expected, "x"])
        #expect(effects.answer != nil)
    }
}
