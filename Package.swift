// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target is built in the Swift 6 language mode with warnings as errors.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Inlined into other modules in release builds: a request passes through all of these.
let inlined: [SwiftSetting] = [
    .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release))
]

/// For objects that one thread owns: the checks at run time that no two accesses to a property
/// overlap stay in debug builds, where all tests run. They cost a tenth of a request.
let confined: [SwiftSetting] = [
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))
]

/// Debug builds can plant bugs in the server, so that the simulator shows that it finds them.
let withFaults: [SwiftSetting] = [.define("PLANTED_FAULTS", .when(configuration: .debug))]

/// A library target: `Sources/NAME`, depending only downwards.
func module(
    _ name: String, _ dependencies: [Target.Dependency] = [], and more: [SwiftSetting] = []
) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict + more)
}

/// A C shim over one Debian library, for what Swift cannot call: macros, variadics, `longjmp`.
func shim(_ name: String, links libraries: [String]) -> Target {
    .target(name: name, linkerSettings: libraries.map { .linkedLibrary($0) })
}

/// A test target: `Tests/NAME`.
func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

/// A program that only the checks use.
func program(_ name: String, at path: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: path, swiftSettings: strict)
}

let package = Package(
    name: "callagent",
    products: [
        // A module of Swift that depends on the pages is compiled again when one changes; the
        // product is only linked.
        .executable(name: "callagent", targets: ["callagent", "CWebFiles"]),
        // With the modules whose types an app sees.
        .library(
            name: "CallClient",
            targets: [
                "CallClient", "CallClientCore", "CallModel", "CallWire", "EventLoop", "JSON",
            ]),
        // The same for apps that bring their own WebSocket: it needs no library of the system.
        .library(
            name: "CallClientCore",
            targets: ["CallClientCore", "CallModel", "CallWire", "JSON", "WebProtocols"]),
    ],
    targets: [
        // system
        shim("CLua", links: ["lua5.4"]),
        shim("CSQLite", links: ["sqlite3"]),
        shim("CUV", links: ["uv"]),
        shim("COpenSSL", links: ["ssl", "crypto"]),
        shim("CCurl", links: ["curl"]),
        // Loads its library when it is first needed.
        shim("CPostgres", links: []),
        .target(
            name: "CJemalloc",
            linkerSettings: [.linkedLibrary("jemalloc", .when(configuration: .release))]),
        .target(name: "CWebTables"),
        .target(
            name: "CWebFiles", dependencies: ["CWebTables"], exclude: ["console", "phone"]),
        // core
        module("CallModel", and: inlined),
        module("Collections", and: inlined),
        module("CallCore", ["CallModel", "Collections"], and: inlined),
        module("StoreContract", ["CallModel"], and: inlined),
        // wire
        module("JSON", and: inlined),
        module("WebProtocols", and: inlined),
        module("CallWire", ["CallModel", "JSON"], and: inlined),
        // server
        module(
            "AgentCore",
            [
                "CallModel", "Collections", "CallCore", "StoreContract", "JSON", "WebProtocols",
                "CallWire",
            ],
            and: confined + inlined + withFaults),
        module(
            "ClusterCore", ["CallModel", "StoreContract"], and: confined + inlined + withFaults),
        // adapter
        module("EventLoop", ["CUV", "COpenSSL"], and: confined + inlined),
        module(
            "Storage", ["CallModel", "Collections", "StoreContract", "JSON", "CSQLite"],
            and: confined + inlined),
        module("LuaSource", and: inlined),
        module(
            "ClusterStorage",
            ["CallModel", "StoreContract", "JSON", "ClusterCore", "Storage", "CPostgres"],
            and: confined + inlined),
        module("Lua", ["CallModel", "JSON", "CLua"], and: confined + inlined),
        module(
            "Configuration", ["CallModel", "JSON", "Lua", "CLua"], and: confined + inlined),
        module(
            "PolicyHost",
            [
                "CallModel", "Collections", "JSON", "WebProtocols", "Configuration", "LuaSource",
                "Lua", "CLua", "COpenSSL",
            ],
            and: confined + inlined),
        module(
            "Decisions", ["PolicyHost", "CallModel", "JSON", "Lua"], and: confined + inlined),
        module(
            "PolicyTesting",
            [
                "PolicyHost", "Configuration", "CallModel", "CallCore", "JSON", "Lua", "LuaSource",
                "CLua",
            ],
            and: confined),
        module(
            "LanguageServer",
            ["PolicyHost", "Configuration", "JSON", "WebProtocols", "Lua", "LuaSource"],
            and: confined),
        module(
            "Debugger", ["CallModel", "JSON", "WebProtocols", "Lua", "LuaSource", "CLua"],
            and: confined),
        module("Outbound", ["JSON", "WebProtocols", "CCurl", "COpenSSL"]),
        // shell
        module(
            "AgentServer",
            [
                "CallModel", "CallCore", "JSON", "WebProtocols", "CallWire", "AgentCore",
                "EventLoop", "StoreContract", "Storage", "ClusterCore", "ClusterStorage",
                "Configuration", "Lua", "PolicyHost", "Decisions", "PolicyTesting", "Debugger",
                "Outbound", "CWebTables",
            ], and: confined),
        // tool
        module(
            "CallSimulator",
            [
                "CallModel", "CallCore", "AgentCore", "CallWire", "JSON", "StoreContract",
                "Storage", "Configuration", "Lua", "PolicyHost", "Decisions",
            ]),
        // product
        module("CallClientCore", ["CallModel", "CallWire", "JSON", "WebProtocols"]),
        module("CallClient", ["CallClientCore", "EventLoop"]),
        .executableTarget(
            name: "callagent",
            dependencies: [
                "AgentServer", "AgentCore", "CallSimulator", "CallClient", "Configuration", "Lua",
                "Decisions", "PolicyTesting", "LanguageServer", "Debugger", "WebProtocols",
                "CJemalloc",
            ],
            swiftSettings: strict,
            // Retaining and releasing through a table of the linker costs 2 % of a request; and
            // what is installed needs no toolchain. Functions that are the same, as of generic
            // types, are linked once. Names for others that load the program are left out: nobody
            // does, and they take a megabyte.
            linkerSettings: [
                .unsafeFlags(
                    [
                        "-static-stdlib", "-Xlinker", "--icf=safe", "-Xlinker",
                        "--no-export-dynamic",
                    ], .when(configuration: .release))
            ]),
        // tests
        tests("CollectionsTests", ["Collections", "CallModel"]),
        tests("JSONTests", ["JSON"]),
        tests("WebProtocolsTests", ["WebProtocols"]),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "JSON", "WebProtocols", "CallWire", "CallModel", "CallCore", "Outbound",
                "Configuration", "Lua", "Storage", "ClusterCore",
            ],
            path: "Tests/Fuzz", swiftSettings: strict),
        .target(
            name: "TestSupport", dependencies: ["EventLoop", "COpenSSL"],
            path: "Tests/TestSupport", swiftSettings: strict),
        .target(
            name: "AgentTestSupport",
            dependencies: ["AgentServer", "CWebFiles", "CallClient", "EventLoop"],
            path: "Tests/AgentTestSupport", swiftSettings: strict),
        tests("EventLoopTests", ["EventLoop", "COpenSSL", "TestSupport"]),
        tests(
            "CallCoreTests", ["CallModel", "Collections", "CallCore", "CallSimulator"],
            exclude: ["Scenarios"]),
        tests("SimulationTests", ["CallSimulator", "AgentCore", "CallModel", "CallCore"]),
        tests("CallWireTests", ["CallWire", "CallModel", "CallCore", "JSON"]),
        tests("AgentCoreTests", ["AgentCore", "CallModel", "CallWire", "JSON", "WebProtocols"]),
        program(
            "StorageRig", at: "Tests/StorageRig",
            ["Storage", "CallModel", "CallCore", "TestSupport"]),
        tests(
            "StorageTests",
            [
                "Storage", "ClusterStorage", "ClusterCore", "CallModel", "CallCore", "JSON",
                "StorageRig", "TestSupport",
            ],
            exclude: ["Data"]),
        tests("ClusterCoreTests", ["ClusterCore", "CallModel", "StoreContract"]),
        tests("LuaTests", ["Lua"]),
        tests("ConfigurationTests", ["Configuration", "CallModel", "JSON", "Lua"]),
        .target(
            name: "PolicyTestSupport",
            dependencies: ["PolicyHost", "Configuration", "CallModel", "JSON", "Lua"],
            path: "Tests/PolicyTestSupport", swiftSettings: strict),
        tests(
            "DecisionsTests",
            ["Decisions", "PolicyHost", "CallModel", "JSON", "PolicyTestSupport"]),
        tests(
            "PolicyHostTests",
            [
                "PolicyTestSupport", "PolicyHost", "Decisions", "Configuration", "CallModel",
                "CallCore", "JSON", "Lua", "LuaSource", "CLua", "TestSupport",
            ],
            exclude: ["Hostile", "Mistaken", "Scripts"]),
        tests("LuaSourceTests", ["LuaSource"]),
        tests("LanguageServerTests", ["LanguageServer", "JSON", "PolicyHost", "WebProtocols"]),
        tests(
            "DebuggerTests",
            [
                "Debugger", "AgentServer", "CWebFiles", "Configuration", "JSON", "Lua",
                "PolicyHost", "WebProtocols",
            ]),
        tests(
            "PolicyTestingTests",
            [
                "PolicyTesting", "PolicyHost", "Configuration", "CallModel", "CallCore", "JSON",
                "Lua",
            ],
            exclude: ["Faulty"]),
        program(
            "policy-benchmark", at: "Tests/Benchmarks/Host",
            ["PolicyHost", "Configuration", "CallModel", "EventLoop", "Lua", "CJemalloc"]),
        program(
            "core-benchmark", at: "Tests/Benchmarks/Core", ["CallModel", "CallCore", "CJemalloc"]),
        tests("OutboundTests", ["Outbound", "JSON", "TestSupport"]),
        tests(
            "AgentServerTests",
            [
                "AgentServer", "AgentCore", "CallClient", "CallModel", "CallCore", "CallWire",
                "EventLoop", "AgentTestSupport", "JSON", "Configuration", "Lua", "PolicyHost",
                "ClusterCore", "ClusterStorage", "Decisions", "Storage", "TestSupport",
                "WebProtocols",
            ]),
        tests(
            "CallClientTests",
            [
                "CallClient", "CallClientCore", "AgentServer", "AgentCore", "CallModel", "CallCore",
                "Outbound", "callagent", "AgentTestSupport", "TestSupport",
            ]),
        tests(
            "ConformanceTests",
            [
                "AgentCore", "AgentServer", "CallClient", "CallClientCore", "CallCore", "CallModel",
                "CallSimulator", "CallWire", "ClusterStorage", "Configuration", "CWebFiles",
                "EventLoop", "JSON", "Storage", "StoreContract", "TestSupport",
            ]),
        tests("TidyTests", []),
        tests(
            "DocumentationTests",
            [
                "CallModel", "CallCore", "CallWire", "JSON", "WebProtocols", "EventLoop",
                "Configuration", "Lua", "PolicyHost", "PolicyTesting", "AgentServer", "AgentCore",
                "CallSimulator", "CWebFiles",
            ]),
        program("echo-server", at: "Tests/EchoServer", ["WebProtocols", "EventLoop"]),
    ],
    swiftLanguageModes: [.v6]
)

// Who runs some tests only, as a sanitizer does, need not build the others.
if let wanted = Context.environment["CALLAGENT_TESTS"]?.split(separator: " ").map(String.init) {
    package.targets.removeAll { $0.type == .test && !wanted.contains($0.name) }
}

// A target is built anew when one changes that it names. What stands further below is part of it
// too: sizes of values, and code that was inlined. So each names all that it stands on.
for target in package.targets {
    var names = target.dependencies.compactMap(name(of:))
    var place = 0
    while place < names.count {
        let below = package.targets.first { $0.name == names[place] }?.dependencies ?? []
        names += below.compactMap(name(of:)).filter { !names.contains($0) }
        place += 1
    }
    target.dependencies = names.map { .byName(name: $0) }
}

func name(of dependency: Target.Dependency) -> String? {
    guard case .byNameItem(let name, _) = dependency else { return nil }
    return name
}
