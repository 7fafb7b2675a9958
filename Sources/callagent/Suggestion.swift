// "did you mean …" for words that do not exist.

/// Finds the word that somebody meant.
enum Suggestion {
    /// ` (did you mean 'WORD'?)` for the nearest of `words`, or nothing.
    static func text(for wrong: String, among words: [String]) -> String {
        nearest(to: wrong, among: words).map { " (did you mean '\($0)'?)" } ?? ""
    }

    /// The nearest of `words`, if one is near at all or begins like that.
    static func nearest(to wrong: String, among words: [String]) -> String? {
        let letters = Array(wrong.utf8.prefix(40))
        let limit = letters.count <= 4 ? 1 : 2
        let near = words.map { (word: $0, steps: steps(from: letters, to: Array($0.utf8))) }
            .filter { $0.steps <= limit }
            .min { $0.steps < $1.steps }
        if let near { return near.word }
        let longer = words.filter { letters.count >= 3 && $0.hasPrefix(wrong) }
        return longer.count == 1 ? longer[0] : nil
    }

    /// Changes, insertions, removals and swaps of neighbours.
    private static func steps(from a: [UInt8], to b: [UInt8]) -> Int {
        var before = Array(0...b.count)
        var last = before
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
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
