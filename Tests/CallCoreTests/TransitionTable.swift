// What every trigger does to a participant in every state, in every mode: the expected rows.

import CallModel
import Testing

/// One trigger's table: a row for each state, a column for each group of modes.
struct TransitionTable: Sendable, CustomTestStringConvertible {
    /// Whose part in the call a table is about.
    enum Part: String, Sendable, CaseIterable {
        case invitee, caller, joiner

        /// Every state of it, `-` for somebody who is not in the call.
        var states: [String] {
            let states = Participant.State.allCases.map(\.rawValue)
            switch self {
            case .invitee: return ["-"] + states
            case .caller: return states
            case .joiner: return ["-", "joined", "left"]
            }
        }

        /// What else makes a difference.
        fileprivate var circumstances: [String] {
            self == .invitee ? [""] : [", bob rings", ", bob joined"]
        }

        /// Every situation that a table tells about.
        var situations: [String] {
            states.flatMap { state in circumstances.map { state + $0 } }
        }
    }

    /// A line of a table.
    struct Row: Sendable {
        /// `inviting/ringing, bob rings`: states, and which circumstance if it matters.
        let label: String
        /// The situations that it stands for.
        let situations: [String]
        /// For each column: a new state, `=` for no change, or `!code` for a refusal and `?code`
        /// for an entry of `errors[]`; in brackets why the call ended, if it did.
        let cells: [String]

        fileprivate init(_ cells: [String], _ part: Part) {
            label = cells[0]
            self.cells = Array(cells.dropFirst())
            let states = label.prefix { $0 != "," }
            let circumstance = label.dropFirst(states.count)
            situations = states.split(separator: "/").flatMap { state in
                part.circumstances.filter { circumstance.isEmpty || $0 == circumstance }
                    .map { state + $0 }
            }
        }
    }

    let part: Part
    let trigger: String
    let meaning: String
    /// The modes of each column; `others`: those that no other column names.
    let columns: [[String]]
    let rows: [Row]

    var testDescription: String { "\(part) \(trigger)" }

    /// What the trigger does to a participant in `situation` in a call of `mode`.
    func cell(from situation: String, mode: String) -> String? {
        let own = columns.firstIndex { $0.contains(mode) }
        guard let column = own ?? columns.firstIndex(of: ["others"]) else { return nil }
        return rows.first { $0.situations.contains(situation) }?.cells[column]
    }

    static let all: [TransitionTable] =
        tables(.invitee, inviteeTransitions) + tables(.caller, callerTransitions)
        + tables(.joiner, joinerTransitions)

    private static func tables(_ part: Part, _ text: String) -> [TransitionTable] {
        text.split(separator: "\n\n").map { block in
            let lines = block.split(separator: "\n").map(cells)
            return TransitionTable(
                part: part, trigger: lines[0][0], meaning: lines[0][1],
                columns: lines[1].dropFirst().map { $0.split(separator: ",").map(String.init) },
                rows: lines.dropFirst(2).map { Row($0, part) })
        }
    }

    /// The parts of a line, which stand two or more spaces apart.
    private static func cells(_ line: Substring) -> [String] {
        var cells: [String] = []
        var rest = line.drop { $0 == " " }
        while !rest.isEmpty {
            let end = rest.firstRange(of: "  ")?.lowerBound ?? rest.endIndex
            cells.append(String(rest[..<end]))
            rest = rest[end...].drop { $0 == " " }
        }
        return cells
    }
}

// MARK: The page of the documentation

extension TransitionTable {
    /// The page `Transitions.md` of the documentation.
    static var page: String {
        let head = """
            # Transitions

            What every trigger does to a participant in every state, in every mode.

            ## Overview

            This page is written by a test from the table that the core is checked against. A
            participant in the state `-` is not in the call; `=` means no change, `!` a refusal
            and `?` an entry of `errors[]`. In brackets stands why the call ended by it.

            Where each state leads, in some mode:

            ```
            \(diagram)
            ```

            """
        let parts = Part.allCases.map { part in
            "## \(part.title)\n\n"
                + all.filter { $0.part == part }.map(\.section).joined(separator: "\n")
        }
        return head + "\n" + parts.joined(separator: "\n")
    }

    /// One line for each state: the states it leads to, and by what.
    private static var diagram: String {
        let states = ["-"] + Participant.State.allCases.map(\.rawValue)
        return states.map { from in
            let successors = states.compactMap { to -> String? in
                let triggers = triggers(from: from, to: to)
                return triggers.isEmpty ? nil : "→ \(to) (\(triggers.joined(separator: ", ")))"
            }
            let name = from + String(repeating: " ", count: 12 - from.count)
            let gap = "\n" + String(repeating: " ", count: 12)
            return successors.isEmpty ? name : name + successors.joined(separator: gap)
        }.joined(separator: "\n")
    }

    /// What leads there: an invitee, and by the same or by something else the others.
    private static func triggers(from: String, to: String) -> [String] {
        var names: [String] = []
        for table in all where table.leads(from: from, to: to) && !names.contains(table.trigger) {
            names.append(table.part == .invitee ? table.trigger : "\(table.part) \(table.trigger)")
        }
        return names
    }

    private func leads(from: String, to: String) -> Bool {
        rows.contains { row in
            row.situations.contains { $0.prefix { $0 != "," } == from }
                && row.cells.contains { $0.prefix { $0 != " " } == to }
        }
    }

    private var section: String {
        let heads = columns.map { $0.joined(separator: ", ") }
        var lines = ["### \(trigger): \(meaning)", ""]
        lines.append("| from | " + heads.joined(separator: " | ") + " |")
        lines.append(String(repeating: "|---", count: heads.count + 1) + "|")
        for row in rows {
            lines.append("| \(row.label) | " + row.cells.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension TransitionTable.Part {
    fileprivate var title: String {
        switch self {
        case .invitee: "An invitee: bob, whom alice invited; carol rings too"
        case .caller: "The caller: alice, who invited bob; she can be called back into her call"
        case .joiner: "A joiner: dave, who joins a call of alice and bob by its id"
        }
    }
}
