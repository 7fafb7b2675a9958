// What a request may say, as clients know it.

import CallModel
import Foundation
import JSON
import Testing

@testable import CallWire

@Suite struct KnownFieldsTests {
    /// The browser client refuses what no operation has by a table of its own.
    @Test func theBrowserClientKnowsTheSameFields() throws {
        var root = URL(filePath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let path = root.appending(path: "examples/browser/callagent.js")
        let text = try String(contentsOf: path, encoding: .utf8)
            .replacing(":\n    \"", with: ": \"")
        for name in OperationName.allCases where name != .hello {
            let key = name.rawValue.contains(".") ? "\"\(name.rawValue)\"" : name.rawValue
            let row = text.split(separator: "\n").first { $0.hasPrefix("  \(key): \"") }
            let value =
                try #require(row, "callagent.js lacks \(key)").split(
                    separator: "\"", omittingEmptySubsequences: false
                ).dropLast().last ?? ""
            let fields = Set(value.split(separator: " ").map(String.init))
            #expect(fields == Set(name.fields), "\(key) in examples/browser/callagent.js")
        }
    }

    @Test func whatAnOperationDoesNotHaveIsNamed() {
        let refusal = OperationName.get.refusal(of: ["call_id": "1", "id": "2"])
        #expect(refusal?.message == "call.get has no field 'id'; it has: call_id")
        #expect(refusal?.code == .badRequest && refusal?.detail == .field("id"))
        #expect(OperationName.get.refusal(of: ["call_id": "1"]) == nil)
        #expect(OperationName.bye.refusal(of: ["now": true])?.message.hasSuffix("none") == true)
        let push = OperationName.add.refusal(of: ["push": ["titel": "x"]])
        #expect(push?.message == "push has no field 'titel'; it has: title, body, payload")
    }
}
