// A queue of things to do at certain moments.

/// Elements with their moments; the earliest comes first, and of equal ones the one added first.
struct DueQueue<Element> {
    private struct Entry {
        var due: Int64
        let order: UInt64
        let element: Element

        func comes(before other: Entry) -> Bool {
            due == other.due ? order < other.order : due < other.due
        }
    }

    private var heap: [Entry] = []
    private var added: UInt64 = 0

    /// The earliest moment; nil when nothing is to be done.
    var next: Int64? { heap.first?.due }
    var count: Int { heap.count }

    mutating func add(_ element: Element, due: Int64) {
        added += 1
        heap.append(Entry(due: due, order: added, element: element))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].comes(before: heap[parent]) else { break }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Makes every moment later by `span`; their order stays.
    mutating func shift(by span: Int64) {
        for place in heap.indices { heap[place].due += span }
    }

    /// Takes out the earliest element whose moment has come.
    mutating func pop(at now: Int64) -> Element? {
        guard let first = heap.first, first.due <= now else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return first.element
    }

    private mutating func sink() {
        var parent = 0
        while true {
            let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < heap.count }
            guard let child = children.min(by: { heap[$0].comes(before: heap[$1]) }),
                heap[child].comes(before: heap[parent])
            else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
