// The files that a deployment was read from, and digests of their content.

import Configuration
import JSON
import Outbound
import StoreContract

/// The files behind a deployment, each with a digest of its content: enough to tell whether they
/// have changed since, without keeping their text.
public struct LoadedFiles: Sendable, Equatable {
    private var digests: [String: String] = [:]

    /// The values of the operator's file and the plugins as they were read, and the secrets,
    /// certificate and key that the operator's file names, as they are now.
    ///
    /// - Parameter earlier: what was read of these before: where one has it, nothing is read again,
    ///   and the first one counts.
    init(
        _ files: StoredGeneration, _ configuration: Configuration,
        asRead earlier: [LoadedFiles] = []
    ) {
        for file in files.files { add(file.path, file.source) }
        add(Deployment.configurationPath, Array(configuration.valuesInForce.utf8))
        let tls = configuration.tls.map { [$0.certificate, $0.key] } ?? []
        for path in configuration.secretFiles + tls {
            let known = earlier.lazy.compactMap { $0.digests[path] }.first
            if let known {
                digests[path] = known
                continue
            }
            add(path, Files.read(AgentOptions.path(path, in: configuration)))
        }
    }

    /// The files that a process says it has in force; nil: it does not say.
    public init?(_ json: JSONValue) {
        guard let files = json["files"]?.object else { return nil }
        for file in files.members { digests[file.key] = file.value.string }
    }

    private mutating func add(_ path: String, _ text: [UInt8]?) {
        digests[path] = HashFunction.sha256.hash(text ?? []).prefix(8).hexDigits
    }

    /// The names of files that only one of the two has, or that differ.
    public func difference(from other: LoadedFiles) -> [String] {
        Set(digests.keys).union(other.digests.keys)
            .filter { digests[$0] != other.digests[$0] }.sorted()
    }

    /// `files`: the digest of each by its name.
    var json: JSONValue {
        [
            "files": .object(
                JSONObject(
                    digests.sorted { $0.key < $1.key }
                        .map { .init(key: $0.key, value: .string($0.value)) }))
        ]
    }
}
