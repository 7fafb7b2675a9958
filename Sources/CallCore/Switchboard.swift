// The one entry point: inputs in, effects out.
//
// Rules of this machine:
// 1. `handle` is the only way state changes. It reads no clock and rolls no dice but its own
//    seeded ones; time comes with the input.
// 2. The same state, input and time give the same effects in the same order.
// 3. Effects are performed in order; `persist` holds back everything behind it.
// 4. Deadlines up to `now` fire before the input: time passes first (R2, R10).
// 5. Policies are asked, never called; every question has a deadline and a declared default.
// 6. Bad requests get a `Refusal`; a broken invariant is a precondition with the call printed.

import Collections
import CallModel

/// The switchboard: a value that turns inputs into effects. Whoever understands `handle(_:at:)`,
/// `Input` and `Effect` understands the product. Helpers in the way of each invitation are
/// `mutating`, also where they change nothing: to borrow it would copy it to the stack.
public struct Switchboard: Sendable {
    /// See `Settings`.
    public internal(set) var settings: Settings

    var calls = CallTable()
    var users: UserTable
    var wheel: TimerWheel
    var keys: FingerprintFilter
    /// Requests with a key that has no reply yet.
    var keysUnderWay: [KeyName: KeyUnderWay] = [:]
    /// Requests about a call that the store is asked for.
    var recalls: [CallID: [Asker]] = [:]
    /// Operations that a policy shapes before they happen.
    var staged: [QuestionID: StagedOperation] = [:]
    /// Requests behind a staged operation of the same user and call.
    var waiting: [ParticipantKey: [Asker]] = [:]
    /// `call.token` requests that wait for the policies.
    var tokenRequests: [QuestionID: TokenRequest] = [:]
    /// Open questions about invitations.
    var questions = OpenQuestions()
    /// Invitations that wait for the policies and have not happened yet (H89).
    var held = Slab<HeldInvitation>()
    /// The calls of those, by their places: to look at an invitation there copies it.
    var heldCalls: [CallID] = []
    /// The ends of their holds in order; entries of holds that have ended are skipped.
    var holding = Queue<HeldPlace>()
    /// How many questions of each cause wait (G76).
    var questionCounts: CountTable<Cause>
    /// Places of held invitations whose texts are being shaped, and where the question is counted.
    var heldTexts: [QuestionID: (place: Int32, counted: Int32)] = [:]
    /// Who takes part in held invitations.
    var heldUsers = HeldUsers()
    /// Invitations that wait for held ones.
    var delayed = WaitingList<HeldUsers.Part, Asker>()
    /// Parts in held invitations that were decided: what is delayed behind them is tried again.
    var freed: [HeldUsers.Part] = []
    /// Signals for pending addressees whose devices may not know of the call yet.
    var heldSignals = HeldSignals()
    /// Users with more calls than one turn looks at.
    var sweeps: [Sweep] = []
    var sweepTimer = TimerHandle.none
    /// How many looks at calls are left in this millisecond.
    var swept = (at: Moment(0), left: 0)
    /// For how many participants deadlines were looked at in this millisecond.
    var fired = 0
    /// Restored calls with open questions, which are asked again when all calls are there.
    private var unasked: [CallID] = []
    /// The effects of the `handle` under way.
    var effects: [Effect] = []
    /// Whether an operation is only tried: it throws what it would be refused with and changes
    /// nothing.
    var isTrial = false
    var now: Moment
    private let names: SecretNames
    private var lastQuestion: UInt64 = 0
    private var lastCallID: UInt64 = 0

    /// A switchboard with `settings` whose clock stands at `now`; `seed` decides the random half
    /// of its call ids.
    public init(settings: Settings, seed: UInt64, at now: Moment) {
        self.settings = settings
        self.now = now
        wheel = TimerWheel(at: now)
        var dice = SeededGenerator(seed: seed)
        names = SecretNames(dice.next(), dice.next())
        users = UserTable(seed: dice.next())
        questionCounts = CountTable(seed: dice.next())
        keys = FingerprintFilter(seed: dice.next())
    }

    /// The only way state changes. Deadlines up to `now` fire first, then `input` is handled. Of
    /// very many some fire in later turns, but those of a call before what somebody does in it.
    /// `spent`: an empty array whose memory the effects may have.
    public mutating func handle(
        _ input: Input, at now: Moment, reusing spent: consuming [Effect] = []
    ) -> [Effect] {
        effects = consume spent
        if case .deadlineReached = input { fired = 0 }
        advance(to: now)
        switch input {
        case .request(let request): receive(request)
        case .deviceConnected(let request, let user, let device, let resumed):
            deviceConnected(request, Address(user, device), resumed: resumed)
        case .deviceDisconnected(let user, let device, let heard, let ended):
            deviceDisconnected(Address(user, device), heard: heard ?? now, ended: ended ?? now)
        case .deviceGone(let user, let device, let bye):
            deviceGone(Address(user, device), bye: bye)
        case .answered(let question, let answer): answered(question, answer)
        case .thinking(let question): thinking(question)
        case .policyRequest(let request, let user, let plugin, let operation, let cause):
            begin(Asker(request, user, plugin: plugin, operation, by: cause))
        case .deadlineReached: break
        case .recalled(let id, let call): recalled(id, call)
        case .recalledKey(let user, let key, let reply): recalledKey(user, key, reply)
        case .recallFailed(let id): recallFailed(id)
        case .recallKeyFailed(let user, let key): recallKeyFailed(KeyName(user: user, key: key))
        case .loaded(let calls, let more): takeOver(calls, more: more)
        case .configured(let settings, let readsAlike):
            // Earlier requests are decided under the settings of their moment (G84).
            releaseDelayed()
            if !readsAlike { refuseUnsettled() }
            self.settings = settings
        }
        if !delayed.isEmpty { retryDelayed() }
        if held.isEmpty { forgetHeld() }
        return takeEffects()
    }

    /// Takes over what the store kept. Deadlines that passed meanwhile fire now; open questions
    /// are asked again; presence begins anew (A20). Call once, before any input.
    public mutating func restore(_ restored: Restored, at now: Moment) -> [Effect] {
        self.now = max(now, self.now)
        for mark in restored.keys {
            let key = IdempotencyKey(mark.key, bodyHash: mark.bodyHash)
            keys.insert(mark.user, key, at: mark.at)
        }
        lastCallID = max(lastCallID, restored.lastCall?.high ?? 0)
        takeOver(restored.calls, more: restored.lastCall != nil)
        return takeEffects()
    }

    private mutating func takeOver(_ kept: [Call], more: Bool) {
        for call in kept {
            let slot = calls.open(call.id)
            calls[slot] = call
            for participant in call.participants where participant.state.isLive {
                join(participant.user, slot)
                if participant.wasConnected { expectReturn(of: participant.user) }
            }
            if call.isLive { countMade(by: call.caller, 1) }
            forgetAbsence(slot)
            lastCallID = max(lastCallID, call.id.high)
            if call.participants.contains(where: \.isInQuestion) {
                unasked.append(call.id)
                for index in call.participants.indices where call.participants[index].isInQuestion {
                    calls[slot].participants[index].policyAlarm = nil
                }
            }
            rearm(slot)
        }
        if !more {
            // Not before all calls are there: a question says in how many calls a user is.
            for call in unasked { reask(call) }
            unasked = []
        }
        advance(to: now)
    }

    /// An empty switchboard in the place of this one, when what this one knew is no longer sure.
    /// Its calls and questions get numbers that were never used, so that a late answer to an old
    /// question is none.
    public func successor(seed: UInt64, at now: Moment) -> Switchboard {
        var next = Switchboard(settings: settings, seed: seed, at: max(now, self.now))
        next.lastQuestion = lastQuestion
        next.lastCallID = lastCallID
        return next
    }

    /// The questions that policies have not answered, oldest first.
    public var unanswered: [QuestionID] {
        (questions.ids + staged.keys + tokenRequests.keys + heldTexts.keys)
            .sorted { $0.value < $1.value }
    }

    /// When `Input.deadlineReached` is next due; nil: never. May be earlier than any deadline.
    public private(set) var nextDeadline: Moment?

    /// Live calls.
    public var liveCalls: [Call] { calls.live(in: 0..<calls.placeCount) }

    /// The live calls in some of these places that `admits`.
    public func liveCalls(in places: Range<Int>, where admits: (Call) -> Bool) -> [Call] {
        calls.live(in: places, where: admits)
    }

    /// Places for calls and for users; some are free.
    public var places: (calls: Int, users: Int) { (calls.placeCount, users.slab.count) }
    /// Late requests for calls that have ended ask the store.
    public mutating func forgetEndedCalls() { calls.forget(at: Moment(.max)) }

    /// The users in some of these places, and how many devices of each are connected.
    public func users(in places: Range<Int>) -> [(id: UserID, connected: Int)] {
        users.slab.values(in: places)
            .filter { !$0.id.text.isEmpty }.map { ($0.id, $0.connectedCount) }
    }

    /// Live calls in which `user` is pending or joined, the newest first, at most `most`.
    public func callIDs(of user: UserID, atMost most: Int = .max) -> [CallID] {
        users[user]?.calls.newest(most).map { calls[$0].id } ?? []
    }

    /// How many these are in all.
    public func callCount(of user: UserID) -> Int { users[user]?.calls.count ?? 0 }

    /// How many calls are live.
    public var liveCallCount: Int { calls.liveCount }

    /// The call `id`, live or just ended.
    public func call(_ id: CallID) -> Call? { calls[id] }

    /// Deadlines that came together fire for so many participants in one turn, the others later.
    static let firedAtOnce = 256

    private mutating func advance(to moment: Moment) {
        if moment > now { (now, fired) = (moment, 0) }
        while let key = wheel.next(upTo: now.milliseconds, &fired, of: Self.firedAtOnce) {
            switch TimerKey(key) {
            case .call(let slot): fireDeadlines(of: slot)
            case .user(let place): userIsLost(place)
            case .staged(let question): stagedIsLate(question)
            case .sweep: goOnSweeping()
            }
        }
        releaseOverdue()
        calls.forget(at: now)
        keys.forget(at: now.milliseconds, lifetime: settings.keyLifetime, limit: settings.keysMax)
    }

    private mutating func takeEffects() -> [Effect] {
        // Stored and not computed: computing it later would copy the whole switchboard.
        nextDeadline = wheel.nextMoment
        if let next = nextRelease { nextDeadline = min(nextDeadline ?? next, next) }
        defer { effects = [] }
        return effects
    }

    // MARK: New names

    /// Ids grow with time, so that the newest calls are the largest ids; their other half cannot be
    /// guessed, because whoever knows the id of a call may join it (D41).
    mutating func newCallID() -> CallID {
        lastCallID = max(lastCallID + 1, UInt64(now.milliseconds) << 16)
        return CallID(high: lastCallID, low: names.secret(of: lastCallID))
    }

    mutating func newQuestionID() -> QuestionID {
        lastQuestion += 1
        return QuestionID(lastQuestion)
    }
}

/// What a timer in the wheel stands for, packed into the wheel's 64 bits.
enum TimerKey {
    case call(CallSlot)
    case user(Int32)
    case staged(QuestionID)
    /// See `Sweep`.
    case sweep

    init(_ key: UInt64) {
        let value = key >> 2
        switch key & 3 {
        case 0: self = .call(CallSlot(value))
        case 1: self = .user(Int32(value))
        case 2: self = .staged(QuestionID(value))
        default: self = .sweep  // external: two bits
        }
    }

    var packed: UInt64 {
        switch self {
        case .call(let slot): UInt64(slot) << 2
        case .user(let place): UInt64(place) << 2 | 1
        case .staged(let question): question.value << 2 | 2
        case .sweep: 3
        }
    }
}
