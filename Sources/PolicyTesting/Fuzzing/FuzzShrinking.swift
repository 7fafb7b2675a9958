// Smaller tests that may show the same.

import Lua

enum FuzzShrinking {
    /// Tests that are smaller than `steps` by one thing, those with the largest loss first.
    static func smaller(_ steps: [FuzzStep]) -> [[FuzzStep]] {
        var all: [[FuzzStep]] = []
        for place in steps.indices where steps.count > 1 {
            var fewer = steps
            fewer.remove(at: place)
            all.append(fewer)
        }
        for (place, step) in steps.enumerated() {
            for index in step.arguments.indices where mayShrink(step, index) {
                all += smaller(step.arguments[index]).map { value in
                    var changed = steps
                    changed[place].arguments[index] = value
                    return changed
                }
            }
            if step.arguments.count > 1, mayShrink(step, step.arguments.count - 1),
                step.name != "user", step.name != "http"
            {
                var changed = steps
                changed[place].arguments.removeLast()
                all.append(changed)
            }
        }
        return all
    }

    /// The name of an event is what it is, and so is a time.
    private static func mayShrink(_ step: FuzzStep, _ index: Int) -> Bool {
        switch step.name {
        case "event", "user", "http": index > 0
        case "clock", "advance", "timezone": false
        case "data": index != 1
        default: true
        }
    }

    private static let kept: Set<String> = ["at", "mode", "provider", "reason", "timeout"]

    private static func smaller(_ value: LuaValue) -> [LuaValue] {
        switch value {
        case .table(let pairs):
            var all: [LuaValue] = []
            for place in pairs.indices {
                var fewer = pairs
                fewer.remove(at: place)
                all.append(.table(fewer))
            }
            for (place, pair) in pairs.enumerated() where !kept.contains(pair.key.text ?? "") {
                for value in smaller(pair.value) {
                    var changed = pairs
                    changed[place] = .init(key: pair.key, value: value)
                    all.append(.table(changed))
                }
            }
            return all
        case .list(let values):
            guard !values.isEmpty else { return [] }
            var all: [LuaValue] = [.list([])]
            if values.count > 1 { all.append(.list(Array(values.prefix(values.count / 2)))) }
            all.append(.list(Array(values.dropLast())))
            return all + smaller(values[0]).map { .list([$0] + values.dropFirst()) }
        case .text(let text):
            guard !text.isEmpty else { return [] }
            return text.utf8.count == 1
                ? [.text("")] : [.text(""), .text(String(text.prefix(text.count / 2)))]
        case .integer(let number):
            return number == 0
                ? []
                : [.integer(0), .integer(1), .integer(number / 2)]
                    .filter { ($0.integer ?? 0).magnitude < number.magnitude }
        case .number: return [.integer(0), .integer(1)]
        case .bool: return []
        default: return []
        }
    }
}
