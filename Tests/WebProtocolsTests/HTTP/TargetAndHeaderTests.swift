// Targets taken apart, and headers found.

import Testing
import WebProtocols

@Suite struct TargetAndHeaderTests {
    @Test(
        arguments: [
            ("/", []), ("/?", []), ("/?a=1&b=2", ["a=1", "b=2"]), ("/?a", ["a="]), ("/?a=", ["a="]),
            ("/?a=b=c", ["a=b=c"]), ("/?a+b=c%20d+e", ["a b=c d e"]), ("/?%26=%3D", ["&=="]),
            ("/?&&a=1&", ["a=1"]), ("/?a=%2B", ["a=+"]), ("/?a=?", ["a=?"]),
        ] as [(String, [String])])
    func splitsQueriesIntoDecodedPairs(_ target: String, _ pairs: [String]) throws {
        #expect(try HTTPTarget(target).query.map { "\($0.name)=\($0.value)" } == pairs)
    }

    @Test func findsTheFirstValueOfAQueryName() throws {
        let target = try HTTPTarget("/calls?limit=5&state=ended&limit=6")
        #expect(target.query("limit") == "5" && target.query("state") == "ended")
        #expect(target.query("cursor") == nil)
    }

    @Test(arguments: ["", "a", "a/b", "/ ", "/\n", "/#"])
    func refusesTargets(_ text: String) {
        #expect(throws: HTTPError.badTarget) { try HTTPTarget(text) }
    }

    @Test func findsHeadersWhateverTheirCase() {
        var headers: HTTPHeaders = ["Connection": "keep-alive", "X-List": "a, ,b\t, C "]
        headers.append("connection", "Upgrade")
        #expect(headers["CONNECTION"] == "keep-alive")
        #expect(headers.all("Connection") == ["keep-alive", "Upgrade"])
        #expect(headers.elements("x-list") == ["a", "b", "C"])
        #expect(headers.list("connection", contains: "upgrade"))
        #expect(headers.list("x-list", contains: "c"))
        #expect(!headers.list("x-list", contains: "ab"))
    }

    @Test(
        arguments: [
            (#""a""#, true), (#"W/"a""#, true), (#""b", "a""#, true), (#""b",W/"a""#, true),
            ("*", true), ("", false), (#""A""#, false), ("a", false), (#"w/"a""#, false),
        ])
    func knowsWhatABrowserHas(_ tags: String, _ isThere: Bool) {
        let headers: HTTPHeaders = ["If-None-Match": tags]
        #expect(headers.hasAlready(tag: #""a""#) == isThere)
        #expect(!HTTPHeaders().hasAlready(tag: #""a""#))
    }
}
