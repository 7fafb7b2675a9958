// The table of all names of callagent.lua (`callagent config`).

extension ConfigurationField {
    /// One line for every name: name, type, default, the part it belongs to, help.
    ///
    /// - Parameter name: only this name, or the members of this table; empty if there is none.
    public static func table(of name: String? = nil) -> String {
        let fields = all.filter { field in
            name.map { field.name == $0 || field.name.hasPrefix("\($0).") } ?? true
        }
        guard !fields.isEmpty else { return "" }
        let rows = fields.map { ($0.name, $0.type, $0.standard, $0.part.rawValue, $0.help) }
        let widths = (
            rows.map(\.0.count).max() ?? 0, rows.map(\.1.count).max() ?? 0,
            rows.map(\.2.count).max() ?? 0, rows.map(\.3.count).max() ?? 0
        )
        func padded(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: width - text.count)
        }
        return rows.map { name, type, standard, part, help in
            [
                padded(name, widths.0), padded(type, widths.1), padded(standard, widths.2),
                padded(part, widths.3), help,
            ].joined(separator: "  ")
        }.joined(separator: "\n") + "\n"
    }
}
