// What every device knows of calls from what it was sent, compared with the truth.

import CallCore
import CallModel

/// Follows what devices are sent, as a careful client does, and finds where that is not what the
/// switchboard holds: a phone that rings for nothing, a caller and a callee who disagree.
public struct ConsistencyChecker: Sendable {
    fileprivate var devices: [Address: [CallID: View]] = [:]
    /// The calls of which a device has had the last event.
    private var over: [Address: Set<CallID>] = [:]
    /// Those that a device's user was transferred away or removed from, in which revision: later
    /// the user may be invited back.
    private var parted: [Address: [CallID: UInt32]] = [:]

    /// A call as one device knows it.
    fileprivate struct View: Sendable {
        var revision: UInt32 = 0
        /// The revision of the last event: a resumed welcome, or an answer over HTTP, runs ahead
        /// of the events that were missed.
        var heard: UInt32 = 0
        var states: [UserID: Participant.State] = [:]
        /// Whether the states are all known: the device was shown the whole call, and its user
        /// has been in it since.
        var isWhole = false
        var rings = false
        var isOver = false
    }

    /// Whether it stands beside the server and sees everything in commit order. A phone may hear
    /// an answer over HTTP before the events that led to it.
    private let isAtServer: Bool

    /// A checker that has seen nothing.
    public init(atServer: Bool = false) { isAtServer = atServer }

    /// Takes note of what a device sees; throws what it should not have seen now.
    public mutating func see(_ observation: Observation) throws(RigFailure) {
        guard case .device(let device) = observation.observer else { return }
        switch observation.sight {
        case .welcome(let calls, _, _, let resumed):
            if !resumed { forget(device) }
            for call in calls { show(call, to: device) }
        case .reply(let reply): if let call = reply.call { show(call, to: device) }
        case .event(let event, _): try see(event, device)
        case .closed: forget(device)
        case .page, .question, .withdrawn, .report, .job: break
        }
    }

    private mutating func show(_ call: Call, to device: Address) {
        var view = devices[device]?[call.id] ?? View()
        // Older news, overtaken by an event.
        guard call.revision >= view.revision, !isOver(call.id, device),
            comesBack(to: call, device)
        else { return }
        view.revision = call.revision
        view.isWhole = call.participant(device.user)?.state.isLive == true
        view.states = [:]
        for participant in call.participants { view.states[participant.user] = participant.state }
        view.isOver = !call.isLive
        if view.states[device.user]?.mayAnswer != true || view.isOver { view.rings = false }
        devices[device, default: [:]][call.id] = view
    }

    /// Whether the device's user has a part in the call as it is shown, if they had lost it.
    private mutating func comesBack(to call: Call, _ device: Address) -> Bool {
        guard let parting = parted[device]?[call.id] else { return true }
        guard call.revision > parting, call.participant(device.user)?.state.isLive == true else {
            return false
        }
        parted[device]?[call.id] = nil
        return true
    }

    private mutating func see(_ event: CallEvent, _ device: Address) throws(RigFailure) {
        let before = devices[device]?[event.callID]
        if case .incoming(let call, _, _, _) = event.kind { _ = comesBack(to: call, device) }
        if isOver(event.callID, device) || parted[device]?[event.callID] != nil {
            throw RigFailure("\(device) is told \(event.kind) of a call that is over for it")
        }
        if isAtServer { try checkOrder(event, after: before, device) }
        defer { hear(event.revision, of: event.callID, device) }
        switch event.kind {
        case .created(let call): show(call, to: device)
        case .incoming(let call, _, _, _):
            show(call, to: device)
            // A phone rings only for its own user's pending part (H89).
            let mayAnswer = call.participant(device.user)?.state.mayAnswer ?? false
            devices[device]?[call.id]?.rings = mayAnswer && call.isLive
        case .changed(let changes):
            var view = before ?? View()
            defer { devices[device, default: [:]][event.callID] = view }
            if changes.contains(where: { $0.user == device.user && !$0.state.mayAnswer }) {
                view.rings = false
            }
            guard event.revision >= view.revision else { return }
            for change in changes { view.states[change.user] = change.state }
            if view.states[device.user]?.isLive != true { view.isWhole = false }
            view.revision = event.revision
        case .timedOut, .cancelled, .failed:
            var view = before ?? View()
            (view.rings, view.isWhole) = (false, false)
            view.states[device.user] = nil
            view.revision = max(view.revision, event.revision)
            devices[device, default: [:]][event.callID] = view
        case .ended:
            devices[device]?[event.callID] = nil
            over[device, default: []].insert(event.callID)
        case .transferred, .removed:
            devices[device]?[event.callID] = nil
            parted[device, default: [:]][event.callID] = event.revision
        case .elsewhere(let what, _):
            let revision = max(before?.revision ?? 0, event.revision)
            devices[device]?[event.callID]?.rings = false
            devices[device]?[event.callID]?.revision = revision
            guard what == .rejected || what == .left else { return }
            devices[device]?[event.callID]?.states[device.user] = nil
            devices[device]?[event.callID]?.isWhole = false
        default: break
        }
    }

    /// Revisions never fall, and who never had an invitation is not told that it is over.
    private func checkOrder(
        _ event: CallEvent, after before: View?, _ device: Address
    ) throws(RigFailure) {
        switch event.kind {
        case .signal, .missed: return
        case .timedOut, .cancelled, .failed:
            guard before != nil else {
                throw RigFailure("\(device) is told \(event.kind) of a call it never heard of")
            }
        default: break
        }
        if let before, event.revision < before.heard {
            throw RigFailure("\(device) is told \(event.kind) after revision \(before.heard)")
        }
    }

    private mutating func hear(_ revision: UInt32, of call: CallID, _ device: Address) {
        guard let heard = devices[device]?[call]?.heard else { return }
        devices[device]?[call]?.heard = max(heard, revision)
    }

    /// Forgets what a device knew.
    public mutating func forget(_ device: Address) {
        devices[device] = nil
        over[device] = nil
        parted[device] = nil
    }

    private func isOver(_ call: CallID, _ device: Address) -> Bool {
        over[device]?.contains(call) ?? false
    }

    /// Compares what the devices in `connected` know with what `board` holds.
    public func compare(
        with board: Switchboard, connected: [Address]
    ) throws(RigFailure) {
        let live = board.liveCalls
        for device in connected {
            let views = devices[device] ?? [:]
            for call in live { try compare(views[call.id], with: call, device) }
            for (id, view) in views where board.liveCall(id) == nil {
                let thinksItIsIn = view.states[device.user]?.isLive == true && view.isWhole
                if view.rings || (thinksItIsIn && !view.isOver) {
                    throw RigFailure("\(device) does not know that \(id) has ended: \(view)")
                }
            }
        }
    }

    private func compare(
        _ view: View?, with call: Call, _ device: Address
    ) throws(RigFailure) {
        let participant = call.participant(device.user)
        let isRung = participant.map { $0.state.mayAnswer && $0.isVisible } ?? false
        if isRung != (view?.rings ?? false) {
            throw RigFailure("\(device) \(isRung ? "does not ring" : "rings") for \(call)")
        }
        guard let participant, participant.state.isLive, participant.isVisible, let view,
            view.isWhole
        else { return }
        for other in call.participants where view.states[other.user] != other.state {
            throw RigFailure("\(device) believes \(view) of \(call)")
        }
    }
}

extension Switchboard {
    /// The call `id` if it is live.
    fileprivate func liveCall(_ id: CallID) -> Call? {
        call(id).flatMap { $0.isLive ? $0 : nil }
    }
}

extension ConsistencyChecker {
    /// The calls that a device rings for.
    func ringing(_ device: Address) -> [CallID] { calls(of: device) { $0.rings } }

    /// The calls that a device believes its user to be in.
    func joined(_ device: Address) -> [CallID] {
        calls(of: device) { !$0.isOver && $0.states[device.user] == .joined }
    }

    private func calls(of device: Address, where matches: (View) -> Bool) -> [CallID] {
        (devices[device] ?? [:]).filter { matches($0.value) }.map(\.key).sorted()
    }
}
