// How a scenario says an operation, read from the phrase of its descriptor.

import CallModel

/// A phrase of an operation: its verb, and what follows it.
struct Phrase: Sendable {
    /// A word of a phrase.
    enum Part: Sendable, Equatable {
        /// Stands there as it is.
        case word(String)
        /// The value of a field that must be there.
        case value(Field)
        /// A clause that may be left out.
        case clause(Field)
        /// The flag has this value, without a word.
        case meant(Field, Bool)
    }

    let operation: OperationDescriptor
    let verb: String
    let parts: [Part]

    /// The phrase that `text` describes: see `OperationDescriptor.phrases`.
    init(_ text: String, of operation: OperationDescriptor) {
        self.operation = operation
        let words = text.split(separator: " ").map(String.init)
        guard let verb = words.first else { preconditionFailure("a phrase without words") }
        self.verb = verb
        parts = words.dropFirst().map { Self.part($0, of: operation) }
    }

    private static func part(_ word: String, of operation: OperationDescriptor) -> Part {
        guard word.hasPrefix("{"), word.hasSuffix("}") else { return .word(word) }
        let words = word.dropFirst().dropLast().split(separator: "=", maxSplits: 1)
        guard let field = operation.fields.first(where: { $0.name == words[0] }) else {
            preconditionFailure("\(operation.name.rawValue) has no field \(word)")
        }
        if words.count == 2 { return .meant(field, words[1] == "true") }
        // Of two fields in each other's place, the phrase names the usual one.
        let isValue = operation.required.contains(field) || field == .token
        return isValue ? .value(field) : .clause(field)
    }

    /// The phrase for people: `rejects CALL_ID [busy] [saying EXTENDED_DATA]`.
    var written: String {
        var words = [verb]
        for part in parts {
            switch part {
            case .word(let word): words.append(word)
            case .value(let field): words.append(field.name.uppercased())
            case .clause(let field): words.append("[\(Self.written(field))]")
            case .meant: break
            }
        }
        return words.joined(separator: " ")
    }

    private static func written(_ field: Field) -> String {
        switch field {
        case .deliveryCheck: "checked, checked after TIME, unchecked"
        case .reason: "busy"
        case .holdActive, .force, .clear: opening(of: field)
        case .audio, .video: "\(field.name) on, \(field.name) off"
        default: "\(opening(of: field)) \(field.name.uppercased())"
        }
    }

    /// The word that begins a clause: the field's name, where no other reads better.
    static func opening(of field: Field) -> String {
        let words: [Field: String] = [
            .users: "for", .timeout: "timeout", .push: "pushing", .extendedData: "saying",
            .holdActive: "holding", .cursor: "before", .peer: "with", .endReasons: "ended",
        ]
        return words[field] ?? field.name
    }

    /// Every phrase by its verb.
    static let all: [String: Phrase] = {
        let phrases = OperationDescriptor.all.flatMap { operation in
            operation.phrases.map { Phrase($0, of: operation) }
        }
        return Dictionary(uniqueKeysWithValues: phrases.map { ($0.verb, $0) })
    }()
}

extension StepParser {
    /// What a device or a policy asks for.
    mutating func operation(
        _ verb: String, _ words: inout StepReader
    ) throws(ScenarioError) -> Operation {
        guard let phrase = Phrase.all[verb] else {
            throw ScenarioError(line: words.line, "nobody `\(verb)` anything")
        }
        var values = FieldValues()
        for part in phrase.parts {
            switch part {
            case .word(let word): try words.must(word)
            case .value(let field): try read(field, &words, into: &values)
            case .clause(let field): try readClause(field, &words, into: &values)
            case .meant(let field, let flag): values.give(field, flag)
            }
        }
        guard let operation = phrase.operation.make(&values) else {
            throw ScenarioError(line: words.line, "no device `\(verb)` by itself")
        }
        return operation
    }

    // MARK: Clauses

    /// Reads the clause of `field`, if it is next.
    private mutating func readClause(
        _ field: Field, _ words: inout StepReader, into values: inout FieldValues
    ) throws(ScenarioError) {
        switch field {
        case .holdActive, .force, .clear:
            if words.take(Phrase.opening(of: field)) { values.give(field, true) }
        case .reason: if words.take("busy") { values.give(.reason, .busy, \.reason) }
        case .deliveryCheck: try readCheck(&words, into: &values)
        case .callID, .user, .to, .invitees, .users, .mode, .kind, .timeout, .extendedData, .items,
            .push, .audio, .video, .media, .on, .put, .delete, .data, .limit, .cursor, .state,
            .role, .endReasons, .peer, .since, .until, .provider, .token, .subscription,
            .environment, .device, .resume, .missed, .name:
            if words.take(Phrase.opening(of: field)) { try read(field, &words, into: &values) }
        }
    }

    private func readCheck(
        _ words: inout StepReader, into values: inout FieldValues
    ) throws(ScenarioError) {
        if words.take("checked") {
            let after = try words.value(after: "after")
            let time = try after.map { (text) throws(ScenarioError) in try length(text, words) }
            values.give(.deliveryCheck, time ?? Invitation.usualDeliveryCheck, \.deliveryCheck)
        } else if words.take("unchecked") {
            values.give(.deliveryCheck, 0, \.deliveryCheck)
        }
    }

    // MARK: Values

    /// Reads the value of `field`.
    private mutating func read(
        _ field: Field, _ words: inout StepReader, into values: inout FieldValues
    ) throws(ScenarioError) {
        switch field {
        case .callID: values.give(field, try call(&words), \.callID)
        case .cursor: values.query.before = try call(&words)
        case .user, .to: values.give(field, UserID(try words.next("a user")), \.user)
        case .invitees:
            values.give(field, try users(&words), \.users)
            if let name = try words.value(after: "as") { names.announce(name) }
        case .users: values.give(field, try users(&words), \.users)
        case .peer: values.query.peer = UserID(try words.next("a user"))
        case .mode: values.give(field, try mode(&words), \.mode)
        case .audio, .video, .on, .holdActive, .force, .clear, .missed:
            values.give(field, try flag(&words))
        case .items, .put: values.give(field, try items(&words), \.texts)
        case .delete: values.give(field, try words.list("a key"), \.delete)
        case .push: values.give(field, PushText(title: try words.next("a title")), \.push)
        case .data: values.give(field, Array(try words.next("JSON").utf8), \.data)
        case .timeout: values.give(field, try length(try words.next("a time"), words), \.timeout)
        case .limit: values.query.limit = Int(try words.next("a number")) ?? values.query.limit
        case .state, .role, .endReasons, .reason, .media:
            try readWord(field, &words, into: &values)
        case .kind, .extendedData, .provider, .token, .subscription, .environment, .device,
            .resume, .deliveryCheck, .since, .until, .name:
            try readText(field, &words, into: &values)
        }
    }

    private func readText(
        _ field: Field, _ words: inout StepReader, into values: inout FieldValues
    ) throws(ScenarioError) {
        let text = try words.next("a text")
        switch field {
        case .kind:
            values.give(field, text, \.kind)
            values.query.kind = text
        case .extendedData: values.give(field, text, \.extendedData)
        case .provider: values.give(field, text, \.provider)
        case .token: values.give(field, text, \.token)
        case .subscription: values.give(field, text, \.subscription)
        case .environment: values.give(field, text, \.environment)
        default: throw words.expected("no `\(field.name)`: a scenario has none")
        }
    }

    private func readWord(
        _ field: Field, _ words: inout StepReader, into values: inout FieldValues
    ) throws(ScenarioError) {
        switch field {
        case .state: values.query.state = try words.word(Call.State.self)
        case .role: values.query.role = try words.word(Participant.Role.self)
        case .endReasons:
            repeat {
                values.query.endReasons.append(try words.word(EndReason.self))
            } while words.takeComma()
        case .reason: values.give(field, try words.word(RejectReason.self), \.reason)
        default: values.give(field, try words.word(MediaReport.self), \.media)
        }
    }

    // MARK: Parts

    private func mode(_ words: inout StepReader) throws(ScenarioError) -> ModeRow {
        let name = try words.next("a mode")
        guard let mode = ModeRow(named: name, in: modes) else {
            throw ScenarioError(line: words.line, "no mode is called \(name)")
        }
        return mode
    }

    private func flag(_ words: inout StepReader) throws(ScenarioError) -> Bool {
        if words.take("on") { return true }
        guard words.take("off") else { throw words.expected("`on` or `off`") }
        return false
    }

    private func items(_ words: inout StepReader) throws(ScenarioError) -> [Call.Item] {
        var items: [Call.Item] = []
        for word in try words.list("KEY=VALUE") {
            let parts = word.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else {
                throw ScenarioError(line: words.line, "`\(word)` is not KEY=VALUE")
            }
            items.append(Call.Item(key: String(parts[0]), value: String(parts[1])))
        }
        return items
    }
}

extension StepReader {
    /// Takes one word of a closed list.
    fileprivate mutating func word<Word: RawRepresentable<String> & CaseIterable>(
        _: Word.Type
    ) throws(ScenarioError) -> Word {
        let list = Word.allCases.map(\.rawValue).joined(separator: ", ")
        guard let word = Word(rawValue: try next("one of \(list)")) else {
            throw ScenarioError(line: line, "expected one of \(list)")
        }
        return word
    }
}
