// The site of the documentation: what an address names, and how much is read at once.

import CallClient
import EventLoop
import Glibc
import TestSupport
import Testing
import WebProtocols

@testable import AgentServer

@Suite struct SiteFolderTests {
    private let place = TemporaryFolder()

    @Test func anAddressNamesNothingOutside() {
        #expect(SiteFolder.names(in: "/js/index.js") == ["js", "index.js"])
        #expect(SiteFolder.names(in: "//a///b/") == ["a", "b"])
        #expect(SiteFolder.names(in: "/%3D%3D(_:_:).json") == ["==(_:_:).json"])
        #expect(SiteFolder.names(in: "") == [])
        for rest in ["/..", "/a/../b", "/%2e%2e/b", "/a%2fb", "/.a", "/%2E", "/%00", "/%", "/%ff"] {
            #expect(SiteFolder.names(in: rest[...]) == nil, "\(rest)")
        }
    }

    @Test func onlyPlainFilesAreRead() {
        let folder = SiteFolder(path: place.path)
        place.write("page", to: "index.html")
        place.write("outside", to: "secret")
        mkdir("\(place.path)/a", 0o755)
        symlink("../secret", "\(place.path)/a/link")
        symlink("..", "\(place.path)/up")
        mkfifo("\(place.path)/pipe", 0o600)
        guard case .file(let bytes, let type, let tag) = folder.read(["index.html"], known: [])
        else {
            Issue.record("the page is not found")
            return
        }
        #expect(bytes == Array("page".utf8) && type.hasPrefix("text/html"))
        #expect(folder.read(["index.html"], known: ["\"x\"", tag]) == .known(tag: tag))
        #expect(folder.read([], known: [tag]) == .known(tag: tag), "the folder's page")
        let wrong = [
            ["a", "link"], ["up", "secret"], ["pipe"], ["a"], ["index.html", "x"], ["b"],
        ]
        for names in wrong {
            #expect(folder.read(names, known: []) == .nothing, "\(names)")
        }
        #expect(SiteFolder(path: "\(place.path)/gone").read(["a"], known: []) == .nothing)
        #expect(truncate("\(place.path)/secret", SiteFolder.fileMax + 1) == 0)
        #expect(folder.read(["secret"], known: []) == .tooLong)
    }
}

@Suite struct SiteDeskTests {
    private func request(_ path: String) throws -> HTTPRequest {
        HTTPRequest(.get, try HTTPTarget(path))
    }

    @Test func noMoreIsReadAtOnceThanThereIsRoomFor() throws {
        let (place, waiter) = (TemporaryFolder(), try LoopWaiter())
        defer { waiter.close() }
        var unread = 0
        let desk = try SiteDesk(
            SiteFolder(path: place.path), on: waiter.loop, unread: { unread })
        defer { desk.close() }
        var answers: [UInt16] = []
        let asks = { (count: Int) in
            for _ in 0..<count {
                desk.answer(try request("/help/site/a")) { answers.append($0.status.rawValue) }
            }
        }
        // Answers come in a turn of the loop, which stands still here.
        let room = SiteDesk.readsMax + SiteDesk.waitingMax
        try asks(room + 2)
        #expect(answers == [503, 503])
        try waiter.wait(for: "what is read") { answers.count == room + 2 }
        #expect(answers.dropFirst(2).allSatisfy { $0 == 404 })
        // What waits when browsers read no more is not read for them.
        answers = []
        try asks(SiteDesk.readsMax + 3)
        unread = SiteDesk.unreadMax + 1
        try waiter.wait(for: "the rest") { answers.count == SiteDesk.readsMax + 3 }
        #expect(answers.filter { $0 == 404 }.count == SiteDesk.readsMax)
        #expect(answers.filter { $0 == 503 }.count == 3)
        try asks(1)
        #expect(answers.last == 503)
    }

    @Test func whatIsBelowItIsItsOwn() {
        #expect(SiteDesk.serves("/help/site") && SiteDesk.serves("/help/site/x"))
        #expect(!SiteDesk.serves("/help/sites") && !SiteDesk.serves("/help"))
    }
}

@Suite struct HelpLinkTests {
    @Test func aLinkOfTheSourcesLeadsToWhereItsPageIs() {
        let page = HelpPage.document(
            """
            # A

            See [x & y](../../CallCore/CallCore.docc/Rules.md),
            [b](../../Storage/Storage.docc/Storage.md), [c](Pushes.md),
            [d](https://d.example/), `[e](E.md)` and a[0](x). Or <doc:Pushes>, <doc:None>.
            """, among: [(name: "Pushes", title: "Waking <phones>")])
        #expect(page.contains("<a href=\"/help/site/documentation/callcore/rules\">x &amp; y</a>"))
        #expect(page.contains("<a href=\"/help/site/documentation/storage\">b</a>"))
        #expect(page.contains("<a href=\"/help/Pushes\">c</a>, d, <code>[e](E.md)</code> and a0."))
        #expect(page.contains("Or <a href=\"/help/Pushes\">Waking &lt;phones&gt;</a>, None."))
        #expect(page.contains("\n<a href=\"/help/Pushes\">Waking &lt;phones&gt;</a>\n"))
    }
}
