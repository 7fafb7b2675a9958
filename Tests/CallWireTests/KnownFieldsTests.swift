// What a request may say, as clients know it.

import CallModel
import JSON
import Testing

@testable import CallWire

@Suite struct KnownFieldsTests {
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
