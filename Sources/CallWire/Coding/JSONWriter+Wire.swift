// The small values of the protocol: identifiers, moments, items, errors.

import CallModel
import JSON

extension JSONWriter {
    /// Writes a member that is a call id, without making a `String` of it: every event has one.
    @inline(__always)
    mutating func field(_ key: StaticString, _ id: CallID) {
        self.key(key)
        value(hex: id.high, id.low)
    }

    /// Writes a member that is a moment.
    @inline(__always)
    mutating func field(_ key: StaticString, _ moment: Moment) {
        field(key, moment: moment.milliseconds)
    }

    /// Writes a member that is a moment, or null.
    @inline(__always)
    mutating func field(_ key: StaticString, _ moment: Moment?) {
        if let moment { field(key, moment) } else { null(key) }
    }

    /// Writes a member that is a list of texts.
    mutating func field(_ key: StaticString, _ texts: [String]) {
        array(key) { for text in texts { $0.value(text) } }
    }

    /// Writes a member that is an object of named texts.
    mutating func field(_ key: StaticString, _ items: [Call.Item]) {
        object(key) {
            for item in items {
                $0.key(text: item.key)
                $0.value(item.value)
            }
        }
    }

    /// Writes a member that is the `errors[]` of an operation.
    mutating func field(_ key: StaticString, _ errors: [InviteeError]) {
        array(key) {
            for error in errors {
                $0.object {
                    $0.field("user", error.user.text)
                    $0.field("code", plain: error.code.rawValue)
                }
            }
        }
    }

    /// Writes the members of an error. `detail` is always there.
    mutating func members(of refusal: Refusal) {
        field("code", plain: refusal.code.rawValue)
        field("message", refusal.message)
        field("retryable", refusal.code.isRetryable)
        if refusal.code.isRetryable {
            field("retry_after_ms", refusal.retryAfter ?? Refusal.retryAfterDefault)
        }
        object("detail") {
            switch refusal.detail {
            case .field(let path): $0.field("field", path)
            case .code(let code): $0.field("code", code)
            case .call(let id): $0.field("call_id", id)
            case .errors(let errors): $0.field("errors", errors)
            case nil: break
            }
        }
    }
}

extension Refusal {
    /// When to try again, where the refusal does not say it.
    static let retryAfterDefault: Milliseconds = 1_000
}
