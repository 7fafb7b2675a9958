// The operations of the protocol, by name and with typed answers.

import CallModel
import CallWire
import JSON

/// The answer to an operation that names users: to invite, to add, to cancel.
public struct Invited: Sendable, Equatable {
    /// The call as it is now.
    public let call: Call
    /// For whom it was not carried out, and why.
    public let errors: [InviteeError]
}

/// The named texts of a call after a change.
public struct ChangedItems: Sendable, Equatable {
    /// All that there are now.
    public let items: [Call.Item]
    /// The keys that the change touched.
    public let keys: [String]
}

/// A page of calls.
public struct ListedCalls: Sendable, Equatable {
    /// The newest first.
    public let calls: [Call]
    /// Where the next page begins; nil: this is the last one.
    public let cursor: CallID?
}

extension CallClient {
    /// The result of a request that answers with a call.
    public typealias CallAnswer = (Result<Call, RequestFailure>) -> Void
    /// The result of a request that answers with nothing.
    public typealias Done = (Result<Void, RequestFailure>) -> Void

    /// Creates a call and invites.
    public func invite(
        _ invitation: Invitation, key: RequestKey = .automatic,
        _ completion: @escaping (Result<Invited, RequestFailure>) -> Void
    ) {
        perform(.invite(invitation), key: key, Reading.answer(Reading.invited, completion))
    }

    /// Invites more people to a call.
    public func add(
        _ invitees: [UserID], to call: CallID, push: PushText? = nil,
        _ completion: @escaping (Result<Invited, RequestFailure>) -> Void
    ) {
        perform(
            .call(call, .add(invitees, push: push)), Reading.answer(Reading.invited, completion))
    }

    /// Tells that this device shows the call: for an app to say when it does.
    public func ringing(_ call: CallID, _ completion: @escaping Done = { _ in }) {
        tell(.call(call, .ringing), completion)
    }

    /// Accepts an invitation, saying `text`.
    public func accept(
        _ call: CallID, with acceptance: Acceptance = Acceptance(), saying text: String? = nil,
        _ completion: @escaping CallAnswer
    ) {
        ask(.call(call, .accept(acceptance), saying: text), completion)
    }

    /// Acknowledges the acceptance of `user`, in mode `handshake`. The client does this by itself
    /// as soon as it is told of one.
    public func acknowledgeAccept(
        of user: UserID, in call: CallID, _ completion: @escaping CallAnswer
    ) {
        ask(.call(call, .acceptAck(user)), completion)
    }

    /// Rejects an invitation, as declined or as busy, saying `text`.
    public func reject(
        _ call: CallID, busy: Bool = false, saying text: String? = nil,
        _ completion: @escaping CallAnswer
    ) {
        ask(.call(call, .reject(busy: busy), saying: text), completion)
    }

    /// Cancels the invitations of `users`, or all that are pending.
    public func cancel(
        _ call: CallID, only users: [UserID] = [], saying text: String? = nil,
        _ completion: @escaping (Result<Invited, RequestFailure>) -> Void
    ) {
        perform(
            .call(call, .cancel(users), saying: text), Reading.answer(Reading.invited, completion))
    }

    /// Joins a call from outside, or moves it to this device; nil: the kind of the call says which
    /// media the user sends.
    public func join(
        _ call: CallID, audio: Bool? = nil, video: Bool? = nil, saying text: String? = nil,
        _ completion: @escaping CallAnswer
    ) {
        ask(.call(call, .join(audio: audio, video: video), saying: text), completion)
    }

    /// Leaves a call that goes on without the user.
    public func leave(
        _ call: CallID, saying text: String? = nil, push: PushText? = nil,
        _ completion: @escaping CallAnswer
    ) {
        ask(.call(call, .leave(push: push), saying: text), completion)
    }

    /// Asks that `user` takes this user's place in a call, saying `text`.
    public func transfer(
        _ call: CallID, to user: UserID, saying text: String? = nil, push: PushText? = nil,
        _ completion: @escaping CallAnswer
    ) {
        ask(.call(call, .transfer(to: user, push: push), saying: text), completion)
    }

    /// Removes `users` from a call, for its caller.
    public func remove(
        _ users: [UserID], from call: CallID,
        _ completion: @escaping (Result<Invited, RequestFailure>) -> Void
    ) {
        perform(.call(call, .remove(users)), Reading.answer(Reading.invited, completion))
    }

    /// Ends a call for everybody.
    public func end(
        _ call: CallID, saying text: String? = nil, push: PushText? = nil,
        _ completion: @escaping CallAnswer
    ) {
        ask(.call(call, .end(push: push), saying: text), completion)
    }

    /// Tells which media the user sends, in a call that the user has joined; nil: as it was.
    public func media(
        audio: Bool? = nil, video: Bool? = nil, in call: CallID,
        _ completion: @escaping Done = { _ in }
    ) {
        tell(.call(call, .media(audio: audio, video: video)), completion)
    }

    /// Holds a call or, with `on: false`, goes on with it, in mode `direct`.
    ///
    /// - Parameter force: ends the call that is in the way of going on.
    public func hold(
        _ call: CallID, on: Bool = true, force: Bool = false,
        _ completion: @escaping Done = { _ in }
    ) {
        tell(.call(call, .hold(on: on, force: force)), completion)
    }

    /// Changes the named texts of a call, in mode `direct`, also after its end.
    public func items(
        _ change: ItemsChange, in call: CallID,
        _ completion: @escaping (Result<ChangedItems, RequestFailure>) -> Void
    ) {
        perform(.call(call, .items(change)), Reading.answer(Reading.changedItems, completion))
    }

    /// Reports the state of this device's media.
    public func report(
        _ media: MediaReport, in call: CallID, _ completion: @escaping Done = { _ in }
    ) {
        tell(.call(call, .report(media)), completion)
    }

    /// Sends JSON to another participant, or to all others that joined.
    public func signal(
        _ data: JSONValue, to user: UserID? = nil, in call: CallID,
        _ completion: @escaping Done = { _ in }
    ) {
        tell(.call(call, .signal(to: user, data: data.bytes)), completion)
    }

    /// Asks for the present state of a call.
    public func get(_ call: CallID, _ completion: @escaping CallAnswer) {
        ask(.call(call, .get), completion)
    }

    /// Asks for calls, the newest first.
    public func list(
        _ query: ListQuery = ListQuery(),
        _ completion: @escaping (Result<ListedCalls, RequestFailure>) -> Void
    ) {
        perform(.list(query), Reading.answer(Reading.listed, completion))
    }

    /// Asks for credentials of the media side, which a plugin makes; the completion gets the
    /// object that it made.
    public func token(
        for call: CallID, _ completion: @escaping (Result<JSONValue, RequestFailure>) -> Void
    ) {
        perform(.call(call, .token), Reading.answer(Reading.token, completion))
    }

    /// Registers this device with a push service; replaces an earlier registration there.
    public func registerPush(
        _ registration: PushRegistration, _ completion: @escaping Done = { _ in }
    ) {
        tell(.pushRegister(registration), completion)
    }

    /// Removes the registration of this device with a push service, as an app does when its user
    /// signs out: `logOut` alone keeps it.
    public func unregisterPush(
        _ provider: String, _ completion: @escaping Done = { _ in }
    ) {
        tell(.pushUnregister(provider: provider), completion)
    }

    /// Asks for an operation that answers with a call.
    public func ask(
        _ operation: Operation, key: RequestKey = .automatic, _ completion: @escaping CallAnswer
    ) {
        perform(operation, key: key, Reading.answer(Reading.call, completion))
    }

    /// Asks for an operation that answers with nothing.
    private func tell(_ operation: Operation, _ completion: @escaping Done) {
        perform(operation, Reading.answer(Reading.nothing, completion))
    }
}

/// Answers as values.
enum Reading {
    private static let decoder = ServerMessageDecoder()

    /// A completion that reads `ok` before it goes on; nil: the answer lacks something.
    static func answer<Value>(
        _ read: @escaping (JSONValue) -> Value?,
        _ completion: @escaping (Result<Value, RequestFailure>) -> Void
    ) -> CallClient.Answer {
        { result in
            completion(
                result.flatMap { ok in read(ok).map { .success($0) } ?? .failure(.unreadable) })
        }
    }

    static func nothing(_ ok: JSONValue) -> Void? { () }

    static func call(_ ok: JSONValue) -> Call? { decoder.call(ok["call"]) }

    static func invited(_ ok: JSONValue) -> Invited? {
        call(ok).map { call in
            let errors = ok["errors"]?.array ?? []
            return Invited(call: call, errors: errors.compactMap { InviteeError($0) })
        }
    }

    static func changedItems(_ ok: JSONValue) -> ChangedItems? {
        guard let items = decoder.items(ok["items"]), let keys = ok["keys"]?.array else {
            return nil
        }
        return ChangedItems(items: items, keys: keys.compactMap(\.string))
    }

    static func token(_ ok: JSONValue) -> JSONValue? { ok["token"] }

    static func listed(_ ok: JSONValue) -> ListedCalls? {
        ok["calls"]?.array.map { calls in
            ListedCalls(
                calls: calls.compactMap { decoder.call($0) },
                cursor: ok["cursor"]?.string.flatMap { CallID($0) })
        }
    }
}
