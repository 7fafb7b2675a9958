// What an operation lets others see.

extension Operation {
    /// Every text that somebody would see for the first time (F65).
    package func textsShown(
        by user: UserID, in call: Call, _ mode: Mode
    ) -> [Question.OutgoingText] {
        var texts: [Question.OutgoingText] = []
        func show(_ owner: TextOwner, _ data: String?, to receivers: [UserID]) {
            guard let data else { return }
            for receiver in receivers where receiver != user {
                texts.append(.init(owner: owner, receiver: receiver, data: data))
            }
        }
        func showAll(to receiver: UserID) {
            var shown: [(TextOwner, String?)] = [(.call, call.extendedData)]
            shown += call.participants.map { (.participant($0.user), $0.extendedData) }
            for case (let owner, let data?) in shown where owner != .participant(receiver) {
                texts.append(.init(owner: owner, receiver: receiver, data: data))
            }
        }
        let present = call.participants.filter(\.state.isLive).map(\.user)
        let own = TextOwner.participant(user)
        switch self {
        case .invite(let invitation): show(.call, extendedData, to: invitation.invitees)
        case .call(_, .add(let invitees, _), _): invitees.forEach(showAll)
        case .call(_, .forward(let targets, _), _):
            targets.forEach(showAll)
            show(.transfer, call.transfer(to: user)?.extendedData, to: targets)
        case .call(_, .transfer(let target, _), _):
            showAll(to: target)
            show(.transfer, extendedData, to: [target])
        case .call(_, .accept, _), .call(_, .reject, _), .call(_, .leave, _):
            show(own, extendedData, to: present)
        case .call(_, .join, _):
            if call.participant(user)?.state.isLive != true { showAll(to: user) }
            show(own, extendedData, to: present)
        case .call(_, .cancel(let users, _), _):
            let isWhole = users.isEmpty || !mode.has(.cancelListed)
            show(.end, extendedData, to: isWhole ? present : present.filter(users.contains))
        case .call(_, .end, _): show(.end, extendedData, to: present)
        case .call, .list, .pushRegister, .pushUnregister, .userGet, .userSet: break
        }
        return texts
    }
}
