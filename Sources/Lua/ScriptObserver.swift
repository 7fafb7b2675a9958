// Whoever looks on while scripts run.

/// Is told of Lua states before anything runs in them, such as a debugger.
open class ScriptObserver: @unchecked Sendable {
    /// Sees nothing.
    public init() {}

    /// A Lua state of `plugin` was made; `title` says what a reference to a function stands for.
    open func begin(
        _ vm: OpaquePointer, of plugin: String, title: @escaping (Int32) -> String?
    ) {}

    /// The Lua state is about to go.
    open func end(_ vm: OpaquePointer) {}
}

extension ScriptObserver: Equatable {
    /// Whether both are the same object.
    public static func == (one: ScriptObserver, other: ScriptObserver) -> Bool { one === other }
}
