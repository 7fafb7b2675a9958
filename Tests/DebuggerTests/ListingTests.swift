// The run of a test as text, for somebody without an editor.

import AgentServer
import Debugger
import Foundation
import JSON
import Testing

@Suite struct ListingTests {
    /// What a listing prints of the only test of a plugin, and whether it ended well.
    private func list(
        _ text: String, most: Int = 100, launch: JSONObject = JSONObject()
    ) throws -> (lines: [String], isGood: Bool) {
        let folder = NSTemporaryDirectory() + "listing-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/p.lua"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        var lines: [String] = []
        let listing = DebugListing(launch, most: most) { lines.append($0) }
        let session = DebugSession(listing.wire) { launch throws(DebugProblem) in
            try PluginDebugging.test(launch["test"]?.string, of: path, file: nil)
        }
        _ = session.run()
        return (lines, listing.isGood)
    }

    @Test func linesValuesChangesAndAnswersArePrinted() throws {
        let (lines, isGood) = try list(
            """
            local seen = 0
            local function twice(n)
              local double = n * 2
              return double
            end
            on.invite(function(call)
              local sum = twice(call.callee.calls)
              seen = seen + 1
              local user = users.get(call.caller.id)
              if user.online and sum == 2 then return reject "busy" end
            end)
            test("it is busy", function(t)
              t.user("desk", { calls = 1 })
              t.expect(t.invite { from = "ann", to = "desk" }, reject "busy")
            end)
            """)
        #expect(isGood)
        // The handler begins inside the line of the test that invites.
        let handler = lines.drop { $0 != "p: on.invite" }.prefix { !$0.hasPrefix("p: test") }
        #expect(
            Array(handler).prefix(16) == [
                "p: on.invite",
                "  p.lua:7  local sum = twice(call.callee.calls)",
                "        call.callee.calls is 1",
                "  p.lua:3  local double = n * 2",
                "        n is 1",
                "        double = 2",
                "  p.lua:4  return double",
                "        double is 2",
                "        sum = 2",
                "  p.lua:8  seen = seen + 1",
                "        seen is 0",
                "        seen = 1",
                "  p.lua:9  local user = users.get(call.caller.id)",
                "        call.caller.id is \"ann\"",
                "        user = user ann",
                "        users.get(\"ann\") was answered user ann",
            ], "\(lines.joined(separator: "\n"))")
        #expect(lines.last == "ok      p.lua:12: it is busy")
    }

    @Test func ofALongRunTheFirstLinesArePrintedAndTheEnd() throws {
        let (lines, isGood) = try list(
            """
            test("long", function(t)
              local sum = 0
              for i = 1, 1000 do
                sum = sum + i
              end
              assert(sum == 500500)
            end)
            """, most: 5)
        #expect(isGood)
        #expect(lines.filter { $0.hasPrefix("  p.lua:") }.count == 5)
        #expect(lines.contains("  … the first 5 lines; it goes on to its end"))
        #expect(lines.last == "ok      p.lua:1: long")
    }

    @Test func anErrorIsPrintedWhereItHappens() throws {
        let (lines, isGood) = try list(
            """
            test("wrong", function(t)
              local nobody
              local name = nobody.name
            end)
            """)
        #expect(!isGood)
        let error = lines.first { $0.hasPrefix("  error: ") }
        #expect(error?.contains("attempt to index a nil value (local 'nobody')") == true)
        #expect(lines.last?.hasPrefix("FAILED") == true)
    }

    @Test func whatCannotBeFoundIsSaidOnce() throws {
        let (lines, isGood) = try list(
            "test(\"one\", function(t) end)", launch: ["test": "two"])
        #expect(!isGood)
        #expect(lines == ["'two' means none or several tests; there are 'one'"])
    }
}
