// "did you mean …" for words of the command line.

import Lua

extension Suggestion {
    /// ` (did you mean 'WORD'?)` for a word that was probably meant, or nothing.
    static func hint(for wrong: String, among words: [String]) -> String {
        word(for: wrong, among: words).map { " (did you mean '\($0)'?)" } ?? ""
    }

    /// The nearest of `words`, if one is near enough; else the only one that begins with `wrong`.
    static func word(for wrong: String, among words: [String]) -> String? {
        if let near = nearest(to: wrong, among: words) { return near }
        let longer = words.filter { wrong.utf8.count >= 3 && $0.hasPrefix(wrong) }
        return longer.count == 1 ? longer[0] : nil
    }
}
