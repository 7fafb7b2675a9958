// What comes from the store, and what happens while it is away.

import CallCore
import CallModel
import CallWire
import StoreContract

extension Exchange {
    /// Something came from the store.
    public func receive(_ news: StoreNews) {
        switch news {
        case .answered(_, .committed(let result, let duration)): committed(result, in: duration)
        case .answered(_, .opened(let state)): storeIsBack(state)
        case .answered(let ticket, let answer):
            guard let who = waiting.removeValue(forKey: ticket) else { return }
            if case .failed(let error) = answer {
                shell.log(.warn, "store look-up failed", ("error", "\(error)"))
            }
            found(answer, for: who)
        case .lost(let error): storeFailed(error)
        }
    }

    func found(_ answer: StoreAnswer, for who: Waiting) {
        switch (who, answer) {
        case (.call(let id), .call(let call)): feed(.recalled(id, call))
        case (.call(let id), _): feed(.recallFailed(id))
        case (.key(let user, let key), .reply(let kept)):
            feed(.recalledKey(user, key: key, kept))
        case (.key(let user, let key), _): feed(.recallKeyFailed(user, key: key))
        case (.page(let request, let user), .page(let page)):
            deliverer?.deliver(page, to: request, of: user)
        case (.page(let request, _), _): deliverer?.deliver(.refused(.notReady), to: request)
        case (.live(let query), .liveCalls(let found, let damage)):
            loaded(found, damage, for: query)
        case (.names, .names(let page)): take(page)
        case (.names, _): names.loadingEnded()
        case (.live(let query), .failed(let error)):
            if loader?.goesOn(without: query) == true { loadMore() } else { storeFailed(error) }
        case (.live, _): break
        case (.found(let done), _): done(answer)
        case (.stored(let done), _): done(.lost)
        }
    }

    /// Tells whoever waited for changes to be stored.
    func stored(_ ticket: StoreTicket, _ result: Stored) {
        guard case .stored(let done)? = waiting.removeValue(forKey: ticket) else { return }
        done(result)
    }

    /// Everybody waited for this commit: who asks why is to find the disk.
    func noteLateness(_ duration: Milliseconds) {
        guard duration > limits.commitWithin else { return }
        (lateCommits, lastLateAt) = (lateCommits + 1, now())
        guard let left = repeated.admit("commit", at: now()) else { return }
        shell.log(.warn, "store was late", ("ms", "\(duration)"), ("left_out", "\(left)"))
    }

    func committed(_ result: CommitResult, in duration: Milliseconds) {
        guard isReady else { return }
        (storeFailures, storeTrouble) = (0, nil)
        figures.committed(in: duration)
        noteLateness(duration)
        queue.batchIsDurable()
        for (ticket, counter) in zip(submittedCounting, result.counters) {
            stored(ticket, .counted(counter))
        }
        submittedCounting = []
        drain()
        submit()
        arm()
        batchEnded()
        loadMore()
    }

    /// Nothing behind the barrier leaves; everything begins again from what is stored.
    func storeFailed(_ error: StoreError) {
        // One that can be opened and takes nothing, as on a full disk, is away nevertheless.
        let isOld = openAgainAt.map { now() - $0 < RepeatedLine.silence } ?? false
        if isReady, !isOld { storeFailures = 0 }
        let isAnother = storeTrouble == nil
        storeTrouble = "\(error)"
        // Looking whether a file is back costs nothing.
        let isCheap = error.kind == .replaced
        shell.openStore(after: limits.reopenPause(after: isCheap ? 0 : storeFailures))
        tellFailure(error)
        storeFailures += 1
        guard isReady else { return }
        if shows(.failureOverlooked) { queue.batchIsDurable() }
        // What was durable before waits for its turn only.
        share = .max
        drain()
        isReady = false
        journal?.noteOutage("the store failed: \(error)", isAnother: isAnother, at: now())
        traces = RequestTraces()
        for question in switchboard.unanswered { policies?.withdraw(question) }
        for ticket in queue.removeAll() + counting + submittedCounting {
            stored(ticket, .lost)
        }
        counting = []
        submittedCounting = []
        let held = loader?.removeHeld { _ in true } ?? []
        loader = nil
        // What the store says of them now is of before.
        waiting = waiting.filter {
            switch $0.value {
            case .live, .names: false
            case .call, .key, .page, .found, .stored: true
            }
        }
        deliverer?.dropEverything()
        batchEnded()
        // Requests that are held are dropped with all others.
        for case .action(let action) in held { action() }
    }

    /// A store that fails again and again does not fill the log.
    private func tellFailure(_ error: StoreError) {
        let why = ("error", "\(error)")
        if isReady, let left = repeated.admit("store", at: now()) {
            isFailureTold = true
            return shell.log(
                .error, "store failed: nothing is acknowledged until it is back", why,
                ("left_out", "\(left)"))
        }
        guard !isReady else { return }
        if !isFailureTold {
            isFailureTold = true
            shell.log(.error, "store failed: nothing is acknowledged until it is back", why)
        } else if storeFailures % 10 == 0 {
            shell.log(.warn, "store is still away", why, ("tries", "\(storeFailures)"))
        }
    }

    func storeIsBack(_ state: StoredState) {
        if isFailureTold { shell.log(.info, "store is open again") }
        (isFailureTold, openAgainAt) = (false, now())
        lastJob = max(lastJob, state.lastJob?.value ?? 0)
        let now = now()
        journal?.noteEndOfOutage(at: now)
        callsBefore += switchboard.liveCalls.map(\.id)
        switchboard = switchboard.successor(
            seed: seed ^ UInt64(bitPattern: now.milliseconds), at: now)
        isReady = true
        load(state)
        unconfirmed.keepAgain()
        outbox?.storeIsBack()
        // Those that had nothing to store again wait for nothing.
        drain()
    }
}
