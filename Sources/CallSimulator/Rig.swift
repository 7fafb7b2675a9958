// What plays scenarios: a rig takes actions and yields what everybody sees.

import CallModel

/// Something that scenarios run on: the bare core, the simulator, or the real server over sockets.
public protocol Rig {
    /// What the rig can do beside letting devices connect, ask and hang up.
    var abilities: Abilities { get }
    /// Does one thing and waits until nothing more follows from it; what everybody sees, in order
    /// for each observer. Throws what the rig itself found wrong.
    mutating func perform(_ action: Action) throws(RigFailure) -> [Observation]
}

/// What not every rig can do.
public struct Abilities: OptionSet, Sendable {
    /// One bit for each ability.
    public let rawValue: UInt32
    /// The abilities of these bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Lets any time pass at once.
    public static let virtualTime = Abilities(rawValue: 1 << 0)
    /// Lets the scenario itself play the policies.
    public static let policies = Abilities(rawValue: 1 << 1)
    /// Kills the server and starts it again.
    public static let restarts = Abilities(rawValue: 1 << 2)
    /// Shows the push jobs.
    public static let pushes = Abilities(rawValue: 1 << 3)
}

/// One thing that happens in a scenario.
public enum Action: Sendable, Equatable {
    /// A device asks for something, under an idempotency key or not.
    case request(Address, Operation, key: String?)
    /// A device connects, with a session to resume or not.
    case connect(Address, resuming: Bool)
    /// A device's connection is cut.
    case disconnect(Address)
    /// A disconnected device's session can no longer be resumed.
    case forget(Address)
    /// A device says `bye`.
    case bye(Address)
    /// Time passes.
    case pass(Milliseconds)
    /// The server dies and starts again after this time.
    case restart(after: Milliseconds)
    /// The policies answer the oldest open question of this sort.
    case answer(QuestionSort, Answer)
    /// A handler that is asked the newest open question of this sort waits for something.
    case think(QuestionSort)
    /// A plugin asks for something on behalf of the account it runs for.
    case policyRequest(UserID, Operation)
    /// The operator changes a setting.
    case setting(String, [String])

    /// What a rig must be able to do for it.
    var needs: Abilities {
        switch self {
        case .request, .connect, .disconnect, .bye, .setting: []
        case .pass, .forget: .virtualTime
        case .restart: .restarts
        case .answer, .think, .policyRequest: .policies
        }
    }
}

/// What a question is about, to find it by.
public enum QuestionSort: Sendable, Equatable {
    /// `on.invite` for this account.
    case invite(UserID)
    /// `on.dial`.
    case dial
    /// `on.extended_data`, `"in"`.
    case incomingData
    /// `on.extended_data`, `"out"`.
    case outgoingData
    /// `on.join`.
    case join
    /// `on.token`.
    case token
}

/// Who sees something.
public enum Observer: Sendable, Hashable {
    /// A device.
    case device(Address)
    /// The policies.
    case policy
    /// The push sender.
    case push
}

/// Somebody sees something.
public struct Observation: Sendable, Equatable {
    /// Who.
    public let observer: Observer
    /// What.
    public let sight: Sight

    /// `observer` sees `sight`.
    public init(_ observer: Observer, _ sight: Sight) {
        self.observer = observer
        self.sight = sight
    }
}

/// What can be seen.
public enum Sight: Sendable, Equatable {
    /// The answer to a request.
    case reply(Reply)
    /// The answer to a connect, with the user's live calls.
    case welcome([Call], viewer: UserID, more: Bool, resumed: Bool)
    /// The answer to `call.list`.
    case page([Call], viewer: UserID, more: Bool)
    /// An event of a call, at this moment of the rig's clock.
    case event(CallEvent, now: Moment)
    /// The server closed the connection.
    case closed(String)
    /// A question to the policies.
    case question(Question, now: Moment)
    /// A question was taken back.
    case withdrawn
    /// The policies are told something.
    case report(Report)
    /// A user's devices are to be woken.
    case job(PushJob, now: Moment)

    /// The calls it speaks of, in the order in which their names are given.
    var callIDs: [CallID] {
        switch self {
        case .reply(let reply): [reply.call?.id].compactMap { $0 }
        case .welcome(let calls, _, _, _), .page(let calls, _, _): calls.map(\.id)
        case .event(let event, _): [event.callID]
        case .question(let question, _): [question.call.id]
        case .report(let report): [report.call?.id].compactMap { $0 }
        case .job(let job, _): [job.callID]
        case .closed, .withdrawn: []
        }
    }
}

/// Something that a rig must never see: the run stops.
public struct RigFailure: Error, Sendable, CustomStringConvertible {
    /// What was seen.
    public let description: String

    /// The failure described by `description`.
    public init(_ description: String) { self.description = description }
}

extension Question {
    /// The call it is about.
    public var call: Call { subject.call }

    /// What it is about, to find it by.
    public var sort: QuestionSort {
        switch subject {
        case .invite(_, let callee, _): .invite(callee)
        case .dial: .dial
        case .incomingData: .incomingData
        case .outgoingData: .outgoingData
        case .join: .join
        case .token: .token
        }
    }
}

extension [Question] {
    private static let missing = RigFailure("nobody asked the policies that")

    /// The newest question of a sort.
    func newest(_ sort: QuestionSort) throws(RigFailure) -> Question {
        guard let question = last(where: { $0.sort == sort }) else { throw Self.missing }
        return question
    }

    /// Takes the oldest question of a sort out.
    mutating func takeOldest(_ sort: QuestionSort) throws(RigFailure) -> Question {
        guard let index = firstIndex(where: { $0.sort == sort }) else { throw Self.missing }
        return remove(at: index)
    }
}
