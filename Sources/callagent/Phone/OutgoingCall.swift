// The side that calls: invites, shows what happens, and leaves at the end.

import CallClient
import CallClientCore
import CallModel
import CallWire
import EventLoop

/// The options of `callagent call`.
struct CallPlan {
    /// How an answered call ends by itself.
    struct HangUp {
        /// Counted from the answer.
        var after: Milliseconds
        /// Whether it ends for everybody.
        var forAll: Bool
    }

    var invitation: Invitation
    var hangUp: HangUp?
}

/// One outgoing call on the command line.
final class OutgoingCall: DeviceScript {
    private let plan: CallPlan
    private let program: DeviceProgram
    private var call: CallID?
    private var progress: CallProgress?
    private var isInvited = false
    private var wasAnswered = false
    private var wantsOut = false
    private var isGoing = false
    private var isOver = false
    private var attemptsLeft = 3
    private var hangUp: Timer?

    init(_ plan: CallPlan, _ program: DeviceProgram) {
        self.plan = plan
        self.program = program
    }

    private var ladder: Ladder { program.ladder }
    private var client: CallClient { program.client }

    func opened(_ welcome: Welcome) {
        guard isInvited else { return invite() }
        guard let call, !welcome.resumed else { return }
        // Events were missed: the call object has the present state.
        client.get(call) { [self] result in
            switch result {
            case .success(let call): caughtUp(call)
            case .failure(let failure): giveUp(failure)
            }
        }
    }

    private func caughtUp(_ call: Call) {
        progress?.take(call)
        guard let end = call.end else { return advance() }
        ladder.sees(Ladder.words(end, after: call.duration))
        finish()
    }

    private func invite() {
        isInvited = true
        let invitation = plan.invitation
        let invitees = invitation.invitees.map(\.text).joined(separator: ", ")
        let mode = invitation.mode?.name
        let kind = invitation.kind == "audio" ? nil : invitation.kind
        let asked = [mode, kind].compactMap(\.self).joined(separator: ", ")
        let data = invitation.extendedData.map { ": \($0)" } ?? ""
        ladder.asks("invite \(invitees)\(asked.isEmpty ? "" : " (\(asked))")\(data)")
        client.invite(invitation) { [self] result in
            switch result {
            case .success(let invited): created(invited)
            case .failure(let failure): giveUp(failure)
            }
        }
    }

    private func created(_ invited: Invited) {
        ladder.sees("call \(invited.call.id) (\(invited.call.mode.name))")
        for error in invited.errors {
            ladder.sees("\(error.user) left out (\(error.code.rawValue))")
        }
        call = invited.call.id
        progress = CallProgress(invited.call, me: invited.call.caller)
        if invited.call.isLive { advance() }
    }

    func happened(_ event: CallEvent) {
        guard event.callID == call else { return }
        switch event.kind {
        case .changed(let changes):
            progress?.take(changes, at: event.revision)
            advance()
        case .ended, .elsewhere, .transferred, .removed: finish()
        case .created, .incoming, .timedOut, .cancelled, .failed, .mediaPhase, .mediaFlags, .hold,
            .items, .signal, .missed:
            break
        }
    }

    func interrupted() {
        wantsOut = true
        // Before the reply to the invitation there is no call to leave.
        if program.isConnected { advance() } else { finish() }
    }

    // MARK: Going

    private func advance() {
        guard let progress, !isOver else { return }
        if progress.isAnswered, !wasAnswered {
            wasAnswered = true
            armHangUp()
        }
        if progress.isLeftAlone || wantsOut { go(progress) }
    }

    private func armHangUp() {
        guard let plan = plan.hangUp else { return }
        hangUp = Timer(on: program.loop) { [unowned self] in
            wantsOut = true
            advance()
        }
        hangUp?.arm(after: plan.after)
    }

    private func go(_ progress: CallProgress) {
        guard let call, !isGoing else { return }
        isGoing = true
        let forAll = plan.hangUp?.forAll ?? false
        let action = forAll ? progress.wayOutForAll : progress.wayOut
        ladder.asks(action.word)
        client.ask(.call(call, action)) { [self] result in
            isGoing = false
            attemptsLeft -= 1
            switch result {
            case .success(let call): went(call)
            case .failure(let failure):
                ladder.sees(failure)
                goAgain()
            }
        }
    }

    private func went(_ call: Call) {
        progress?.take(call)
        // The last event of the ended call is on its way.
        guard call.isLive else { return isOver = true }
        if progress?.hasJoined == true { goAgain() } else { finish() }
    }

    /// Another event came first, such as an answer before the cancel: another operation may be
    /// right now.
    private func goAgain() {
        if attemptsLeft > 0 { advance() } else { finish() }
    }

    private func giveUp(_ failure: RequestFailure) {
        ladder.sees(failure)
        finish()
    }

    private func finish() {
        isOver = true
        program.finish(wasAnswered ? ExitCode.success : ExitCode.failure)
    }
}
