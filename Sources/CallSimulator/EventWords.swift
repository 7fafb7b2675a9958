// How a scenario says the members of an event.

import CallModel

extension CallEvent.Kind {
    /// The event as a scenario says it, without who did it: `hold: bob on`.
    public var words: String {
        var words = EventWords(writer: ScenarioWriter(names: CallNames()))
        visit(&words) { name, call, words in words.values["\(name)"] = "\(call.id)" }
        let word = name.rawValue.dropFirst("call.".count)
        let news = words.text(EventDescriptor.of(name).words)
        return news.isEmpty ? "\(word)" : "\(word): \(news)"
    }
}

/// The members of one event as words; a member without a value has none.
struct EventWords: EventVisitor {
    let writer: ScenarioWriter
    var values: [String: String] = [:]

    /// `template` with the members in their places: see `EventDescriptor.words`.
    func text(_ template: String) -> String {
        var text = ""
        for part in template.split(separator: "[", omittingEmptySubsequences: false) {
            let halves = part.split(separator: "]", maxSplits: 1, omittingEmptySubsequences: false)
            if halves.count == 2, !isLacking(halves[0]) { text += filled(halves[0]) }
            text += filled(halves[halves.count - 1])
        }
        return text
    }

    /// Whether a member in it has no value.
    private func isLacking(_ part: Substring) -> Bool {
        part.split(separator: "{", omittingEmptySubsequences: false).dropFirst().contains { piece in
            values[String(piece.prefix { $0 != "}" })]?.isEmpty != false
        }
    }

    private func filled(_ part: Substring) -> String {
        var text = ""
        for piece in part.split(separator: "{", omittingEmptySubsequences: false) {
            guard let end = piece.firstIndex(of: "}") else {
                text += piece
                continue
            }
            text += (values[String(piece[..<end])] ?? "") + piece[piece.index(after: end)...]
        }
        return text
    }

    private mutating func set(_ name: StaticString, _ value: String?) { values["\(name)"] = value }

    mutating func member(_ name: StaticString, _ user: UserID?) {
        set(name, user?.text ?? "nobody")
    }

    mutating func member(_ name: StaticString, _ device: DeviceID?) { set(name, device?.text) }

    mutating func member(_ name: StaticString, text: String?) {
        set(name, text.map { writer.quoted($0) })
    }

    mutating func member(_ name: StaticString, word: String) { set(name, word) }

    mutating func member(_ name: StaticString, _ flag: Bool) { set(name, flag ? "on" : "off") }

    mutating func member(_ name: StaticString, _ moment: Moment) {}

    mutating func member(_ name: StaticString, time: Milliseconds?) {
        set(name, time.flatMap { $0 > 0 ? written($0) : nil })
    }

    mutating func member(_ name: StaticString, count: Int) { set(name, "\(count)") }

    mutating func member(_ name: StaticString, _ end: Call.End) {
        set(name, writer.text(end, saying: end.extendedData))
    }

    mutating func member(_ name: StaticString, _ changes: [CallEvent.Change]) {
        set(name, writer.text(changes))
    }

    mutating func member(_ name: StaticString, _ offer: CallEvent.TransferOffer) {
        let text = offer.extendedData.map { " " + writer.quoted($0) } ?? ""
        set(name, offer.by.text + text)
    }

    mutating func member(_ name: StaticString, _ texts: [String]) {
        set(name, texts.joined(separator: ", "))
    }

    mutating func member(_ name: StaticString, _ items: [Call.Item]) {
        set(name, writer.text(items))
    }

    mutating func member(_ name: StaticString, json: [UInt8]) {
        set(name, writer.names.naming(String(decoding: json, as: UTF8.self)))
    }
}
