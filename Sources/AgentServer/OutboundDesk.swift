// Everything that leaves the house, as the loop sees it: who asked for what, and who is told.

import EventLoop
import Glibc
import Outbound

/// The loop's counterpart of the outbound thread. Owner: the loop's thread.
final class OutboundDesk {
    /// What plugins fetch.
    let fetches: PluginFetches
    private let thread: OutboundThread

    /// Starts the thread.
    ///
    /// - Throws: `system` or `refused` when the system gives no thread or descriptors.
    init(loop: EventLoop) throws(AgentError) {
        let box = Box()
        let service: OutboundService
        do throws(HTTPFailure) {
            service = try OutboundService(Self.settings)
        } catch {
            throw .refused("\(error)")
        }
        do throws(EventLoopError) {
            let news = try Mailbox<OutboundService.News>(on: loop) { batch in
                for item in batch { box.desk?.receive(item) }
            }
            thread = try OutboundThread(service, news: news)
        } catch {
            throw .system(error)
        }
        fetches = PluginFetches(thread)
        box.desk = self
        loop.atEndOfTurn { [unowned thread] in thread.flush() }
    }

    /// Ends the thread.
    func close() { thread.close() }

    /// A file of certificates to trust instead of the system's, by the name that OpenSSL uses too.
    private static var settings: OutboundService.Settings {
        var settings = OutboundService.Settings()
        settings.http.trustFile = getenv("SSL_CERT_FILE").map { String(cString: $0) }
        return settings
    }

    private func receive(_ news: OutboundService.News) {
        switch news {
        case .response(let number, let result): fetches.ended(number, result)
        case .push, .webhook: break
        }
    }

    /// The mailbox is made before the desk.
    private final class Box {
        weak var desk: OutboundDesk?
    }
}
