// "did you mean …" for names that do not exist.

/// Finds the name that somebody meant.
package enum Suggestion {
    /// ` (did you mean 'NAME'?)` for the nearest of `names`, or nothing.
    package static func text(for wrong: String, among names: some Sequence<String>) -> String {
        nearest(to: wrong, among: names).map { " (did you mean '\($0)'?)" } ?? ""
    }

    /// The nearest of `names`, if it is near at all.
    package static func nearest(to wrong: String, among names: some Sequence<String>) -> String? {
        guard wrong.utf8.count <= 40 else { return nil }
        var best: (name: String, distance: Int)?
        let limit = wrong.utf8.count <= 4 ? 1 : 2
        for name in names where name.utf8.count <= 40 {
            let found = distance(Array(wrong.utf8), Array(name.utf8))
            if found <= limit, found < best?.distance ?? .max { best = (name, found) }
        }
        return best?.name
    }

    /// Changes, insertions, removals and swaps of neighbours.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var before = Array(0...b.count)
        var last = before
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var least = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    least = min(least, before[j - 1] + 1)
                }
                row.append(least)
            }
            before = last
            last = row
        }
        return last[b.count]
    }
}
