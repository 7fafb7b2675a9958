// A journal as JSON.

import CallModel
import JSON

/// Makes JSON of packed entries.
public enum JournalText {
    /// The entries as objects `{n, at, kind, …}`; entries in the middle may be left out.
    ///
    /// - Parameters:
    ///   - bytes: packed entries, one behind the other.
    ///   - since: the moment from which the times count.
    ///   - leftOut: entries that were taken out behind the first ones.
    ///   - signals: how many signals were sent, which have no entries; 0: nothing is said of them.
    public static func entries(
        _ bytes: [UInt8], since: Moment, leftOut: Int = 0, signals: Int = 0
    ) -> [JSONValue] {
        let packed = split(bytes)
        let most = CallJournal.firstMax + CallJournal.lastMax
        let more = max(0, packed.count - most)
        let missing = leftOut + more
        var all: [JSONValue] = []
        for (place, entry) in packed.enumerated() {
            let isFirst = place < CallJournal.firstMax
            guard isFirst || place >= CallJournal.firstMax + more else { continue }
            let number = isFirst ? place + 1 : place + 1 + leftOut
            if missing > 0, place == CallJournal.firstMax + more {
                all.append(
                    note("\(missing) entries are left out", number: CallJournal.firstMax + 1))
            }
            all.append(self.entry(entry, number: number, since: since))
        }
        if signals > 0 {
            all.append(note("\(signals) signals", number: packed.count + leftOut + 1))
        }
        return all
    }

    private static func note(_ text: String, number: Int) -> JSONValue {
        ["n": .integer(Int64(number)), "at": .null, "kind": "note", "text": .string(text)]
    }

    static func split(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var found: [ArraySlice<UInt8>] = []
        var place = 0
        while place + 2 <= bytes.count {
            let size = Int(bytes[place]) + Int(bytes[place + 1]) << 8
            guard size > 5, place + 2 + size <= bytes.count else { break }
            found.append(bytes[(place + 2)..<(place + 2 + size)])
            place += 2 + size
        }
        return found
    }

    private static func entry(
        _ bytes: ArraySlice<UInt8>, number: Int, since: Moment
    ) -> JSONValue {
        var time: Int64 = 0
        for (place, byte) in bytes.prefix(5).enumerated() { time |= Int64(byte) << (8 * place) }
        var fields = JournalFields(bytes.dropFirst(5))
        let kind = JournalKind(rawValue: fields.byte()) ?? .note
        var json: JSONObject = [
            "n": .integer(Int64(number)), "at": .integer(since.milliseconds + time),
            "kind": .string(kind.name),
        ]
        add(kind, &fields, to: &json)
        return .object(json)
    }

    private static func add(
        _ kind: JournalKind, _ fields: inout JournalFields, to json: inout JSONObject
    ) {
        switch kind {
        case .request: request(&fields, &json)
        case .change: change(&fields, &json)
        case .told:
            json["event"] = .string(word(EventName.self, fields.byte())?.rawValue ?? "?")
            address(&fields, &json)
            json["seq"] = .integer(Int64(clamping: fields.number()))
        case .acknowledged, .connected: address(&fields, &json)
        case .disconnected:
            address(&fields, &json)
            json["why"] = fields.optionalText().map { .string($0) } ?? .null
        case .asked:
            json["hook"] = .string(fields.text())
            json["user"] = .string(fields.text())
            trace(&fields, &json)
        case .answered: answered(&fields, &json)
        case .timer:
            json["name"] = .string(word(TimerName.self, fields.byte())?.rawValue ?? "?")
            json["state"] = "fired"
        case .push, .webhook: sent(kind, &fields, &json)
        case .media: json["media"] = .string(word(Call.Media.self, fields.byte())?.rawValue ?? "?")
        case .note: json["text"] = .string(fields.text())
        }
    }

    private static func address(_ fields: inout JournalFields, _ json: inout JSONObject) {
        json["user"] = .string(fields.text())
        json["device"] = fields.optionalText().map { .string($0) } ?? .null
    }

    private static func request(_ fields: inout JournalFields, _ json: inout JSONObject) {
        json["op"] = .string(fields.text())
        address(&fields, &json)
        if let code = fields.optionalText() { json["code"] = .string(code) }
        trace(&fields, &json)
    }

    /// The last field of an entry that has one.
    private static func trace(_ fields: inout JournalFields, _ json: inout JSONObject) {
        if let trace = fields.optionalText() { json["traceparent"] = .string(trace) }
    }

    private static func change(_ fields: inout JournalFields, _ json: inout JSONObject) {
        json["revision"] = .integer(Int64(clamping: fields.number()))
        json["actor"] = .string(fields.text())
        json["device"] = fields.optionalText().map { .string($0) } ?? .null
        json["state"] = .string(word(Call.State.self, fields.byte())?.rawValue ?? "?")
        if let reason = fields.optionalText() {
            json["end"] = [
                "reason": .string(reason),
                "detail": fields.optionalText().map { .string($0) } ?? .null,
                "by": fields.optionalText().map { .string($0) } ?? .null,
            ]
        }
        var changes: [JSONValue] = []
        for _ in 0..<min(fields.number(), 1_024) {
            let user = fields.text()
            let state = word(Participant.State.self, fields.byte())
            let reason = fields.byte()
            changes.append([
                "user": .string(user), "state": .string(state?.rawValue ?? "?"),
                "reason": reason == 0
                    ? .null
                    : .string(word(Participant.Reason.self, reason - 1)?.rawValue ?? "?"),
            ])
        }
        json["changes"] = .array(changes)
    }

    private static func answered(_ fields: inout JournalFields, _ json: inout JSONObject) {
        json["hook"] = .string(fields.text())
        json["user"] = .string(fields.text())
        json["plugin"] = .string(fields.text())
        json["generation"] = .string(fields.text())
        json["decision"] = .string(fields.text())
        let detail = fields.optionalText()
        if let detail { json["detail"] = .string(detail) }
        json["cpu_us"] = .integer(Int64(clamping: fields.number()))
        json["wall_us"] = .integer(Int64(clamping: fields.number()))
        json["failure"] = fields.optionalText().map { .string($0) } ?? .null
    }

    private static func sent(
        _ kind: JournalKind, _ fields: inout JournalFields, _ json: inout JSONObject
    ) {
        if kind == .push { address(&fields, &json) }
        json["target"] = .string(fields.text())
        json["state"] = .string(fields.text())
        json["status"] = fields.optionalText().map { .string($0) } ?? .null
        json["ms"] = .integer(Int64(clamping: fields.number()))
        trace(&fields, &json)
        if kind == .webhook, let event = fields.optionalText() { json["event"] = .string(event) }
    }

    /// The case at `place`, which the bits of an enum without values are.
    private static func word<Word: CaseIterable>(_ type: Word.Type, _ place: UInt8) -> Word? {
        let all = Array(Word.allCases)
        return Int(place) < all.count ? all[Int(place)] : nil
    }
}
