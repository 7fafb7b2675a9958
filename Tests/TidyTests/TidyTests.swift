// Holds the checkout against every rule, and every rule against its planted breach.

import Testing

@Suite struct TidyTests {
    @Test(arguments: Rule.all)
    func theCheckoutKeeps(_ rule: Rule) {
        for finding in rule.check(.real) {
            Issue.record("\(rule.name): \(finding)")
        }
    }

    @Test(arguments: Rule.all)
    func aPlantedBreachIsFound(_ rule: Rule) {
        #expect(!rule.planted.isEmpty)
        for (index, planted) in rule.planted.enumerated() {
            #expect(!rule.check(planted).isEmpty, "planted breach \(index) was not found")
        }
    }

    @Test(arguments: Rule.all)
    func aCleanTwinPasses(_ rule: Rule) {
        #expect(!rule.clean.isEmpty)
        for (index, clean) in rule.clean.enumerated() {
            let findings = rule.check(clean)
            #expect(findings.isEmpty, "clean twin \(index)")
        }
    }

    @Test func theCheckoutIsReallyRead() {
        #expect(Checkout.real.holds("Package.swift"))
        #expect(Checkout.real.holds("Tests/TidyTests/TidyTests.swift"))
        #expect(Checkout.real.files(in: .swift).contains { $0.code.tokens.count > 1_000 })
    }
}

@Suite struct CodeTextTests {
    private func tokens(_ text: String) -> [String] {
        CodeText(text, characterLiterals: false).tokens.map { String($0.text) }
    }

    @Test func stringsAndInterpolationsAreOneToken() {
        #expect(tokens(#"f("a \(b(")")) c", d)"#) == ["f", "(", "\"", ",", "d", ")"])
        #expect(tokens(##"f(#"a " \n "#)"##) == ["f", "(", "\"", ")"])
        #expect(tokens("f(\"\"\"\n  \"a\" // b\n  \"\"\")") == ["f", "(", "\"", ")"])
        #expect(tokens(#"f("a\\", b)"#) == ["f", "(", "\"", ",", "b", ")"])
    }

    @Test func linesAreCountedThroughStringsAndComments() {
        let text = "/* a\n/* b */\n*/ c\nlet d = \"\"\"\n  e\n  \"\"\"\nf"
        let code = CodeText(text, characterLiterals: false)
        #expect(code.tokens.first.map { "\($0.text) \($0.line)" } == "c 3")
        #expect(code.tokens.last.map { "\($0.text) \($0.line)" } == "f 7")
    }

    @Test func aQuoteInACharacterOfCIsNoString() {
        let code = CodeText("a('\"', '\\'') + b", characterLiterals: true)
        #expect(code.tokens.map(\.text) == ["a", "(", "'", ",", "'", ")", "+", "b"])
    }
}
