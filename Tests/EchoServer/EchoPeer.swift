// One connection of the echo server: first HTTP, then frames.

import EventLoop
import WebProtocols

/// Answers the upgrade, then every message and ping with the same bytes.
final class EchoPeer: ConnectionHandler {
    /// A peer that does not read its echoes is not read from either.
    private static let unsentLimit = 1 << 20

    private enum Phase {
        case http
        case frames
        case closed
    }

    private var phase = Phase.http
    private var parser = HTTPRequestParser()
    private var decoder = FrameDecoder(role: .server, maximumMessage: 16 << 20)
    private var output: [UInt8] = []

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        if phase == .http { upgrade(connection, &rest) }
        if phase == .frames { echo(connection, rest) }
        connection.send(output)
        output.removeAll(keepingCapacity: true)
        if phase == .closed {
            connection.close()
        } else if connection.unsentBytes > Self.unsentLimit {
            connection.pauseReading()
            connection.notifyWhenDrained()
        }
    }

    func connectionDrained(_ connection: Connection) { connection.resumeReading() }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) {}

    private func upgrade(_ connection: Connection, _ input: inout UnsafeRawBufferPointer) {
        do throws(HTTPError) {
            switch try parser.next(&input) {
            case nil: break
            case .continueWanted: HTTPResponse.writeContinue(to: &output)
            case .request(let request):
                try WebSocketAcceptance(of: request, subprotocols: []).response.write(to: &output)
                phase = .frames
            }
        } catch {
            error.response.write(to: &output)
            phase = .closed
        }
    }

    private func echo(_ connection: Connection, _ bytes: UnsafeRawBufferPointer) {
        // The loop fills its buffer anew each time, so the decoder may take the mask off in place.
        var input = UnsafeMutableRawBufferPointer(mutating: bytes)
        do throws(WebSocketError) {
            while phase == .frames, let event = try decoder.next(&input) { answer(event) }
        } catch {
            FrameEncoder.appendClose(error.closeCode, reason: error.description, to: &output)
            phase = .closed
        }
    }

    private func answer(_ event: WebSocketEvent) {
        switch event {
        case .text(let payload): FrameEncoder.append(.text, payload, to: &output)
        case .binary(let payload): FrameEncoder.append(.binary, payload, to: &output)
        case .ping(let payload): FrameEncoder.append(.pong, payload, to: &output)
        case .pong: break
        case .close(let code, _):
            FrameEncoder.appendClose(code, to: &output)
            phase = .closed
        }
    }
}
