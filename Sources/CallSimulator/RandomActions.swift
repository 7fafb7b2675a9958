// Actions that dice choose: sensible ones, foolish ones, and ones at the wrong moment.

import CallModel

/// What some users with some devices do, as a seed decides.
public struct RandomActions {
    private var dice: SeededGenerator
    /// Who there is; the last one is answered for by the policies.
    public let users: [UserID]
    let devices = ["phone", "tablet"].map { DeviceID($0) }
    private var calls: [CallID] = []
    private var keys = 0

    /// The same actions for the same `seed`, among these users.
    public init(
        seed: UInt64,
        users: [UserID] = ["ann", "bob", "cat", "dan", "eve", "bot"].map { UserID($0) }
    ) {
        dice = SeededGenerator(seed: seed)
        self.users = users
    }

    /// Remembers the calls that an observation names.
    public mutating func note(_ observation: Observation) {
        for id in observation.sight.callIDs where !calls.contains(id) { calls.append(id) }
        if calls.count > 8 { calls.removeFirst(calls.count - 8) }
    }

    /// Settings that make rare things common.
    public mutating func settings() -> Settings {
        var settings = Settings()
        settings.answerFor = Accounts(["bot"])
        settings.devicesPerUser = pick([1, 2, 3])
        settings.wakesDevices = flip(1, in: 2)
        settings.endedCallsMax = pick([1, 1_000])
        settings.inviteWhenLate = pick([.ring, .reject])
        settings.hooks = Hooks(rawValue: UInt32.random(in: 0..<128, using: &dice))
        if flip(1, in: 2) { settings.hooks = [] }
        settings.callAgeMax = pick([24 * 3_600_000, 600_000])
        return settings
    }

    /// What happens next; `asked`: the open questions.
    public mutating func next(asked: [QuestionSort]) -> Action {
        if let sort = asked.randomElement(using: &dice), flip(1, in: 3) {
            return flip(1, in: 8) ? .think(sort) : .answer(sort, answer(to: sort))
        }
        switch Int.random(in: 0..<100, using: &dice) {
        case 0..<12: return .pass(pick([1, 100, 1_000, 5_000, 20_000, 35_000, 60_000]))
        case 12..<19: return .connect(address(), resuming: flip(1, in: 2))
        case 19..<24: return .disconnect(address())
        case 24..<26: return .bye(address())
        case 26..<28: return .forget(address())
        case 28: return .restart(after: pick([0, 1_000, 40_000]))
        case 29..<31: return .policyRequest(users[users.count - 1], policyOperation())
        default: return .request(address(), operation(), key: key())
        }
    }

    // MARK: Requests

    mutating func operation() -> Operation {
        if calls.isEmpty || flip(1, in: 5) { return random(.of(.invite)) }
        return random(pick(Self.onCalls))
    }

    /// What a policy asks for: what users ask for, and to end a call whatever its state.
    mutating func policyOperation() -> Operation {
        guard !calls.isEmpty, flip(1, in: 6) else { return operation() }
        return .call(pick(calls), .finish(code: flip(1, in: 2) ? EndDetail(code: "no") : nil))
    }

    /// Every operation on a call, as often as it is to come up.
    private static let onCalls: [OperationDescriptor] = OperationDescriptor.all
        .filter { $0.required.contains(.callID) }
        .flatMap { Array(repeating: $0, count: weights[$0.name] ?? 1) }

    /// What comes up more often than once.
    private static let weights: [OperationName: Int] = [
        .accept: 9, .reject: 3, .ringing: 3, .cancel: 3, .add: 3, .join: 3, .leave: 3, .end: 2,
        .acceptAck: 2, .report: 3,
    ]

    private mutating func random(_ descriptor: OperationDescriptor) -> Operation {
        var values = FieldValues()
        for field in descriptor.fields where descriptor.required.contains(field) || flip(1, in: 2) {
            give(field, to: &values)
        }
        guard let operation = descriptor.make(&values) else {
            preconditionFailure("\(descriptor.name.rawValue) is made by nobody")
        }
        return operation
    }

    private mutating func give(_ field: Field, to values: inout FieldValues) {
        switch field {
        case .callID:
            let id = flip(1, in: 40) ? CallID(high: 1, low: 1) : pick(calls)
            values.give(field, id, \.callID)
        case .user, .to: values.give(field, pick(users), \.user)
        case .invitees, .users: values.give(field, someUsers(), \.users)
        case .mode:
            let place = UInt8.random(in: 0..<UInt8(Mode.all.count), using: &dice)
            values.give(field, ModeRow.all[Int(place)], \.mode)
        case .timeout: values.give(field, pick([1_000, 10_000, 60_000]), \.timeout)
        case .deliveryCheck:
            values.give(field, Invitation.usualDeliveryCheck, \.deliveryCheck)
        case .extendedData: values.give(field, pick(["hi", "{\"type\":1}"]), \.extendedData)
        case .audio, .video, .holdActive, .on, .force, .clear: values.give(field, flip(1, in: 2))
        case .reason: values.give(field, pick(RejectReason.allCases), \.reason)
        case .media: values.give(field, pick(MediaReport.allCases), \.media)
        case .items, .put:
            let item = Call.Item(key: pick(["a", "b"]), value: pick(["1", "2"]))
            values.give(field, [item], \.texts)
        case .delete: values.give(field, [pick(["a", "b"])], \.delete)
        case .push: values.give(field, PushText(title: pick(["Alice", "Bob"])), \.push)
        case .data: values.give(field, [0x31], \.data)
        case .kind: values.give(field, pick(["audio", "video"]), \.kind)
        case .limit, .cursor, .state, .role, .endReasons, .peer, .since, .until, .provider, .token,
            .subscription, .environment, .device, .resume, .missed, .name:
            break
        }
    }

    private mutating func key() -> String? {
        guard flip(1, in: 4) else { return nil }
        if flip(1, in: 2) { keys += 1 }
        return "k\(keys)"
    }

    // MARK: Answers of the policies

    mutating func answer(to sort: QuestionSort) -> Answer {
        if flip(1, in: 5) { return .none }
        switch sort {
        case .invite: return .invite(decision(), by: "plugin", next: 1)
        case .dial:
            var allowance = Allowance()
            if flip(1, in: 2) { allowance.invitees = someUsers() }
            return flip(1, in: 3) ? .refuse(code: "no", by: "plugin") : .allow(allowance)
        case .incomingData: return .data(flip(1, in: 3) ? nil : "shaped")
        case .outgoingData:
            let owners: [TextOwner] = [.call, .end, .participant(pick(users))]
            return .views([Call.View(receiver: pick(users), owner: pick(owners), text: "view")])
        case .join:
            return flip(1, in: 3) ? .refuse(code: "no", by: "plugin") : .allow(Allowance())
        case .token: return .token(flip(1, in: 2) ? [0x31] : nil)
        }
    }

    private mutating func decision() -> Decision {
        switch Int.random(in: 0..<6, using: &dice) {
        case 0: .accept(wait: 0, extendedData: "bot")
        case 1: .accept(wait: pick([500, 3_000]), extendedData: nil)
        case 2: .reject(busy: flip(1, in: 2), extendedData: nil)
        case 3: .ring(for: pick([500, 5_000]))
        case 4: .forward([pick(users)])
        default: .ring(for: nil)
        }
    }

    // MARK: Dice

    mutating func flip(_ chances: Int, in sides: Int) -> Bool {
        Int.random(in: 0..<sides, using: &dice) < chances
    }

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &dice)]
    }

    private mutating func address() -> Address { Address(pick(users), pick(devices)) }

    private mutating func someUsers() -> [UserID] {
        (0..<Int.random(in: 1...3, using: &dice)).map { _ in pick(users) }
    }
}
