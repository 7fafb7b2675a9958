// A push job as it is stored: one JSON object, as tolerant as a call's.

import CallModel
import JSON

/// Writes and reads stored push jobs.
package enum PushRecord {
    /// Appends the record of `job`.
    package static func write(_ job: PushJob, to writer: inout JSONWriter) {
        writer.object {
            $0.field("user", job.user.text)
            $0.field("kind", job.kind.rawValue)
            if let text = job.text { write(text, "text", &$0) }
            if !job.connected.isEmpty {
                $0.array("connected") {
                    for device in job.connected { $0.value(device.text) }
                }
            }
            $0.present("expires", job.expiresAt)
            $0.present("by", job.cause.user?.text)
            $0.present("caller", job.cause.caller?.text)
            $0.present("trace", job.trace?.description)
        }
    }

    /// Writes what a push shows as the member `key`.
    static func write(_ text: PushText, _ key: StaticString, _ writer: inout JSONWriter) {
        writer.object(key) {
            $0.present("title", text.title)
            $0.present("body", text.body)
            $0.present("payload", text.payload)
        }
    }

    /// The job for `call` of the record `bytes`.
    package static func read(
        _ bytes: UnsafeRawBufferPointer, call: CallID
    ) throws(RecordDamage) -> PushJob {
        var reader = RecordReader(bytes)
        var (user, kind): (String?, PushJob.Kind?)
        var (text, expiresAt): (PushText?, Moment?)
        var connected: [DeviceID] = []
        var (by, caller, trace): (String?, String?, String?)
        try reader.members { (reader, name) throws(RecordDamage) in
            switch name {
            case "user": user = try reader.text()
            case "kind": kind = try reader.word(of: PushJob.Kind.self)
            case "text": text = try readText(from: &reader)
            case "expires": expiresAt = try reader.moment()
            case "by": by = try reader.text()
            case "caller": caller = try reader.text()
            case "trace": trace = try reader.text()
            case "connected":
                try reader.elements { (reader) throws(RecordDamage) in
                    connected.append(DeviceID(try reader.text()))
                }
            default: return false
            }
            return true
        }
        try reader.end()
        guard let user else { throw reader.damage("is missing", at: "user") }
        guard let kind else { throw reader.damage("is missing", at: "kind") }
        var job = PushJob(
            kind, callID: call, user: UserID(user), text: text, connected: connected,
            expiresAt: expiresAt,
            cause: Cause(by.map { UserID($0) }, caller: caller.map { UserID($0) }))
        job.trace = trace.flatMap { TraceParent($0) }
        return job
    }

    static func readText(
        from reader: inout RecordReader
    ) throws(RecordDamage) -> PushText {
        var text = PushText()
        try reader.members { (reader, name) throws(RecordDamage) in
            switch name {
            case "title": text.title = try reader.text()
            case "body": text.body = try reader.text()
            case "payload": text.payload = try reader.text()
            default: return false
            }
            return true
        }
        return text
    }
}
