// What the switchboard and the plugins of a test tell each other, carried from one to the other.

import CallCore
import CallModel
import Configuration
import JSON
import Lua
import PolicyHost
import WebProtocols

extension TestWorld {
    /// Hands inputs over, one after the other, until nothing follows from them.
    func work(_ first: Work?) {
        if let first { queue.append(first) }
        if isWorking { return }
        isWorking = true
        while !queue.isEmpty {
            switch queue.removeFirst() {
            case .core(let input): for effect in board.handle(input, at: now) { carryOut(effect) }
            case .host(let input): take(host.handle(input, at: now))
            }
        }
        isWorking = false
    }

    private func carryOut(_ effect: Effect) {
        switch effect {
        case .persist(let records):
            for case .call(let call) in records { stored[call.id] = call }
            for id in records.compactMap(\.endedCall) { queue.append(.host(.callEnded(id))) }
        case .reply(let id, let reply): take(reply, to: id)
        case .consult(let question):
            openQuestions.insert(question.id)
            asked.append(question)
            let shown = Question(
                id: question.id, decideBy: question.decideBy, subject: question.subject,
                facts: question.facts.map(shown))
            queue.append(.host(.asked(shown)))
        case .withdraw(let id):
            openQuestions.remove(id)
            queue.append(.host(.withdrawn(id)))
        case .tell(let report):
            if isQuiet { return }
            let shown = Report(
                call: report.call, at: report.at, kind: report.kind,
                facts: report.facts.map(shown))
            queue.append(.host(.told(shown)))
        case .recall(let id): queue.append(.core(.recalled(id, stored[id])))
        case .recallKey(let user, let key):
            queue.append(.core(.recalledKey(user, key: key, nil)))
        case .welcome, .send, .replace, .list: break
        }
    }

    private func take(_ reply: Reply, to id: RequestID) {
        guard let (wait, place) = waits.removeValue(forKey: id) else {
            return replies[id] = reply
        }
        var refusal: Refusal?
        if case .refused(let why) = reply {
            refusal = why
            operations[place] = operations[place].refused(why)
        }
        queue.append(.host(.replied(wait, .operation(refusal))))
    }

    func take(_ effects: [PolicyEffect]) {
        for effect in effects { take(effect) }
    }

    private func take(_ effect: PolicyEffect) {
        switch effect {
        case .answer(let id, let answer):
            answers[id] = answer
            if openQuestions.remove(id) != nil { queue.append(.core(.answered(id, answer))) }
        case .thinking(let id):
            // At once: what the handler asks for next may be about the call.
            for effect in board.handle(.thinking(id), at: now) { carryOut(effect) }
        case .shaped(_, let draft): shaped = .some(draft)
        case .log(let line):
            log.append(line)
            if line.fields["failure"] != nil
                || line.level == .warn && line.text.contains("decision")
            {
                failures.append(line.text)
                allFailures.append(line.text)
            }
        case .operate(let wait, let user, let plugin, let operation, let cause):
            operations.append(operation.described)
            guard let id = operation.callID, stored[id] != nil else {
                return queue.append(.host(.replied(wait, .operation(nil))))
            }
            let request = RequestID(newNumber())
            waits[request] = (wait, operations.count - 1)
            queue.append(
                .core(.policyRequest(request, user, plugin: plugin, operation, cause)))
        case .perform(let wait, let plugin, let request, _):
            queue.append(.host(.replied(wait, reply(to: request, of: plugin))))
        case .record(let record): records.append(record)
        case .keepTimer, .dropTimer, .abandon, .count, .observe, .rolledBack, .canaryTakenBack,
            .alarm:
            break
        }
    }

    func reply(to request: WaitRequest, of plugin: String) -> WaitReply {
        switch request {
        case .lookUp(let user, let call): return .user(facts(of: user, besides: call))
        case .call(let id):
            let call = board.call(id) ?? madeUp[id]
            return .call(call, call.map { facts(of: $0) } ?? [])
        case .store(let request):
            return stores[plugin, default: KeysInMemory()].reply(to: request, at: now)
        case .fetch(let request):
            operations.append(request.described)
            guard let page = pages[request.url] else {
                return .trouble("no reply for \(request.url) (set one with t.http)")
            }
            return page.fetched
        }
    }
}

extension LuaValue {
    /// What a made-up page of the web answers.
    fileprivate var fetched: WaitReply {
        if let problem = text { return .trouble(problem) }
        var headers: [HTTPHeader] = []
        for pair in self["headers"].table ?? [] {
            headers.append(HTTPHeader(pair.key.shown, pair.value.shown))
        }
        var body = Array((self["body"].text ?? "").utf8)
        if let json = try? self["json"].json(), !json.isNull {
            body = json.bytes
            headers.append(HTTPHeader("content-type", "application/json"))
        }
        return .fetched(
            FetchReply(status: Int(self["status"].integer ?? 200), headers: headers, body: body))
    }
}
