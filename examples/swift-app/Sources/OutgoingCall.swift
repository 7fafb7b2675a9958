// One outgoing call: placed when the connection is open, left when the other side is gone.

import CallClient
import CallClientCore
import CallModel
import CallWire
import EventLoop

/// A device of one user that calls another once, and prints what it is told.
final class OutgoingCall {
    private let callee: UserID
    private let loop: EventLoop
    private let client: CallClient
    private var call: CallID?
    private var isInvited = false

    init(from caller: UserID, to callee: UserID, at server: ServerAddress) throws {
        self.callee = callee
        loop = try EventLoop()
        let options = CallClient.Options(
            server, token: "dev:\(caller)", device: DeviceID("swift-app"))
        client = CallClient(options, on: loop)
        client.onEvent = { [unowned self] in take($0) }
    }

    /// Returns when the call has ended, or could not be placed.
    func run() {
        client.connect()
        loop.run()
        loop.close()
    }

    private func take(_ event: ClientEvent) {
        switch event {
        case .opened(let welcome): opened(welcome)
        case .event(let event) where event.callID == call: happened(event.kind)
        case .event, .unknownEvent: break
        case .lost(let loss, let wait): print("\(loss); trying again in \(wait) ms")
        case .tokenNeeded(let loss): finish("\(loss)")
        case .stopped(.loggedOut): loop.stop()
        case .stopped(let ending): finish("stopped: \(ending)")
        }
    }

    private func opened(_ welcome: Welcome) {
        guard isInvited else { return invite() }
        // A session that is not resumed has missed events: the welcome has what is left.
        if let call, !welcome.resumed, !welcome.calls.contains(where: { $0.id == call }) {
            finish("the call ended meanwhile")
        }
    }

    private func invite() {
        isInvited = true
        var invitation = Invitation(invitees: [callee])
        invitation.mode = .advanced
        invitation.extendedData = #"{"type":0,"reason":"hello"}"#
        client.invite(invitation) { [self] result in
            switch result {
            case .success(let invited):
                call = invited.call.id
                print("calling \(callee)")
            case .failure(let failure): finish("not called: \(failure)")
            }
        }
    }

    private func happened(_ kind: CallEvent.Kind) {
        switch kind {
        case .changed(let changes):
            for change in changes where change.user == callee { saw(change) }
        case .ended(let end, _, let duration):
            finish("ended after \(duration) ms: \(end.reason.rawValue)")
        default: break
        }
    }

    private func saw(_ change: CallEvent.Change) {
        let words = change.extendedData.map { ", saying \($0)" } ?? ""
        print("\(callee) is \(change.state.rawValue)\(words)")
        switch change.state {
        // Here an app would connect the media. This one has said what it had to say.
        case .joined, .left, .rejected, .timedOut: hangUp()
        default: break
        }
    }

    private func hangUp() {
        guard let call else { return }
        client.end(call) { [self] result in
            if case .failure(let failure) = result { finish("not ended: \(failure)") }
        }
    }

    private func finish(_ words: String) {
        print(words)
        if client.state == .open { client.logOut() } else { loop.stop() }
    }
}
