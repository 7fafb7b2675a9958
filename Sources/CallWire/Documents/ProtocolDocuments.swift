// The protocol described for machines: AsyncAPI for the WebSocket, OpenAPI for HTTP.

import CallModel
import JSON

/// `GET /v1/asyncapi.json` and `GET /v1/openapi.json`, made of the tables by which messages are
/// decoded. They depend on the limits only, so a server makes them once.
public struct ProtocolDocuments: Sendable {
    let rules: FieldRules
    private let version: String

    /// The documents of a server of `version` with `limits`.
    public init(
        limits: WireLimits = WireLimits(), modes: [Mode] = Mode.all, version: String
    ) {
        rules = FieldRules(limits: limits, modes: modes)
        self.version = version
    }

    /// What both documents say of themselves.
    var info: JSONValue {
        [
            "title": "callagent", "version": .string(version),
            "description": """
            Invitations to calls: who rings, who answers, how it ends. Unknown fields are \
            ignored. Moments are milliseconds since 1970 and end in _at, durations are \
            milliseconds and end in _ms. Lengths of texts are counted in UTF-8 bytes.
            """,
        ]
    }

    /// The objects of both documents.
    var schemas: JSONObject { ProtocolSchemas(rules: rules).all }
}

extension OperationName {
    /// One line for people.
    var summary: String {
        switch self {
        case .hello: "Says who the client is; the first message of a connection."
        case .ping: "Asks whether the server is there."
        case .bye: "Logs this device out."
        case .invite: "Calls people."
        case .add: "Calls more people into a call."
        case .ringing: "This device shows the call."
        case .accept: "Takes the call on this device."
        case .acceptAck: "Confirms that an accept arrived (mode handshake)."
        case .reject: "Says no."
        case .cancel: "Withdraws invitations."
        case .join: "Joins from outside, or moves the call to this device."
        case .leave: "Leaves the call."
        case .end: "Ends the call for everybody."
        case .report: "Tells what became of this device's media."
        case .media: "Switches audio or video."
        case .hold: "Holds the call or goes on with it."
        case .items: "Changes the call's named texts."
        case .signal: "Sends data to other participants."
        case .get: "Shows a call."
        case .list: "Lists the user's calls."
        case .token: "Asks for credentials of the media side."
        case .pushRegister: "Registers this device for push notifications."
        case .pushUnregister: "Takes a push registration back."
        }
    }
}

extension EventName {
    /// One line for people.
    var summary: String {
        switch self {
        case .created: "To the caller's other devices: the call exists."
        case .incoming: "To an invitee: somebody calls."
        case .changed: "Participants have new states."
        case .timedOut: "To an invitee: the ring time is over."
        case .cancelled: "To an invitee: the invitation was withdrawn."
        case .ended: "The call is over; its last event."
        case .elsewhere: "Another device of the same user answered, rejected, took over or left."
        case .failed: "To a device: its part of the call failed."
        case .mediaPhase: "How far the media is."
        case .mediaFlags: "Somebody switched audio or video."
        case .hold: "Somebody holds the call or goes on with it."
        case .items: "The named texts changed."
        case .signal: "Data from another participant."
        case .missed: "To a device that connects: the user was called in vain."
        }
    }
}
