// What belongs to no change of the switchboard, on its way to the store, which may be away.

import StoreContract

/// Keeps what is to be stored until it is durable, so that a store that failed and came back is
/// told again. Owner: the loop's thread.
public final class UnconfirmedChanges {
    private unowned let exchange: Exchange
    private var open: [UInt64: (changes: [StoreChange], then: (() -> Void)?)] = [:]
    private var last: UInt64 = 0

    /// Nothing to be stored yet; `exchange` stores it.
    public init(_ exchange: Exchange) { self.exchange = exchange }

    /// Stores `changes`, now or when the store is back, and calls back once they are durable.
    public func keep(_ changes: [StoreChange], andThen action: (() -> Void)? = nil) {
        last += 1
        let number = last
        open[number] = (changes, action)
        exchange.store(changes) { [weak self] in
            if $0 == .durable { self?.confirmed(number) }
        }
    }

    /// The store is back: everything that it did not confirm is stored again, and then `action`
    /// follows.
    public func keepAgain(andThen action: @escaping () -> Void = {}) {
        let lost = open.sorted { $0.key < $1.key }
        exchange.store(lost.flatMap(\.value.changes)) { [weak self] in
            guard $0 == .durable else { return }
            for (number, _) in lost { self?.confirmed(number) }
            action()
        }
    }

    private func confirmed(_ number: UInt64) { open.removeValue(forKey: number)?.then?() }
}
