// A call, as an app has it.

import CallModel
import JSON

/// What happened to a call.
public struct CallNews: Sendable, Equatable {
    /// The call as it is now.
    public let call: Call
    /// What the server told; nil: the answer to a request, or a new session, told it.
    public let event: CallEvent?
    /// Whether something of the call is not as it was.
    public let isChanged: Bool
    /// Whether the call is over now, for everybody or for this user alone.
    public let isLast: Bool
}

/// One call of the user: the same object as long as the call lives. It shows what the server said
/// last: of several messages, that with the highest revision. Thread-confined to its client.
public final class ClientCall {
    /// The call of the protocol. It is another value after every change.
    public private(set) var snapshot: Call
    /// Told of everything that happens to this call.
    public let listeners = Listeners<CallNews>()
    /// The users to whom no invitation could be sent, and why; only of a call that this client
    /// made.
    public internal(set) var errors: [InviteeError] = []
    private weak var machine: ClientMachine?
    private var streams: [AsyncStream<CallNews>.Continuation] = []

    init(_ snapshot: Call, of machine: ClientMachine?) {
        self.snapshot = snapshot
        self.machine = machine
    }

    deinit { for stream in streams { stream.finish() } }

    /// The id.
    public var id: CallID { snapshot.id }
    /// The name of the mode.
    public var mode: String { snapshot.mode.name }
    /// `audio`, `video`, or the app's own word.
    public var kind: String { snapshot.kind }
    /// Where the call is in its life.
    public var state: Call.State { snapshot.state }
    /// Who called.
    public var caller: UserID { snapshot.caller }
    /// Everybody who is or was in it, the caller first.
    public var participants: [Participant] { snapshot.participants }
    /// The user's own part.
    public var me: Participant? { machine?.user.flatMap { snapshot.participant($0) } }
    /// Everybody else.
    public var others: [Participant] { participants.filter { $0.user != machine?.user } }
    /// Whether it is over, for everybody or for this user alone, who rejected it, left, ….
    public var isEnded: Bool { !snapshot.isLive(for: machine?.user) }
    /// Whether the user is asked: accept or reject. An app rings as long as this is so.
    public var isPending: Bool { !isEnded && me?.state.mayAnswer == true }
    /// Whether this client called, accepted or joined, so that voice belongs here.
    public var isHere: Bool { machine?.book.hasHere(id) ?? false }
    /// How the whole call ended; nil: it has not.
    public var outcome: Call.End? { snapshot.end }
    /// How far the media is.
    public var mediaPhase: Call.Media { snapshot.media }
    /// The named texts.
    public var values: [Call.Item] { snapshot.items }
    /// What came with the invitation.
    public var extendedData: String? { snapshot.extendedData }
    /// Grows with every change.
    public var revision: UInt32 { snapshot.revision }

    /// Milliseconds since the first accept, until the end, by the server's clock; 0 while nobody
    /// has accepted.
    public var duration: Milliseconds {
        guard snapshot.endedAt == nil, let from = snapshot.answeredAt,
            let now = machine?.serverTime
        else { return snapshot.duration }
        return max(0, now - from)
    }

    /// What happens from now on, until the call is over for this user. May be read on any thread,
    /// and by any number of readers, each with a sequence of its own.
    ///
    /// - Parameter newest: so many unread changes are kept, the newest.
    public func news(keeping newest: Int = 1_000) -> AsyncStream<CallNews> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: CallNews.self, bufferingPolicy: .bufferingNewest(newest))
        if isEnded { continuation.finish() } else { streams.append(continuation) }
        return stream
    }

    /// Takes what the call is like now.
    ///
    /// - Returns: whether that is something new.
    func take(_ told: Call) -> Bool {
        guard snapshot != told else { return false }
        snapshot = told
        return true
    }

    func tell(_ news: CallNews) {
        listeners.tell(news)
        streams.removeAll { stream in
            if case .terminated = stream.yield(news) { return true }
            if news.isLast { stream.finish() }
            return news.isLast
        }
    }
}

/// What the user can do. Each completion is called once, on the client's thread, when the server
/// has answered, and the call is then as the answer says; `stopped` where there is no client.
extension ClientCall {
    /// The result of an operation that gives nothing but the changed call.
    public typealias Done = (Result<Void, RequestFailure>) -> Void
    /// The result of an operation on users: those for whom it was not done.
    public typealias Errors = (Result<[InviteeError], RequestFailure>) -> Void

    /// Accepts, saying `text`.
    public func accept(
        with acceptance: Acceptance = Acceptance(), saying text: String? = nil,
        _ completion: @escaping Done = { _ in }
    ) {
        act(.accept(acceptance), saying: text, looksAgain: acceptance.holdActive, completion)
    }

    /// Rejects, as declined or as busy, saying `text`.
    public func reject(
        busy: Bool = false, saying text: String? = nil, _ completion: @escaping Done = { _ in }
    ) {
        act(.reject(busy: busy), saying: text, completion)
    }

    /// Withdraws the invitations of `users`, or all that are pending.
    public func cancel(
        only users: [UserID] = [], saying text: String? = nil,
        _ completion: @escaping Errors = { _ in }
    ) {
        ask(.cancel(users), saying: text, Self.errors(completion))
    }

    /// Invites more people.
    public func add(
        _ invitees: [UserID], push: PushText? = nil, _ completion: @escaping Errors = { _ in }
    ) {
        ask(.add(invitees, push: push), saying: nil, Self.errors(completion))
    }

    /// Sends `users` out of the call, for its caller.
    public func remove(_ users: [UserID], _ completion: @escaping Errors = { _ in }) {
        ask(.remove(users), saying: nil, Self.errors(completion))
    }

    /// Joins from outside, or moves the call to this device.
    public func join(
        audio: Bool? = nil, video: Bool? = nil, saying text: String? = nil,
        _ completion: @escaping Done = { _ in }
    ) {
        act(.join(audio: audio, video: video), saying: text, completion)
    }

    /// Leaves a call that goes on without the user.
    public func leave(
        saying text: String? = nil, push: PushText? = nil, _ completion: @escaping Done = { _ in }
    ) {
        act(.leave(push: push), saying: text, completion)
    }

    /// Ends the call for everybody.
    public func end(
        saying text: String? = nil, push: PushText? = nil, _ completion: @escaping Done = { _ in }
    ) {
        act(.end(push: push), saying: text, completion)
    }

    /// Asks that `user` takes this user's place.
    public func transfer(
        to user: UserID, saying text: String? = nil, push: PushText? = nil,
        _ completion: @escaping Done = { _ in }
    ) {
        guard let machine else { return completion(.failure(.stopped)) }
        machine.transfer(id, to: user, saying: text, push: push) { completion($0.map { _ in }) }
    }

    /// Says how this device's media is.
    public func report(_ media: MediaReport, _ completion: @escaping Done = { _ in }) {
        act(.report(media), saying: nil, completion)
    }

    /// Says which media the user sends; nil: as it was.
    public func media(
        audio: Bool? = nil, video: Bool? = nil, _ completion: @escaping Done = { _ in }
    ) {
        act(.media(audio: audio, video: video), saying: nil, looksAgain: true, completion)
    }

    /// Holds the call or, with `on: false`, goes on with it.
    ///
    /// - Parameter force: ends the call that is in the way of going on.
    public func hold(
        on: Bool = true, force: Bool = false, _ completion: @escaping Done = { _ in }
    ) {
        act(.hold(on: on, force: force), saying: nil, looksAgain: true, completion)
    }

    /// Sends JSON to another participant, or to all others that joined.
    public func signal(
        _ data: JSONValue, to user: UserID? = nil, _ completion: @escaping Done = { _ in }
    ) {
        act(.signal(to: user, data: data.bytes), saying: nil, completion)
    }

    /// Changes the named texts; the completion gets all that there are now.
    public func items(
        _ change: ItemsChange,
        _ completion: @escaping (Result<[Call.Item], RequestFailure>) -> Void = { _ in }
    ) {
        let answer = Reading.answer(Reading.changedItems) { completion($0.map(\.items)) }
        ask(.items(change), saying: nil, answer)
    }

    /// Asks for credentials of the media side, as the server's plugin makes them.
    public func token(
        _ completion: @escaping (Result<JSONValue, RequestFailure>) -> Void
    ) {
        ask(.token, saying: nil, Reading.answer(Reading.token, completion))
    }

    private static func errors(_ completion: @escaping Errors) -> Reading.Answer {
        Reading.answer(Reading.invited) { completion($0.map(\.errors)) }
    }

    private func act(
        _ action: CallAction, saying text: String?, looksAgain: Bool = false,
        _ completion: @escaping Done
    ) {
        ask(action, saying: text) { [weak machine] result in
            guard looksAgain, case .success = result, let machine else {
                return completion(result.map { _ in })
            }
            machine.book.lookAgain { completion(result.map { _ in }) }
        }
    }

    private func ask(
        _ action: CallAction, saying text: String?, _ completion: @escaping Reading.Answer
    ) {
        guard let machine else { return completion(.failure(.stopped)) }
        machine.perform(.call(id, action, saying: text), completion)
    }
}
