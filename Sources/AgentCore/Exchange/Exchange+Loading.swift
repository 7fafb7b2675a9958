// Live calls of before the start come page by page.

import CallCore
import CallModel
import CallWire
import StoreContract

extension Exchange {
    /// What waits until live calls are loaded.
    enum Held {
        case input(Input)
        case action(() -> Void)
    }

    /// Takes over what the store kept: live calls follow, page by page.
    func load(_ state: StoredState) {
        damagedCalls = DamagedCalls()
        loader = state.core.lastCall.map { LiveCallLoader(upTo: $0, limit: limits.liveCallsPage) }
        names.beginLoading()
        sort(switchboard.restore(state.core, at: now()))
        loader == nil ? loadingEnded() : loadMore()
        // Calls first: a name is only shown.
        loadNames()
    }

    /// Whether `input` has to wait until live calls are loaded.
    func holds(_ input: Input) -> Bool {
        guard let need = LiveCallLoader<Held>.Need(input) else { return false }
        guard loader?.admits(need, switchboard, else: .input(input)) == false else { return false }
        loadMore()
        return true
    }

    /// Whether there are live calls that are not loaded.
    public var isLoading: Bool { loader != nil }

    /// Does `action` when all live calls of `user`, and the call `id`, are loaded, mostly at once.
    public func whenLoaded(
        _ user: UserID?, and id: CallID? = nil, _ action: @escaping () -> Void
    ) {
        var need = LiveCallLoader<Held>.Need()
        (need.user, need.call) = (user, id)
        guard loader?.admits(need, switchboard, else: .action(action)) == false else {
            return action()
        }
        loadMore()
    }

    /// Requests that are held were read under what was in force before (G84): who made them asks
    /// again.
    func refuseHeld() {
        let refused = loader?.removeHeld { held in
            if case .input(.request) = held { true } else { false }
        }
        for case .input(.request(let request)) in refused ?? [] {
            deliverer?.deliver(.refused(.settingsChanged), to: request.id)
        }
    }

    func loadMore() {
        // Where anything of a page is to be stored, at most the next one is asked for before.
        for query in loader?.takeQueries(withPage: !queue.isOpen) ?? [] {
            find(.liveCalls(query), for: .live(query))
        }
    }

    func loaded(_ found: LiveCalls, _ damage: [StoreError], for query: LiveCallQuery) {
        // Every call is in a page, whoever was asked about before.
        for error in damage where query.users.isEmpty && query.calls.isEmpty {
            damagedCalls.note(error)
            shell.log(.error, "a live call cannot be read", ("error", "\(error)"))
        }
        guard let (loaded, more) = loader?.take(found, to: query) else { return }
        // The store looks for the next ones meanwhile.
        loadMore()
        let calls = shows(.lostPage) ? [] : loaded
        if !calls.isEmpty || !more {
            sort(switchboard.handle(.loaded(calls, more: more), at: now()))
        }
        while let held = loader?.takeReady(switchboard) {
            switch held {
            case .input(let input):
                traces.expectHeld()
                carryOut(input)
            case .action(let action): action()
            }
        }
        if loader?.isOver == true {
            loader = nil
            loadingEnded()
        } else {
            loadMore()
        }
    }

    func loadingEnded() {
        for id in callsBefore where switchboard.call(id)?.isLive != true { callEnded(id) }
        callsBefore = []
    }
}
