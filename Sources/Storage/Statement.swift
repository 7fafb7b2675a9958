// A compiled SQL statement, kept and run many times.

import CSQLite
import CallModel
import StoreContract

/// A value given to a statement.
enum SQLValue {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
    /// Bytes that stay where they are until the statement has run, and so are not copied.
    case written(UnsafeRawBufferPointer)
    /// The same for the UTF-8 of a text, which is not empty.
    case writtenText(UnsafeRawBufferPointer)
    case id(CallID)

    static func moment(_ moment: Moment?) -> SQLValue {
        moment.map { .integer($0.milliseconds) } ?? .null
    }

    static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
}

/// One row of a result; valid only until the next one is asked for.
struct Row {
    fileprivate let handle: OpaquePointer

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    func moment(_ column: Int32) -> Moment { Moment(stored: integer(column)) }
    func optionalMoment(_ column: Int32) -> Moment? { isNull(column) ? nil : moment(column) }

    func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    func bytes(_ column: Int32) -> [UInt8] { Array(raw(column)) }

    /// The bytes where they stand.
    func raw(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(
            start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }

    /// A call id, or nil when there are not 16 bytes.
    func id(_ column: Int32) -> CallID? {
        let bytes = raw(column)
        return bytes.count == CallID.byteCount ? CallID(bytes: bytes) : nil
    }
}

extension Moment {
    /// The moment that a row has. Sums with one that no clock can show would run over.
    package init(stored milliseconds: Int64) {
        self.init(min(max(milliseconds, -Self.farthest), Self.farthest))
    }

    private static let farthest: Int64 = 1 << 53
}

/// A call id as stored: both halves with the highest byte first, so that rows sort as ids do.
extension CallID {
    package static let byteCount = 16

    /// The id of `byteCount` bytes.
    package init(bytes: UnsafeRawBufferPointer) {
        self.init(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// Hands its bytes to `body`.
    package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian), body)
    }
}

/// A compiled statement; finalized with its owner.
struct Statement: ~Copyable {
    private let handle: OpaquePointer
    private let connection: DatabaseConnection
    /// What it does, for errors.
    private let operation: StaticString

    init(_ handle: OpaquePointer, connection: DatabaseConnection, operation: StaticString) {
        self.handle = handle
        self.connection = connection
        self.operation = operation
    }

    deinit { sqlite3_finalize(handle) }

    /// Runs it with `values` for its parameters in order; it must not give rows.
    func run(_ values: SQLValue...) throws(StoreError) { try run(with: values) }

    /// The same with as many values as it has parameters.
    func run(with values: [SQLValue]) throws(StoreError) { try each(values) { _ in false } }

    /// Runs it and gives the rows that it changed.
    func count(_ values: SQLValue...) throws(StoreError) -> Int {
        try each(values) { _ in false }
        return connection.changes
    }

    /// Runs it and gives every row to `body` until that returns false.
    func rows(
        _ values: SQLValue..., body: (Row) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try each(values, body)
    }

    /// Runs it to its end, because some statements commit only there; returns what `body` makes of
    /// the first row, or nil without rows.
    func first<Result>(
        _ values: SQLValue..., body: (Row) throws(StoreError) -> Result?
    ) throws(StoreError) -> Result? {
        var result: Result?
        var found = false
        try each(values) { (row) throws(StoreError) in
            if !found { result = try body(row) }
            found = true
            return true
        }
        return result
    }

    private func each(
        _ values: [SQLValue], _ body: (Row) throws(StoreError) -> Bool
    ) throws(StoreError) {
        // Resetting ends the read transaction: an idle statement must not keep the log from
        // shrinking.
        defer { sqlite3_reset(handle) }
        for index in values.indices { try bind(values[index], at: Int32(index + 1)) }
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_DONE: return
            case SQLITE_ROW:
                guard try body(Row(handle: handle)) else { return }
            default: throw connection.error("\(operation)")
            }
        }
    }

    private func bind(_ value: SQLValue, at index: Int32) throws(StoreError) {
        let code =
            switch value {
            case .null: sqlite3_bind_null(handle, index)
            case .integer(let integer): sqlite3_bind_int64(handle, index, integer)
            case .text(let text): bind(text, at: index)
            case .bytes(let bytes):
                bytes.withUnsafeBytes {
                    csqlite_bind_bytes(handle, index, $0.baseAddress, Int32($0.count))
                }
            case .written(let bytes):
                sqlite3_bind_blob(handle, index, bytes.baseAddress, Int32(bytes.count), nil)
            case .writtenText(let bytes):
                csqlite_bind_written_text(handle, index, bytes.baseAddress, Int32(bytes.count))
            case .id(let id): bind(id, at: index)
            }
        guard code == SQLITE_OK else { throw connection.error("\(operation)") }
    }

    private func bind(_ text: String, at index: Int32) -> Int32 {
        var text = text
        return text.withUTF8 { bytes in
            // An empty string may have no address, which SQLite would take for null.
            guard let start = bytes.baseAddress, !bytes.isEmpty else {
                return csqlite_bind_text(handle, index, "", 0)
            }
            return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                csqlite_bind_text(handle, index, $0, Int32(bytes.count))
            }
        }
    }

    private func bind(_ id: CallID, at index: Int32) -> Int32 {
        id.withBytes { csqlite_bind_bytes(handle, index, $0.baseAddress, Int32($0.count)) }
    }
}
