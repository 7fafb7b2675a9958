// Every operation as a client writes it, and what is understood.

import CallModel
import Testing

@testable import CallWire

@Suite struct OperationTests {
    static let id = CallID(high: 0x0199_AABB_CCDD_0000, low: 0x0123_4567_89AB_CDEF)
    static let idText = "0199aabbccdd00000123456789abcdef"

    /// A request's data and the operation that it means.
    struct Example: CustomTestStringConvertible, Sendable {
        let name: OperationName
        let data: String
        let operation: Operation

        init(_ name: OperationName, _ data: String, _ operation: Operation) {
            self.name = name
            self.data = data.replacing("ID", with: #""\#(OperationTests.idText)""#)
            self.operation = operation
        }

        var testDescription: String { "\(name.rawValue) \(data)" }
    }

    static let invitations: [Example] = [
        Example(.invite, #"{"invitees":["bob"]}"#, .invite(Invitation(invitees: ["bob"]))),
        Example(
            .invite,
            #"""
            {"invitees":["bob","carol"],"mode":"advanced","kind":"video","timeout_ms":30000,
             "extended_data":"{\"type\":1}","delivery_check":true,"audio":true,"video":false,
             "items":{"b":"2","a":"1"},
             "push":{"title":"Call","body":"from Ann","payload":"{}"},"unknown":[{"x":null}]}
            """#,
            .invite(fullInvitation)),
        Example(
            .invite,
            #"""
            {"invitees":["bob"],"mode":null,"kind":null,"timeout_ms":null,"extended_data":null,
             "delivery_check":null,"items":null,"push":null}
            """#,
            .invite(Invitation(invitees: ["bob"]))),
        Example(
            .invite, #"{"invitees":["bob"],"timeout_ms":0}"#, .invite(Invitation(invitees: ["bob"]))
        ),
        Example(.invite, #"{"invitees":["bob"],"delivery_check":false}"#, checked(0)),
        Example(.invite, #"{"invitees":["bob"],"delivery_check":1000}"#, checked(1_000)),
        Example(.invite, #"{"invitees":["bob"],"delivery_check":30000}"#, checked(30_000)),
        Example(
            .invite, #"{"invitees":["a","a"],"push":{"title":null,"x":1}}"#,
            .invite(repeatedInvitation)),
        Example(
            .add, #"{"call_id":ID,"invitees":["dave"],"push":{"body":"b"}}"#,
            .call(id, .add(["dave"], push: PushText(body: "b")))),
    ]

    static let answers: [Example] = [
        Example(.ringing, #"{"call_id":ID}"#, .call(id, .ringing)),
        Example(.accept, #"{"call_id":ID}"#, .call(id, .accept())),
        Example(
            .accept,
            #"{"call_id":ID,"extended_data":"hi","audio":false,"video":true,"hold_active":true}"#,
            .call(id, .accept(fullAcceptance), saying: "hi")),
        Example(.acceptAck, #"{"call_id":ID,"user":"bob"}"#, .call(id, .acceptAck("bob"))),
        Example(.reject, #"{"call_id":ID}"#, .call(id, .reject())),
        Example(
            .reject, #"{"call_id":ID,"reason":"declined"}"#,
            .call(id, .reject())),
        Example(
            .reject, #"{"call_id":ID,"reason":"busy","extended_data":"\u00e9\n"}"#,
            .call(id, .reject(busy: true), saying: "é\n")),
        Example(
            .cancel, #"{"call_id":ID}"#, .call(id, .cancel())),
        Example(
            .cancel, #"{"call_id":ID,"users":[],"extended_data":""}"#,
            .call(id, .cancel(), saying: "")),
        Example(
            .cancel, #"{"call_id":ID,"users":["bob"],"push":{}}"#,
            .call(id, .cancel(["bob"], push: PushText()))),
    ]

    static let inCall: [Example] = [
        Example(
            .join, #"{"call_id":ID,"audio":false,"video":true}"#,
            .call(id, .join(audio: false, video: true))),
        Example(.join, #"{"call_id":ID,"extended_data":"j"}"#, .call(id, .join(), saying: "j")),
        Example(.leave, #"{"call_id":ID}"#, .call(id, .leave())),
        Example(.end, #"{"call_id":ID,"extended_data":"bye"}"#, .call(id, .end(), saying: "bye")),
        Example(.transfer, #"{"call_id":ID,"to":"bob"}"#, .call(id, .transfer(to: "bob"))),
        Example(
            .transfer, #"{"call_id":ID,"to":"bob","extended_data":"hi","push":{}}"#,
            .call(id, .transfer(to: "bob", push: PushText()), saying: "hi")),
        Example(.remove, #"{"call_id":ID,"users":["bob"]}"#, .call(id, .remove(["bob"]))),
        Example(.report, #"{"call_id":ID,"media":"recovered"}"#, .call(id, .report(.recovered))),
        Example(
            .media, #"{"call_id":ID,"audio":true}"#, .call(id, .media(audio: true, video: nil))),
        Example(
            .media, #"{"video":false,"audio":false,"audio":true,"call_id":ID}"#,
            .call(id, .media(audio: true, video: false))),
        Example(.hold, #"{"call_id":ID,"on":true}"#, .call(id, .hold(on: true))),
        Example(
            .hold, #"{"call_id":ID,"on":false,"force":true}"#,
            .call(id, .hold(on: false, force: true))),
        Example(.items, #"{"call_id":ID}"#, .call(id, .items(ItemsChange()))),
        Example(
            .items, #"{"call_id":ID,"put":{"k":"v","k":"w"},"delete":["x"],"clear":true}"#,
            .call(id, .items(fullChange))),
        Example(
            .signal, #"{"call_id":ID,"data": {"sdp" : [1, 2.50]} ,"to":"bob"}"#,
            .call(id, .signal(to: "bob", data: Array(#"{"sdp" : [1, 2.50]}"#.utf8)))),
        Example(
            .signal, #"{"call_id":ID,"data":null}"#,
            .call(id, .signal(to: nil, data: Array("null".utf8)))),
        Example(.token, #"{"call_id":ID}"#, .call(id, .token)),
    ]

    private static let subscription =
        #"{"endpoint" : "https://x.example/1","expirationTime":null,"keys":{"p256dh":"B"#
        + String(repeating: "A", count: 86) + #"","auth":"BTBZMqHH6r4Tts7J_aSIgg=="}}"#

    private static func apple(_ bytes: Int) -> String { String(repeating: "aF", count: bytes) }

    static let others: [Example] = [
        Example(.get, #"{"call_id":ID}"#, .call(id, .get)),
        Example(.list, "{}", .list(ListQuery())),
        Example(
            .list,
            #"""
            {"limit":5,"cursor":ID,"state":"ended","role":"invitee",
             "end_reasons":["no_answer","busy"],"kind":"video","peer":"bob",
             "since_at":1,"until_at":2}
            """#,
            .list(fullQuery)),
        Example(.list, #"{"limit":1000}"#, .list(query(limit: 100))),
        Example(
            .pushRegister,
            #"{"provider":"apns_voip","token":"\#(apple(32))","environment":"sandbox"}"#,
            .pushRegister(
                PushRegistration(
                    provider: "apns_voip", token: apple(32), environment: "sandbox"))),
        Example(
            .pushRegister, #"{"provider":"apns","token":"\#(apple(100))"}"#,
            .pushRegister(PushRegistration(provider: "apns", token: apple(100)))),
        Example(
            .pushRegister, #"{"provider":"fcm","token":"{}"}"#,
            .pushRegister(PushRegistration(provider: "fcm", token: "{}"))),
        Example(
            .pushRegister, #"{"provider":"web","subscription": \#(subscription) }"#,
            .pushRegister(PushRegistration(provider: "web", token: subscription))),
        Example(
            .pushRegister, #"{"provider":"webhook","subscription":{"any":"thing"}}"#,
            .pushRegister(PushRegistration(provider: "webhook", token: #"{"any":"thing"}"#))),
        Example(
            .pushRegister, #"{"provider":"webhook","token":"{not an object"}"#,
            .pushRegister(PushRegistration(provider: "webhook", token: "{not an object"))),
        Example(.pushUnregister, #"{"provider":"fcm"}"#, .pushUnregister(provider: "fcm")),
        Example(.userGet, #"{"users":["ann","bob"]}"#, .userGet(["ann", "bob"])),
        Example(
            .userSet, #"{"user":"ann","name":"Ann Smith"}"#,
            .userSet("ann", PersonName(checking: "Ann Smith"))),
        Example(.userSet, #"{"user":"ann","name":""}"#, .userSet("ann", nil)),
    ]

    @Test(arguments: invitations + answers + inCall + others)
    func anOperationIsUnderstood(_ example: Example) throws {
        let text = #"{"id":1,"op":"\#(example.name.rawValue)","data":\#(example.data)}"#
        let message = try WireDecoder().message(Array(text.utf8))
        #expect(message == .request(.integer(1), key: nil, example.operation))
    }

    @Test(arguments: invitations + answers + inCall + others)
    func theSameBodyOverHTTPIsTheSameOperation(_ example: Example) throws {
        let request = try WireDecoder().request(example.name, body: Array(example.data.utf8))
        #expect(request == .operation(example.operation, key: nil))
    }

    @Test func everyOperationHasAnExampleAndARow() {
        let examples = Self.invitations + Self.answers + Self.inCall + Self.others
        let session: Set<OperationName> = [.hello, .ping, .bye]
        #expect(Set(examples.map(\.name)).union(session) == Set(OperationName.allCases))
        #expect(Set(OperationDescriptor.all.map(\.name)) == Set(OperationName.allCases))
        #expect(OperationDescriptor.all.count == OperationName.allCases.count)
        for one in OperationDescriptor.all { #expect("\(one.text)" == one.name.rawValue) }
    }

    @Test(arguments: Field.allCases) func everyFieldIsFoundByItsName(_ field: Field) throws {
        var form = "{\"\(field.name)\":1}"
        try form.withUTF8 { bytes in
            var reader = FormReader(UnsafeRawBufferPointer(bytes))
            try reader.beginObject("data")
            let name = try #require(try reader.nextKey())
            for operation in OperationDescriptor.all {
                #expect(operation.field(name) == (operation.has(field) ? field : nil))
            }
        }
    }
}

extension OperationTests {
    static var fullInvitation: Invitation {
        var invitation = Invitation(invitees: ["bob", "carol"])
        invitation.mode = .advanced
        invitation.kind = "video"
        invitation.timeout = 30_000
        invitation.extendedData = #"{"type":1}"#
        invitation.deliveryCheck = 5_000
        (invitation.audio, invitation.video) = (true, false)
        invitation.items = [Call.Item(key: "b", value: "2"), Call.Item(key: "a", value: "1")]
        invitation.push = PushText(title: "Call", body: "from Ann", payload: "{}")
        return invitation
    }

    static func checked(_ time: Milliseconds) -> CallModel.Operation {
        var invitation = Invitation(invitees: ["bob"])
        invitation.deliveryCheck = time
        return .invite(invitation)
    }

    static var repeatedInvitation: Invitation {
        var invitation = Invitation(invitees: ["a", "a"])
        invitation.push = PushText()
        return invitation
    }

    static var fullAcceptance: Acceptance {
        var acceptance = Acceptance()
        acceptance.audio = false
        acceptance.video = true
        acceptance.holdActive = true
        return acceptance
    }

    static var fullChange: ItemsChange {
        var change = ItemsChange()
        change.clear = true
        change.delete = ["x"]
        change.put = [Call.Item(key: "k", value: "w")]
        return change
    }

    static func query(limit: Int) -> ListQuery {
        var query = ListQuery()
        query.limit = limit
        return query
    }

    static var fullQuery: ListQuery {
        var query = query(limit: 5)
        query.before = id
        query.state = .ended
        query.role = .invitee
        query.endReasons = [.noAnswer, .busy]
        query.kind = "video"
        query.peer = "bob"
        query.since = Moment(1)
        query.until = Moment(2)
        return query
    }
}

extension UserID: ExpressibleByStringLiteral {
    /// A well-formed id, for tests.
    public init(stringLiteral text: String) { self.init(text) }
}

extension DeviceID: ExpressibleByStringLiteral {
    /// A well-formed id, for tests.
    public init(stringLiteral text: String) { self.init(text) }
}
