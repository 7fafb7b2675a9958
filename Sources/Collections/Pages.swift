// Values by their numbers, which never move.

/// Values by their numbers, in pages of a fixed size.
///
/// An array that is full moves all its values to a larger one: with half a million of them
/// everybody waits for that. Here adding a value costs the same however many there are. Copies
/// share the pages until one of them is changed.
public struct Pages<Element> {
    /// Values in a page, which has 64 KiB: of a number that is a power of two, the allocator would
    /// leave up to a fifth of the memory unused. The first page starts smaller, for tables that
    /// stay small.
    @inlinable static var pageSize: Int { max(firstSize, 65_536 / MemoryLayout<Element>.stride) }
    @inlinable static var firstSize: Int { 16 }

    /// Outside the owner: a property of a class would be checked at each access.
    @usableFromInline
    struct Table {
        /// `pageRoom` pointers, of which `pageCount` are pages.
        @usableFromInline var pages: UnsafeMutablePointer<UnsafeMutablePointer<Element>>
        @usableFromInline var pageCount = 0
        @usableFromInline var pageRoom = 8
        /// Values, and how many the pages have room for.
        @usableFromInline var count = 0
        @usableFromInline var room = 0

        @inlinable
        init() { pages = .allocate(capacity: pageRoom) }

        @inlinable
        func address(_ index: Int) -> UnsafeMutablePointer<Element> {
            // In 32 bits, dividing by what the compiler knows is one multiplication.
            let (page, place) = UInt32(truncatingIfNeeded: index)
                .quotientAndRemainder(dividingBy: UInt32(Pages.pageSize))
            return pages[Int(page)] + Int(place)
        }
    }

    /// Frees the memory, and tells whether a copy shares it.
    @usableFromInline
    final class Owner {
        @usableFromInline let table: UnsafeMutablePointer<Table>

        @inlinable
        init() {
            table = .allocate(capacity: 1)
            table.initialize(to: Table())
        }

        @inlinable
        deinit {
            for page in 0..<table.pointee.pageCount {
                let used = min(Pages.pageSize, table.pointee.count - page * Pages.pageSize)
                table.pointee.pages[page].deinitialize(count: used)
                table.pointee.pages[page].deallocate()
            }
            table.pointee.pages.deallocate()
            table.deallocate()
        }
    }

    @usableFromInline var owner: Owner
    /// The owner's.
    @usableFromInline var table: UnsafeMutablePointer<Table>

    /// No values.
    @inlinable
    public init() {
        owner = Owner()
        table = owner.table
    }

    /// How many values there are.
    @inlinable
    public var count: Int { table.pointee.count }

    /// The numbers of the values.
    @inlinable
    public var indices: Range<Int> { 0..<count }

    /// The value with this number, which must be one of `indices`.
    @inlinable
    public subscript(index: Int) -> Element {
        @inline(__always) _read {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: table.pointee.count))
            yield table.pointee.address(index).pointee
        }
        @inline(__always) _modify {
            precondition(UInt(bitPattern: index) < UInt(bitPattern: table.pointee.count))
            if !isKnownUniquelyReferenced(&owner) { stopSharing() }
            yield &table.pointee.address(index).pointee
        }
    }

    /// The values with these numbers; there may be fewer.
    @inlinable
    public func values(in numbers: Range<Int>) -> LazyMapSequence<Range<Int>, Element> {
        numbers.clamped(to: indices).lazy.map { self[$0] }
    }

    /// Adds a value; its number is the `count` before.
    @inlinable
    public mutating func append(_ value: consuming Element) {
        if !isKnownUniquelyReferenced(&owner) { stopSharing() }
        if table.pointee.count == table.pointee.room { addRoom() }
        table.pointee.address(table.pointee.count).initialize(to: value)
        table.pointee.count += 1
    }

    // All of it can be inlined: else it would not be specialized for the type of the values.
    @inline(never) @inlinable
    func addRoom() {
        if table.pointee.pageCount == 1, table.pointee.room < Self.pageSize {
            let size = min(table.pointee.room * 2, Self.pageSize)
            let larger = UnsafeMutablePointer<Element>.allocate(capacity: size)
            larger.moveInitialize(from: table.pointee.pages[0], count: table.pointee.count)
            table.pointee.pages[0].deallocate()
            table.pointee.pages[0] = larger
            table.pointee.room = size
        } else {
            addPage(table.pointee.pageCount == 0 ? Self.firstSize : Self.pageSize)
        }
    }

    @inlinable
    func addPage(_ size: Int) {
        if table.pointee.pageCount == table.pointee.pageRoom {
            table.pointee.pageRoom *= 2
            let more = UnsafeMutablePointer<UnsafeMutablePointer<Element>>
                .allocate(capacity: table.pointee.pageRoom)
            more.moveInitialize(from: table.pointee.pages, count: table.pointee.pageCount)
            table.pointee.pages.deallocate()
            table.pointee.pages = more
        }
        (table.pointee.pages + table.pointee.pageCount).initialize(to: .allocate(capacity: size))
        table.pointee.pageCount += 1
        table.pointee.room += size
    }

    @inline(never) @inlinable
    mutating func stopSharing() {
        let shared = self
        self = Pages()
        for index in shared.indices { append(shared[index]) }
    }
}

extension Pages: @unchecked Sendable where Element: Sendable {}
