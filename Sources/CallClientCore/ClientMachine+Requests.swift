// Requests: sent now or when the connection is back, repeated until answered, given up in time.

import CallModel
import CallWire
import JSON

extension ClientMachine {
    func begin(_ operation: Operation, _ key: RequestKey, _ completion: @escaping Reading.Answer) {
        begin(.operation(operation), key: key.text(for: operation, &dice), completion)
    }

    func begin(_ asked: Asked, key: String?, _ completion: @escaping Reading.Answer) {
        let patience = state == .stopped ? 0 : options.answerWithin
        let request = OpenRequest(
            asked: asked, key: key, deadline: transport.now + patience, completion: completion)
        if let refusal = asked.refusal { refuse(request, refusal) } else { submit(request) }
    }

    /// Answers in the next turn: nobody is called back before the call returns.
    private func refuse(_ request: OpenRequest, _ refusal: Refusal) {
        refused.append((request: request, refusal: refusal))
        setRequestAlarm(at: transport.now)
    }

    private func submit(_ request: OpenRequest) {
        var request = request
        request.repeatAt = nil
        let (id, message) =
            switch request.asked {
            case .operation(let operation): link.request(operation, key: request.key)
            case .named(let name, let data):
                link.request(named: name, data: data, key: request.key)
            }
        if let refusal = link.takeOutTooLarge(id) { return refuse(request, refusal) }
        keep(request, as: id)
        if let message { send(message) }
    }

    /// The server has answered.
    func answered(_ id: Int64, _ reply: ServerReply) {
        guard let request = requests.remove(id).first else { return }
        switch reply {
        case .ok(let value):
            book.learn(fromAnswer: value, to: request.asked.name)
            request.completion(.success(value))
        case .error(let refusal):
            let again = transport.now + max(refusal.retryAfter ?? 0, Self.leastPause)
            guard refusal.code.isRetryable, request.mayRepeat, again < request.deadline else {
                return request.completion(.failure(.refused(refusal)))
            }
            var waiting = request
            waiting.repeatAt = again
            keep(waiting, as: id)
        }
    }

    /// These requests get no answer any more.
    func settle(_ lost: [OpenRequest], _ failure: RequestFailure) {
        for request in lost { request.completion(.failure(failure)) }
    }

    func requestAlarmRang() {
        let now = transport.now
        requestAlarmAt = .max
        let refused = self.refused
        self.refused = []
        for (request, refusal) in refused { request.completion(.failure(.refused(refusal))) }
        for (id, request) in requests.takeDue(at: now) {
            link.forget(id)
            if request.deadline > now {
                submit(request)
            } else {
                settle([request], state == .stopped ? .stopped : .unanswered)
            }
        }
        if let due = requests.nextDue { setRequestAlarm(at: due) }
    }

    private func keep(_ request: OpenRequest, as id: Int64) {
        requests.add(request, as: id)
        setRequestAlarm(at: request.due)
    }

    /// Only ever moved to an earlier moment: requests answered meanwhile are noticed when it fires.
    private func setRequestAlarm(at moment: Int64) {
        guard moment < requestAlarmAt else { return }
        requestAlarmAt = moment
        setAlarm()
    }

    /// The least pause before a request is repeated, in milliseconds.
    private static var leastPause: Milliseconds { 50 }
}
