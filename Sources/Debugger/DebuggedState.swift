// One Lua state that is debugged: what runs in it, and what can be seen of it.

import CLua
import CallModel
import Lua

/// A handler under way.
struct DebuggedHandler {
    let title: String
    /// Whether it is a file that is loaded.
    let isLoad: Bool
    /// What it has asked for, and what that came to.
    var waits: [AnsweredWait] = []
}

/// Something that a handler waited for.
struct AnsweredWait {
    let words: String
    /// nil: it still waits.
    var answer: LuaValue?
}

/// A Lua state, told of what runs in it.
final class DebuggedState {
    let vm: OpaquePointer
    /// The order in which Lua states were made in this run.
    let number: Int
    let plugin: String
    private let title: (Int32) -> String?
    private(set) var handlers: [Int64: DebuggedHandler] = [:]
    private var lastCall = ""
    /// Whether it is still there.
    var isOpen = true
    /// Answers false to end the run.
    private let tell: (DebuggedState, callua_notice) -> Bool

    init(
        _ vm: OpaquePointer, number: Int, plugin: String, title: @escaping (Int32) -> String?,
        tell: @escaping (DebuggedState, callua_notice) -> Bool
    ) {
        (self.vm, self.number, self.plugin) = (vm, number, plugin)
        (self.title, self.tell) = (title, tell)
        let debugger = callua_debugger(
            context: Unmanaged.passUnretained(self).toOpaque(), tell: tellState)
        _ = callua_debug(vm, debugger)
    }

    fileprivate func take(_ notice: callua_notice) -> Bool {
        switch Int(notice.event) {
        case CALLUA_AT_BEGIN:
            let isLoad = notice.number < 0
            let name = isLoad ? "load" : title(Int32(notice.number)) ?? "function"
            handlers[notice.handler] = DebuggedHandler(
                title: "\(plugin): \(name)", isLoad: isLoad)
        case CALLUA_AT_END: handlers[notice.handler] = nil
        case CALLUA_AT_CALL:
            let values = PlainReader.all(notice.bytes)
            lastCall =
                "\(notice.name.map { String(cString: $0) } ?? "?")"
                + "(\(values.map(\.shownAsData).joined(separator: ", ")))"
        case CALLUA_AT_WAIT:
            handlers[notice.handler]?.waits.append(AnsweredWait(words: lastCall))
        case CALLUA_AT_ANSWER: answered(notice)
        default: break
        }
        return tell(self, notice)
    }

    private func answered(_ notice: callua_notice) {
        guard let last = handlers[notice.handler]?.waits.indices.last else { return }
        let isData = notice.number == Int64(CALLUA_RETURN)
        let values = isData ? PlainReader.all(notice.bytes) : []
        handlers[notice.handler]?.waits[last].answer =
            isData
            ? (values.count == 1 ? values[0] : .list(values))
            : .text("error: \(notice.bytes.string)")
    }

    // MARK: Functions under way

    func coroutines(of handler: Int64) -> Int32 { callua_debug_coroutines(vm, handler) }

    func levels(_ frame: callua_frame) -> Int32 { callua_debug_levels(vm, frame) }

    /// The name, kind, file, line and first line of a function.
    func function(_ frame: callua_frame) -> SeenFunction? {
        var row = callua_bytes()
        guard callua_debug_function(vm, frame, &row) else { return nil }
        let values = PlainReader.all(row)
        guard values.count == 5 else { return nil }
        return SeenFunction(
            name: values[0].text ?? "", isLua: values[1].text != "C",
            isFile: values[1].text == "main", file: values[2].text ?? "?",
            line: Int(values[3].integer ?? 0), firstLine: Int(values[4].integer ?? 0))
    }

    // MARK: Values

    func see(_ sight: DebugSight, wholeTexts: Bool = false) {
        let text = wholeTexts ? 1 << 20 : sight.text
        callua_debug_see(
            vm, callua_sight(text: UInt32(clamping: text), members: UInt32(clamping: sight.members))
        )
    }

    /// Locals by their numbers from 1, then what came for `...`.
    func locals(_ frame: callua_frame) throws(DebugProblem) -> [SeenRow] {
        try rows { callua_debug_locals(vm, frame, &$0) }
    }

    func upvalues(_ frame: callua_frame) throws(DebugProblem) -> [SeenRow] {
        try rows { callua_debug_upvalues(vm, frame, &$0) }
    }

    func globals() throws(DebugProblem) -> SeenValue {
        try value { callua_debug_globals(vm, &$0) }
    }

    func members(_ reference: Int64, _ page: callua_page) throws(DebugProblem) -> [SeenRow] {
        try rows { callua_debug_members(vm, reference, page, &$0) }
    }

    /// The member of an object under a plain key.
    func member(_ key: LuaValue, of object: SeenValue) throws(DebugProblem) -> SeenValue {
        guard object.reference != 0 else {
            guard object.type == "table" else {
                throw DebugProblem("a \(object.type) has no fields here")
            }
            return .nothing
        }
        return try get(slot(key, of: object.reference))
    }

    func get(_ slot: callua_slot) throws(DebugProblem) -> SeenValue {
        try value { callua_debug_get(vm, slot, &$0) }
    }

    func set(_ slot: callua_slot, to value: SeenValue) throws(DebugProblem) {
        let writer = PlainWriter()
        writer.value(value.isObject ? .null : value.plain)
        if value.isObject, value.reference == 0 {
            throw DebugProblem("a \(value.type) cannot be put here")
        }
        var problem = callua_bytes()
        guard callua_debug_set(vm, slot, writer.written, value.reference, &problem) else {
            throw DebugProblem(problem.string)
        }
    }

    private var keyWriter = PlainWriter()

    /// Valid until the next one is asked for.
    func slot(_ key: LuaValue, of reference: Int64) -> callua_slot {
        var slot = callua_slot()
        keyWriter.cut()
        keyWriter.value(key)
        (slot.reference, slot.key) = (reference, keyWriter.written)
        return slot
    }

    private func rows(
        _ read: (inout callua_bytes) -> Bool
    ) throws(DebugProblem) -> [SeenRow] {
        var bytes = callua_bytes()
        guard read(&bytes) else { throw DebugProblem(bytes.string) }
        return PlainReader.all(bytes).compactMap { row in
            guard let parts = row.list, parts.count == 2 else { return nil }
            return SeenRow(key: parts[0], value: SeenValue(parts[1]))
        }
    }

    private func value(
        _ read: (inout callua_bytes) -> Bool
    ) throws(DebugProblem) -> SeenValue {
        var bytes = callua_bytes()
        guard read(&bytes) else { throw DebugProblem(bytes.string) }
        return SeenValue(.list(PlainReader.all(bytes)))
    }
}

/// A function under way.
struct SeenFunction {
    let name: String
    let isLua: Bool
    /// Whether it is a whole file.
    let isFile: Bool
    let file: String
    let line: Int
    let firstLine: Int
}

private let tellState:
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<callua_notice>?) -> Bool = {
        context, notice in
        guard let context, let notice else { return true }
        let state = Unmanaged<DebuggedState>.fromOpaque(context).takeUnretainedValue()
        return state.take(notice.pointee)
    }

extension PlainReader {
    /// The values of an array in `bytes`.
    static func all(_ bytes: callua_bytes) -> [LuaValue] {
        guard bytes.count > 0 else { return [] }
        var reader = PlainReader(bytes)
        return reader.values()
    }
}

extension LuaValue {
    /// Data on one line, cut where it is long.
    var shownAsData: String {
        let text: String
        switch self {
        case .list(let values): text = "[\(values.map(\.shownAsData).joined(separator: ", "))]"
        case .table(let pairs):
            let parts = pairs.map {
                "\(SeenRow(key: $0.key, value: .nothing).shownKey) = "
                    + $0.value.shownAsData
            }
            text = "{ \(parts.joined(separator: ", ")) }"
        case .user(let facts): text = "user \(facts.user.text)"
        case .call(let id): text = "call \(id)"
        default: text = shownPlain
        }
        return text.count > 200 ? "\(text.prefix(200))…" : text
    }
}
