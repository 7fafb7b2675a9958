// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target is built in the Swift 6 language mode with warnings as errors.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// For objects that one thread owns: the checks at run time that no two accesses to a property
/// overlap stay in debug builds, where all tests run. They cost a tenth of a request.
let confined: [SwiftSetting] = [
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))
]

/// A library target of the house: `Sources/NAME`, depending only downwards.
func house(
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
        .executable(name: "callagent", targets: ["callagent"]),
        .library(name: "CallClient", targets: ["CallClient"]),
    ],
    targets: [
        // system
        shim("CLua", links: ["lua5.4"]),
        shim("CSQLite", links: ["sqlite3"]),
        shim("CUV", links: ["uv"]),
        shim("COpenSSL", links: ["ssl", "crypto"]),
        shim("CCurl", links: ["curl"]),
        // core
        house("CallModel"),
        house("Bookkeeping", ["CallModel"]),
        house("CallCore", ["CallModel", "Bookkeeping"]),
        // wire
        house("JSON"),
        house("WebProtocols"),
        house("CallWire", ["CallModel", "JSON"]),
        // adapter
        house("EventLoop", ["CUV", "COpenSSL"]),
        house("Storage", ["CallModel", "JSON", "CSQLite"], and: confined),
        house("PolicyHost", ["CallModel", "JSON", "CLua"], and: confined),
        house("Outbound", ["JSON", "CCurl", "COpenSSL"]),
        // shell
        house(
            "AgentServer",
            [
                "CallModel", "CallCore", "JSON", "WebProtocols", "CallWire", "EventLoop",
                "Storage", "PolicyHost", "Outbound",
            ], and: confined),
        // tool
        house("CallSimulator", ["CallModel", "CallCore", "CallWire", "JSON", "PolicyHost"]),
        // product
        house("CallClient", ["CallModel", "CallWire", "JSON", "WebProtocols", "EventLoop"]),
        .executableTarget(
            name: "callagent",
            dependencies: ["AgentServer", "CallSimulator", "CallClient"],
            swiftSettings: strict),
        // tests
        tests("JSONTests", ["JSON"]),
        tests("WebProtocolsTests", ["WebProtocols"]),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "JSON", "WebProtocols", "CallWire", "CallModel", "CallCore", "Outbound",
                "PolicyHost", "Storage",
            ],
            path: "Tests/Fuzz", swiftSettings: strict),
        .target(
            name: "TestCertificates", dependencies: ["EventLoop", "COpenSSL"],
            path: "Tests/TestCertificates", swiftSettings: strict),
        tests("EventLoopTests", ["EventLoop", "COpenSSL", "TestCertificates"]),
        tests(
            "CallCoreTests", ["CallModel", "Bookkeeping", "CallCore", "CallSimulator"],
            exclude: ["Scenarios"]),
        tests("SimulationTests", ["CallSimulator", "CallModel", "CallCore"]),
        tests("CallWireTests", ["CallWire", "CallModel", "CallCore", "JSON"]),
        program("StorageRig", at: "Tests/StorageRig", ["Storage", "CallModel", "CallCore"]),
        tests("StorageTests", ["Storage", "CallModel", "CallCore", "JSON", "StorageRig"]),
        tests(
            "PolicyHostTests", ["PolicyHost", "CallModel", "CallCore", "JSON", "CLua"],
            exclude: ["Hostile", "Scripts"]),
        program(
            "policy-benchmark", at: "Tests/Benchmarks/Host",
            ["PolicyHost", "CallModel", "EventLoop"]),
        program("core-benchmark", at: "Tests/Benchmarks/Core", ["CallModel", "CallCore"]),
        tests("OutboundTests", ["Outbound", "JSON"]),
        tests(
            "AgentServerTests",
            [
                "AgentServer", "CallClient", "CallModel", "CallCore", "CallWire", "EventLoop",
                "JSON", "PolicyHost", "Storage", "TestCertificates", "WebProtocols",
            ]),
        tests(
            "CallClientTests",
            [
                "CallClient", "AgentServer", "CallModel", "CallCore", "callagent",
                "TestCertificates",
            ]),
        tests(
            "ConformanceTests",
            [
                "AgentServer", "CallClient", "CallCore", "CallModel", "CallSimulator", "CallWire",
                "EventLoop", "JSON", "Storage", "TestCertificates",
            ]),
        tests("TidyTests", []),
        tests(
            "DocumentationTests",
            [
                "CallModel", "CallCore", "CallWire", "JSON", "WebProtocols", "EventLoop",
                "PolicyHost",
                "AgentServer",
            ]),
        program("echo-server", at: "Tests/EchoServer", ["WebProtocols", "EventLoop"]),
    ],
    swiftLanguageModes: [.v6]
)
