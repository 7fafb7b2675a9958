// What a returned value means for the question, hook by hook.

import CLua
import CallModel
import Configuration
import JSON
import Lua

extension Inquiry {
    /// Takes what a plugin returned. A shaping hook keeps the new shape for the next plugin.
    mutating func take(
        _ returned: Returned, by plugin: PluginState, next: Int, view: CallView
    ) throws(BadReturn) -> Step {
        let most = plugin.setting.extendedDataMax
        switch self {
        case .invite:
            let remaining = view.remaining(at: plugin.services.now)
            switch try returned.invitation(view, remaining, plugin) {
            case .nothing: return .next(hasOpinion: false)
            case .unfit(let why): return .unfit(why)
            case .decision(let decision, let note):
                let place = returned.asksAgain ? next - 1 : next
                return .answered(
                    .answer(.invite(decision, by: plugin.name, next: place)), note: note)
            }
        case .dial(_, let invitees):
            // Of a group that is named each member may be chosen.
            let members = invitees.compactMap(\.group).flatMap { plugin.setting.groups[$0] ?? [] }
            return try returned.dial(
                invitees: invitees + members, dataMax: most, by: plugin.name)
        case .join: return try returned.join(by: plugin.name)
        case .token: return try returned.token()
        case .incoming(let user, let text):
            let shaped: String?
            do throws(BadReturn) {
                shaped = try returned.text(instead: text, dataMax: most)
            } catch {
                guard error.isTooLarge else { throw error }
                return .answered(.answer(.tooLarge(by: plugin.name)), note: error.message)
            }
            self = .incoming(user: user, text: shaped)
            if shaped == nil { return .answered(.answer(.data(nil))) }
            return .next(hasOpinion: shaped != text)
        case .outgoing(let texts, let place, let text, let views):
            let shaped: String?
            do throws(BadReturn) {
                shaped = try returned.text(instead: text, dataMax: most)
            } catch {
                guard error.isTooLarge else { throw error }
                return .unfit(error.message)
            }
            self = .outgoing(texts, place: place, text: shaped, views: views)
            return .next(hasOpinion: shaped != text)
        case .push(let draft, let job): return try takePush(returned, draft, job)
        }
    }

    private mutating func takePush(
        _ returned: Returned, _ draft: PushDraft, _ job: PushID
    ) throws(BadReturn) -> Step {
        switch returned {
        case .nothing: return .next(hasOpinion: false)
        case .decision(PLAIN_DROP, _): return .answered(.push(nil))
        case .decision, .rejection: throw returned.unfit(for: "push")
        case .value(let value):
            let changed = try draft.changed(to: value)
            // Whoever calls may leave no room: all but the payload is as the plugin wants it.
            if let overflow = changed.overflow {
                self = .push(changed.carrying(payloadOf: draft), job: job)
                return .unfit(overflow)
            }
            self = .push(changed, job: job)
            return .next(hasOpinion: changed != draft)
        }
    }

    /// The answer when no plugin is left.
    var outcome: Verdict {
        switch self {
        case .invite, .dial, .join, .token: .answer(.none)
        case .incoming(_, let text): .answer(.data(text))
        case .outgoing(_, _, _, let views): .answer(.views(views))
        case .push(let draft, _): .push(draft)
        }
    }
}

extension Returned {
    // MARK: on.dial

    fileprivate func dial(
        invitees: [UserID], dataMax: Int, by plugin: String
    ) throws(BadReturn) -> Step {
        switch self {
        case .nothing: return .next(hasOpinion: false)
        case .value(let value):
            throw BadReturn("on.dial returned \(value.typePhrase), not a decision")
        case .decision(PLAIN_REFUSE, let arguments):
            return .answered(.answer(try Self.refusal(arguments, by: plugin)))
        case .decision(PLAIN_ALLOW, let arguments):
            let allowance = try Self.allowance(
                arguments.first ?? .null, invitees: invitees, dataMax: dataMax)
            return .answered(.answer(.allow(allowance)))
        case .decision, .rejection: throw unfit(for: "dial")
        }
    }

    private static func refusal(
        _ arguments: [LuaValue], by plugin: String
    ) throws(BadReturn) -> Answer {
        let code = arguments.first?.text ?? ""
        guard (1...64).contains(code.utf8.count) else {
            throw BadReturn("refuse: a code has 1 to 64 bytes")
        }
        return .refuse(code: code, by: plugin)
    }

    // MARK: on.join

    fileprivate func join(by plugin: String) throws(BadReturn) -> Step {
        switch self {
        case .nothing: return .next(hasOpinion: false)
        case .value(let value):
            throw BadReturn("on.join returned \(value.typePhrase), not a decision")
        case .decision(PLAIN_ADMIT, _): return .answered(.answer(.allow(Allowance())))
        case .decision(PLAIN_REFUSE, let arguments):
            return .answered(.answer(try Self.refusal(arguments, by: plugin)))
        case .decision, .rejection: throw unfit(for: "join")
        }
    }

    private static func allowance(
        _ options: LuaValue, invitees: [UserID], dataMax: Int
    ) throws(BadReturn) -> Allowance {
        var allowance = Allowance()
        if !options["timeout"].isNull {
            guard let text = options["timeout"].text, let span = Duration.parse(text),
                (1_000...600_000).contains(span)
            else { throw BadReturn("allow: timeout is a duration from \"1s\" to \"10m\"") }
            allowance.timeout = span
        }
        if !options["invitees"].isNull {
            let list = options["invitees"].list ?? []
            let known = Dictionary(invitees.map { ($0.text, $0) }) { first, _ in first }
            var kept: [UserID] = []
            for value in list {
                guard let text = value.id, let user = known[text] else {
                    throw BadReturn("allow: '\(value.shown)' is none of the invitees")
                }
                kept.append(user)
            }
            allowance.invitees = kept
        }
        if !options["extended_data"].isNull {
            allowance.extendedData = .some(try data(options["extended_data"], max: dataMax))
        }
        return allowance
    }

    // MARK: on.token

    fileprivate func token() throws(BadReturn) -> Step {
        switch self {
        case .nothing: return .next(hasOpinion: false)
        case .decision, .rejection:
            throw BadReturn("on.token returns a table, not a decision")
        case .value(let value):
            guard case .table = value, let json = try? value.json() else {
                let found = value.list == nil ? value.typePhrase : "a list"
                throw BadReturn("on.token returned \(found), not a table with names")
            }
            let bytes = json.bytes
            guard bytes.count <= 16_384 else {
                throw BadReturn("on.token returned \(bytes.count) bytes, over the limit of 16384")
            }
            return .answered(.answer(.token(bytes)))
        }
    }

    // MARK: on.extended_data

    /// The text after this plugin; nil: dropped.
    fileprivate func text(instead old: String?, dataMax: Int) throws(BadReturn) -> String? {
        switch self {
        case .nothing: return old
        case .decision(PLAIN_DROP, _): return nil
        case .decision, .rejection: throw unfit(for: "extended_data")
        case .value(let value):
            switch value {
            case .text, .table, .list: return try Self.data(value, max: dataMax)
            case .null, .bool, .integer, .number, .bytes, .function, .call, .user, .handle,
                .decision:
                throw BadReturn(
                    "on.extended_data returned \(value.typePhrase), not a table or string")
            }
        }
    }
}
