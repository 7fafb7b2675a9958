// Reads a kept generation without opening the store, whether a process uses it or not.

import CallModel
import StoreContract

/// The generations that a state directory keeps, for tools.
public enum KeptGenerations {
    /// The generation `name` with its sources; nil when it is not kept.
    ///
    /// - Parameter directory: the state directory, which nobody claims by this.
    public static func read(
        _ name: String, in directory: String
    ) throws(StoreError) -> StoredGeneration? {
        let connection = try Opening.reader(
            at: StateDirectory.database(in: directory), StoreOptions())
        return try GenerationTable(connection: connection).generation(named: name)
    }

    /// The kept generations, last activated first.
    public static func marks(in directory: String) throws(StoreError) -> [GenerationMark] {
        let connection = try Opening.reader(
            at: StateDirectory.database(in: directory), StoreOptions())
        return try GenerationTable(connection: connection).marks()
    }
}
