// The limits of the server as the operator's file names them.

import AgentCore
import CallModel
import CallWire
import Configuration
import WebProtocols

extension ServerLimits {
    /// The operator's limits, bounded by the files that the process may open. Some are kept for the
    /// server itself: else a server full of clients could not even be asked what is wrong.
    init(ofProcess configuration: Configuration) {
        self.init(configuration)
        connections = min(connections, DescriptorLimit.connections ?? connections)
    }

    /// The operator's limits.
    init(_ configuration: Configuration) {
        self.init()
        let limits = configuration.limits
        unsentBytes = limits.unsent
        unsentAnswerBytes = limits.unsentAnswers
        messagesPerTurn = limits.turnMessages
        (strangersTurn, newcomersPerTurn) = (limits.turnStrangers, limits.turnNewcomers)
        (requestsPerSecond, pagePart) = (limits.requestsPerSecond, limits.pagePart)
        invitationsPerMinute = limits.invitationsPerMinute
        callsPerUser = limits.callsPerUser
        names = limits.names
        namesForEverybody = configuration.namesFor == .everybody
        bytesPerSecondMax = limits.maxRate
        requestsUnderWay = limits.requestsUnderWay
        refusalsAtOnce = limits.refusalsAtOnce
        connections = limits.connections
        connectionsPerAddress = limits.connectionsPerAddress
        (newcomers, newcomersPerAddress) = (limits.newcomers, limits.newcomersPerAddress)
        unsentBytesPerUser = limits.unsentPerUser
        connectionsPerUser = limits.connectionsPerUser
        devicesPerUser = configuration.devicesPerUser
        acceptsPerSecond = limits.acceptsPerSecond
        authFailures = limits.authFailures
        authDelay = limits.authDelay
        (handshakeWithin, handshakes) = (limits.tlsTime, limits.tlsHandshakes)
        requestWithin = limits.requestTime
        messageWithin = limits.messageTime
        bytesPerSecondMin = limits.minRate
        rateWindow = limits.minRateTime
        (strangersBytes, strangersSendBuffer) = (limits.strangers, limits.strangersBuffer)
        idleMax = limits.idleTime
        tokenLeeway = limits.tokenLeeway
        tokenLifetime = limits.tokenLifetime
        (drainWithin, drainNotice) = (limits.drain, limits.drainNotice)
        (policyBacklog, reportsPerCause) = (limits.policyBacklog, limits.reportsPerCause)
        (commitWithin, heldBytes) = (limits.commitTime, limits.commitBacklog)
        wire.messageBytes = limits.message
        http.body = limits.message
        wire.extendedDataBytes = limits.extendedData
        wire.signalBytes = limits.signal
        wire.keys = limits.keysPerUser
        wire.items = limits.items
        session.helloWithin = limits.helloTime
        (session.pingInterval, session.silenceMax) = (limits.ping, limits.silence)
        session.resumeWindow = limits.resumeTime
        (session.heldEvents, session.heldBytes) = (limits.resumeEvents, limits.resumeBytes)
    }
}
