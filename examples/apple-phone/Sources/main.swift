// Calls somebody over URLSession: `swift run apple-phone alice bob [ws://127.0.0.1:7600/v1/ws]`.

import CallClientCore
import CallModel
import Foundation

let words = CommandLine.arguments
guard (3...4).contains(words.count), let callee = UserID(checking: words[2]),
    let url = URL(string: words.count == 4 ? words[3] : "ws://127.0.0.1:7600/v1/ws")
else {
    print("usage: apple-phone CALLER CALLEE [URL]")
    exit(2)
}
let options = ClientMachine.Options(token: "dev:\(words[1])", device: DeviceID("apple-phone"))
let client = URLSessionTransport.client(options, at: url)

/// Prints what becomes of `call`, and ends it when somebody has answered.
@MainActor
func follow(_ call: ClientCall) async {
    for await news in call.news() {
        for other in news.call.participants where other.user == callee {
            print("\(callee) is \(other.state.rawValue)")
        }
        if news.call.state == .active, !news.isLast { call.end() }
    }
    print("ended: \(call.outcome?.reason.rawValue ?? "?")")
    exit(0)
}

client.onEvent = { event in
    switch event {
    case .lost(let loss, _): print("\(loss)")
    case .stopped(let ending):
        print("stopped: \(ending)")
        exit(1)
    case .opened, .event, .unknownEvent, .tokenNeeded: break
    }
}
client.invite(Invitation(invitees: [callee])) { result in
    MainActor.assumeIsolated {
        guard case .success(let invited) = result, let call = client.calls[invited.call.id] else {
            print("not called: \(result)")
            exit(1)
        }
        Task { await follow(call) }
    }
}
client.connect()
RunLoop.main.run()
