// The part of Apple's CallKit that the page names, so that its code can be compiled on Linux.

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Foundation

public class CXCallAction: NSObject, @unchecked Sendable {
    public let uuid = UUID()
    public let callUUID = UUID()
    public func fulfill() {}
    public func fail() {}
}

public final class CXAnswerCallAction: CXCallAction, @unchecked Sendable {}
public final class CXEndCallAction: CXCallAction, @unchecked Sendable {}

public final class CXCallUpdate: NSObject {
    public var localizedCallerName: String?
    public var hasVideo = false
    public override init() {}
}

public final class CXProviderConfiguration: NSObject {
    public override init() {}
}

public enum CXCallEndedReason: Int {
    case failed = 1
}

public protocol CXProviderDelegate: AnyObject {
    func providerDidReset(_ provider: CXProvider)
    func provider(_ provider: CXProvider, perform action: CXAnswerCallAction)
    func provider(_ provider: CXProvider, perform action: CXEndCallAction)
}

public final class CXProvider: NSObject {
    public init(configuration: CXProviderConfiguration) {}
    public func setDelegate(_ delegate: (any CXProviderDelegate)?, queue: DispatchQueue?) {}
    public func reportNewIncomingCall(
        with uuid: UUID, update: CXCallUpdate, completion: @escaping ((any Error)?) -> Void
    ) {}
    public func reportCall(with uuid: UUID, endedAt: Date?, reason: CXCallEndedReason) {}
}
