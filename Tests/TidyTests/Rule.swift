// A rule of the house: what it looks for, a planted breach that it must find, and its clean twin.

import Testing

/// One breach of a rule.
struct Finding: CustomStringConvertible, Sendable {
    let path: String
    /// Counted from 1; nil when the file as a whole is meant.
    let line: Int?
    let what: String

    init(_ file: SourceFile, _ line: Int? = nil, _ what: String) {
        self.init(path: file.path, line: line, what: what)
    }

    init(path: String, line: Int? = nil, what: String) {
        self.path = path
        self.line = line
        self.what = what
    }

    var description: String { "\(path)\(line.map { ":\($0)" } ?? ""): \(what)" }
}

/// A rule, with the two samples that prove it can fail and can pass.
struct Rule: Sendable, CustomTestStringConvertible {
    let name: String
    /// Made-up checkouts; in each the rule finds something.
    let planted: [Checkout]
    /// Made-up checkouts that come as near as allowed; in none the rule finds anything.
    let clean: [Checkout]
    let check: @Sendable (Checkout) -> [Finding]

    var testDescription: String { name }

    /// A rule over the checkout as a whole.
    init(
        _ name: String, planted: [Checkout], clean: [Checkout],
        checkout check: @escaping @Sendable (Checkout) -> [Finding]
    ) {
        self.name = name
        self.planted = planted
        self.clean = clean
        self.check = check
    }

    /// A rule that looks at one file at a time.
    init(
        _ name: String, planted: [SourceFile], clean: [SourceFile],
        file check: @escaping @Sendable (SourceFile) -> [Finding]
    ) {
        self.init(
            name, planted: planted.map { Checkout([$0]) }, clean: clean.map { Checkout([$0]) },
            checkout: { $0.files.flatMap(check) })
    }

    static let all: [Rule] =
        sizeRules + importRules + purityRules + wordingRules + commentRules + layoutRules
        + pluginRules + boundRules + namingRules
}
