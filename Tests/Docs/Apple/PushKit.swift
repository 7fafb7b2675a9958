// The part of Apple's PushKit that the page names, so that its code can be compiled on Linux.

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Foundation

public struct PKPushType: Hashable, Sendable {
    public static let voIP = PKPushType()
}

public final class PKPushPayload: NSObject {
    public let dictionaryPayload: [AnyHashable: Any] = [:]
}

public final class PKPushCredentials: NSObject {
    public let token = Data()
}

public protocol PKPushRegistryDelegate: AnyObject {
    func pushRegistry(
        _ registry: PKPushRegistry, didUpdate credentials: PKPushCredentials, for type: PKPushType)
    func pushRegistry(
        _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload,
        for type: PKPushType, completion: @escaping () -> Void)
}

public final class PKPushRegistry: NSObject {
    public weak var delegate: (any PKPushRegistryDelegate)?
    public var desiredPushTypes: Set<PKPushType>?
    public init(queue: DispatchQueue?) {}
}
