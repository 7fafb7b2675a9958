// The table of modes as people read it.

/// The parameters of some modes, side by side.
public struct ModeTable: Sendable {
    /// One row of cells for each line; the first one has the names of the modes.
    public let rows: [[String]]

    /// The table of `modes`.
    public init(_ modes: [Mode]) {
        rows =
            [[""] + modes.map(\.name), ["like"] + modes.map { $0.model ?? "-" }]
            + ModeParameter.all.map { parameter in
                [parameter.name] + modes.map { parameter.shown(in: $0) }
            }
    }

    /// For a terminal, in columns.
    public var text: String {
        let widths = (rows.first ?? []).indices.map { column in
            rows.map { $0[column].count }.max() ?? 0
        }
        return rows.map { cells in
            let line = zip(cells, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed()) + "\n"
        }.joined()
    }

    /// For a page: the table, then what the parameters say.
    public var markdown: [String] {
        func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
        let head = rows[0].map { $0.isEmpty ? $0 : "`\($0)`" }
        return [line(head), "|" + String(repeating: "---|", count: head.count)]
            + rows.dropFirst().map { line(["`\($0[0])`"] + $0.dropFirst()) }
            + ["", "| parameter | values | says |", "|---|---|---|"]
            + ModeParameter.all.map { line(["`\($0.name)`", $0.values, $0.help]) }
    }
}

extension ModeParameter {
    /// What its values are, for a person.
    var values: String {
        let values =
            switch kind {
            case .count(let range): "\(range.lowerBound) to \(range.upperBound)"
            case .time(let range):
                "\(range.lowerBound / 1_000) s to \(range.upperBound / 1_000) s"
            case .word(let words): words.map { "`\"\($0)\"`" }.joined(separator: ", ")
            case .flag: "`true`, `false`"
            }
        return isOptional ? "\(values), `false`" : values
    }
}
