// Values on their way to the database and back, in its binary form.

import CPostgres
import CallModel
import Storage

/// A value given to a statement.
enum PostgresValue {
    case null
    case integer(Int64)
    /// All text of clients, because text of the database cannot hold NUL.
    case bytes([UInt8])
    case integers([Int64?])
    case lists([[UInt8]?])

    static func text(_ text: String) -> PostgresValue { .bytes(Array(text.utf8)) }
    static func id(_ id: CallID) -> PostgresValue { .bytes(id.stored) }
    static func moment(_ moment: Moment?) -> PostgresValue {
        moment.map { .integer($0.milliseconds) } ?? .null
    }

    // Numbers of types in the database.
    private static let bytesType: Int32 = 17
    private static let integerType: Int32 = 20

    /// Appends its bytes; false: it is null.
    func write(to bytes: inout [UInt8]) -> Bool {
        switch self {
        case .null: return false
        case .integer(let value): bytes.append(value)
        case .bytes(let value): bytes.append(contentsOf: value)
        case .integers(let values):
            bytes.beginArray(values.count, of: Self.integerType, hasNull: values.contains(nil))
            for value in values {
                bytes.append(Int32(value == nil ? -1 : 8))
                if let value { bytes.append(value) }
            }
        case .lists(let values):
            bytes.beginArray(values.count, of: Self.bytesType, hasNull: values.contains(nil))
            for value in values {
                bytes.append(value.map { Int32($0.count) } ?? -1)
                if let value { bytes.append(contentsOf: value) }
            }
        }
        return true
    }
}

extension [UInt8] {
    /// Appends a number with its highest byte first.
    fileprivate mutating func append(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    /// Appends the head of an array: its dimensions, whether it has nulls, type, size, first index.
    fileprivate mutating func beginArray(_ count: Int, of type: Int32, hasNull: Bool) {
        append(Int32(count == 0 ? 0 : 1))
        append(Int32(hasNull ? 1 : 0))
        append(type)
        guard count > 0 else { return }
        append(Int32(count))
        append(Int32(1))
    }
}

extension CallID {
    /// As it is stored: 16 bytes, the highest first, so that rows sort as ids do.
    var stored: [UInt8] { withBytes { Array($0) } }
}

/// The rows that a statement gave. Owner: whoever asked.
final class PostgresRows {
    private let functions: UnsafePointer<cpostgres_functions>
    private let result: OpaquePointer
    /// How many rows there are.
    let count: Int

    /// Takes `result` over.
    init(_ result: OpaquePointer, _ functions: UnsafePointer<cpostgres_functions>) {
        (self.result, self.functions) = (result, functions)
        count = Int(functions.pointee.rows(result))
    }

    deinit { functions.pointee.clear(result) }

    /// How many rows the statement changed.
    var changed: Int {
        functions.pointee.changed(result).flatMap { Int(String(cString: $0)) } ?? 0
    }

    /// The rows in order.
    var all: some Sequence<PostgresRow> {
        (0..<count).lazy.map { PostgresRow(rows: self, row: Int32($0)) }
    }

    /// The first row; nil: there is none.
    var first: PostgresRow? { count == 0 ? nil : PostgresRow(rows: self, row: 0) }

    /// The last row; nil: there is none.
    var last: PostgresRow? { count == 0 ? nil : PostgresRow(rows: self, row: Int32(count - 1)) }

    fileprivate func bytes(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer? {
        guard functions.pointee.is_null(result, row, column) == 0 else { return nil }
        let length = Int(functions.pointee.length(result, row, column))
        return UnsafeRawBufferPointer(
            start: functions.pointee.value(result, row, column), count: length)
    }
}

/// One row; the columns count from 0.
struct PostgresRow {
    fileprivate let rows: PostgresRows
    fileprivate let row: Int32

    func isNull(_ column: Int32) -> Bool { rows.bytes(row, column) == nil }

    /// A `bigint`; 0 for null.
    func integer(_ column: Int32) -> Int64 {
        guard let bytes = rows.bytes(row, column), bytes.count == 8 else { return 0 }
        return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    }

    func moment(_ column: Int32) -> Moment { Moment(stored: integer(column)) }
    func optionalMoment(_ column: Int32) -> Moment? { isNull(column) ? nil : moment(column) }

    /// A `bytea`; empty for null.
    func bytes(_ column: Int32) -> [UInt8] { Array(raw(column)) }

    /// The bytes of a `bytea` where they stand: valid as long as the rows are.
    func raw(_ column: Int32) -> UnsafeRawBufferPointer {
        rows.bytes(row, column) ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }

    func text(_ column: Int32) -> String { String(decoding: raw(column), as: UTF8.self) }
    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    /// A call id, or nil when there are not 16 bytes.
    func id(_ column: Int32) -> CallID? {
        let bytes = raw(column)
        return bytes.count == CallID.byteCount ? CallID(bytes: bytes) : nil
    }
}

extension PostgresRow: StoredRow {}
