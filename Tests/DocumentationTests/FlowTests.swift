// The flows of other products, word for word: what their pages show is what everybody sees.

import CallModel
import CallSimulator
import Foundation
import Testing

@Suite struct FlowTests {
    /// A page and its scenario, which all rigs play.
    static let flows = [
        ("ComingFromZIM", "coming-from-zim"),
        ("ComingFromTheDemo", "coming-from-the-zegocloud-demo"),
        ("ComingFromCometChat", "coming-from-cometchat"),
        ("ComingFromSendbird", "coming-from-sendbird"),
        ("ComingFromAgora", "coming-from-agora"),
    ]

    @Test(arguments: flows) func thePiecesOfAPageAreItsScenario(
        _ name: String, _ scenario: String
    ) throws {
        let page = try Page("CallCore", name)
        let file = try Page("Tests/CallCoreTests/Scenarios/\(scenario).call")
        let shown = Self.pieces(of: page.text)
        #expect(shown.count > 2 && page.text.contains("`\(scenario).call`"))
        let text = file.text.split(separator: "\n", omittingEmptySubsequences: false)
            .drop { $0.hasPrefix("#") }.joined(separator: "\n")
        #expect(shown.joined() == text)
    }

    /// A table stands beside each piece but where both use the same words.
    @Test(arguments: flows) func everyRowGoesToAWordOfOurs(
        _ name: String, _ scenario: String
    ) throws {
        let known = Set(OperationName.allCases.map(\.rawValue) + EventName.allCases.map(\.rawValue))
        let rows = try Page("CallCore", name).text.split(separator: "\n")
            .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| there") }
        #expect(rows.count > 6)
        for word in rows.joined().split(separator: "`") where word.hasPrefix("call.") {
            #expect(known.contains(String(word)), "\(name): \(word)")
        }
    }

    /// The blocks under `<!-- scenario -->`, in order.
    private static func pieces(of text: String) -> [String] {
        text.components(separatedBy: "<!-- scenario -->\n```\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
    }
}
