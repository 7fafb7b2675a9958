// What may be the name of a person (K108), and what a client hears of names.

import CallModel
import CallWire
import JSON
import Testing

@Suite struct PersonNameTests {
    @Test(arguments: [
        "Ann", "Alice Smith", "Zoë Ünal-Ørsted", "山田 太郎", "עברית", "O'Neil, \"Bob\" <b>",
        String(repeating: "x", count: 64), String(repeating: "ä", count: 32),
    ])
    func theseAreNames(text: String) {
        #expect(PersonName(checking: text)?.text == text)
    }

    @Test(arguments: [
        "", String(repeating: "x", count: 65), String(repeating: "ä", count: 33),
        "Ann\nSmith", "Ann\u{0}", "\u{1B}[31mAnn", "Ann\u{7F}", "Ann\u{85}", "A\u{2028}nn",
        // Overrides, embeddings and isolates: "Ann" that reads "nnA", or turns what follows it.
        "\u{202E}nnA", "Ann\u{202A}", "Ann\u{2066}", "Ann\u{2069}",
        // Nobody would see these.
        " ", "\u{200B}\u{2060}", "\u{3000}", "\u{2800}", "\u{2800} \u{2800}",
    ])
    func theseAreNot(text: String) {
        #expect(PersonName(checking: text) == nil)
    }

    @Test func aClientHearsTheNamesOfACall() throws {
        var link = ServerLink(device: "phone")
        _ = link.connected(token: "dev:bob")
        let welcome = """
            {"re":1,"ok":{"user":"bob","device":"phone","session":"\(Self.hex)","resumed":false,
            "server_time_at":1,"ping_interval_ms":1,"resume_window_ms":1,"limits":{},"server":"x",
            "calls":[{"participants":[{"user":"ann","name":"Ann Smith"},
            {"user":"bob","name":null},{"user":"mallory","name":"\\u202Eyllaer"}]}]}}
            """
        _ = link.receive(Array(welcome.utf8))
        #expect(link.names["ann"] == "Ann Smith")
        #expect(link.names["bob"] == nil && link.names["mallory"] == nil)
        _ = link.receive(Array(#"{"re":9,"ok":{"users":[{"user":"ann","name":null}]}}"#.utf8))
        #expect(link.names["ann"] == nil)
    }

    @Test func aClientKeepsNoMoreNamesThanItHasRoomFor() throws {
        let decoder = ServerMessageDecoder()
        var names = LearnedNames(limit: 2)
        for user in ["ann", "bob", "cat"] {
            let text = #"{"re":1,"ok":{"users":[{"user":"\#(user)","name":"N \#(user)"}]}}"#
            _ = try decoder.message(Array(text.utf8), hearing: &names)
        }
        #expect(names["cat"] == "N cat" && names["ann"] == nil && names["bob"] == nil)
    }

    private static let hex = String(repeating: "a", count: 32)
}
