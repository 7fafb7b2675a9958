// Calls somebody: `swift run swift-app alice support [ws://127.0.0.1:7600]`.

import CallClient
import CallClientCore
import CallModel
import Foundation

let words = CommandLine.arguments
guard (3...4).contains(words.count), let caller = UserID(checking: words[1]),
    let callee = UserID(checking: words[2])
else {
    print("usage: swift-app CALLER CALLEE [SERVER]")
    exit(2)
}
let server = try ServerAddress(parsing: words.count == 4 ? words[3] : "ws://127.0.0.1:7600")
try OutgoingCall(from: caller, to: callee, at: server).run()
