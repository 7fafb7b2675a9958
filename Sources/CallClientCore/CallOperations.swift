// The operations of the protocol, by name and with typed answers.

import CallModel
import CallWire
import JSON

/// Whoever has a machine has all operations, and the calls of its user.
public protocol CallOperations: AnyObject {
    /// What carries them out.
    var machine: ClientMachine { get }
}

extension CallOperations {
    /// The result of a request: the members of `ok`, or why there are none.
    public typealias Answer = (Result<JSONValue, RequestFailure>) -> Void

    /// The calls of the user as objects, the same as long as each lives.
    public var calls: ClientCalls { machine.book }

    /// Asks for an operation.
    ///
    /// - Parameters:
    ///   - key: with one, the request is repeated over losses of the connection and while the
    ///     server says `rate_limited` or `unavailable`, and is carried out once.
    ///   - completion: called once, on the client's thread, never before this returns.
    public func perform(
        _ operation: Operation, key: RequestKey = .automatic, _ completion: @escaping Answer
    ) {
        machine.begin(operation, key, completion)
    }

    /// Asks for an operation by its name on the wire: for those that this client does not know. Of
    /// one that it knows, a member that the operation does not have is refused with `bad_request`.
    ///
    /// - Parameters:
    ///   - key: with one, the request is repeated as with `perform`.
    ///   - completion: called once, on the client's thread, never before this returns.
    public func perform(
        named name: String, data: JSONValue, key: String? = nil, _ completion: @escaping Answer
    ) {
        machine.begin(.named(name, data), key: key, completion)
    }
}

extension CallOperations {
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
    /// as soon as it is told of an acceptance.
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
    /// signs out: `logOut` alone keeps the registration.
    public func unregisterPush(
        _ provider: String, _ completion: @escaping Done = { _ in }
    ) {
        tell(.pushUnregister(provider: provider), completion)
    }

    /// What the server last called `user`, in a call or by `names(of:)`; nil: nothing. Show it, but
    /// never decide by it.
    public func name(of user: UserID) -> String? { machine.link.names[user] }

    /// Asks for the names of people with whom this user was in a call.
    public func names(
        of users: [UserID],
        _ completion: @escaping (Result<AskedNames, RequestFailure>) -> Void
    ) {
        perform(.userGet(users), Reading.answer(Reading.names, completion))
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
