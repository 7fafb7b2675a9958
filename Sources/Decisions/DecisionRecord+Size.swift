// How much memory a decision takes, for whoever holds many.

import CallModel
import JSON
import PolicyHost
import WebProtocols

extension DecisionRecord {
    /// Bytes of what plugins were told and said, about; the call itself is not counted.
    public var bytesBesideCall: Int {
        let messages = asked.reduce(0) { $0 + 128 + ($1.message?.utf8.count ?? 0) }
        return messages + outcome.bytes + (input?.bytesBesideCall ?? 0)
    }
}

extension DecisionRecord.Outcome {
    fileprivate var bytes: Int {
        switch self {
        case .answer(let answer): answer.bytes
        case .push(let draft): draft?.bytes ?? 0
        }
    }
}

extension DecisionInput {
    fileprivate var bytesBesideCall: Int {
        let vars = vars.reduce(0) { $0 + 64 + $1.bytes.count }
        let seen = seen.reduce(0) { sum, one in
            sum + 128 + one.request.utf8.count + (one.reply?.bytes ?? 0)
        }
        let states = (states ?? []).reduce(0) { $0 + 64 + $1.ownBytes }
        return subject.bytesBesideCall + vars + seen + states + 64 * facts.count
    }
}

extension DecisionInput.State {
    /// What the copy takes, in memory and as a line; those who share it do not count it again.
    fileprivate var ownBytes: Int { isFirst ? (copy?.bytes.count ?? 0) * 3 : 0 }
}

extension DecisionInput.Subject {
    fileprivate var bytesBesideCall: Int {
        switch self {
        case .push(let draft, _): draft.bytes
        case .question(.dial(_, _, let invitees)): 64 * invitees.count
        case .question(.incomingData(_, _, let data)): data.utf8.count
        case .question(.outgoingData(_, let texts)):
            texts.reduce(0) { $0 + 64 + $1.data.utf8.count }
        case .question(.invite), .question(.join), .question(.token): 0
        }
    }
}

extension PushDraft {
    fileprivate var bytes: Int {
        let texts = [title, body, payloadRaw].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        return 256 + texts + JSONValue.object(payload).bytesInMemory
    }
}

extension Answer {
    fileprivate var bytes: Int {
        switch self {
        case .invite(.accept(_, let data), _, _), .invite(.reject(_, let data), _, _),
            .data(let data):
            data?.utf8.count ?? 0
        case .allow(let allowance): (allowance.extendedData ?? nil)?.utf8.count ?? 0
        case .views(let views): views.reduce(0) { $0 + 64 + ($1.text?.utf8.count ?? 0) }
        case .token(let bytes): bytes?.count ?? 0
        case .invite, .refuse, .tooLarge, .none: 0
        }
    }
}

extension WaitReply {
    fileprivate var bytes: Int {
        switch self {
        case .value(let value): value.bytesInMemory
        case .fetched(let reply):
            reply.headers.reduce(reply.body.count) { sum, header in
                sum + 64 + header.name.utf8.count + header.value.utf8.count
            }
        case .call(let call, let facts): (call == nil ? 0 : 4_096) + 64 * facts.count
        case .trouble(let text): text.utf8.count
        case .operation, .user: 64
        }
    }
}

extension JSONValue {
    fileprivate var bytesInMemory: Int {
        switch self {
        case .null, .bool, .integer, .number: 16
        case .string(let text): 16 + text.utf8.count
        case .array(let elements): elements.reduce(16) { $0 + $1.bytesInMemory }
        case .object(let object):
            object.members.reduce(16) { $0 + 16 + $1.key.utf8.count + $1.value.bytesInMemory }
        }
    }
}
