// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "swift-app",
    dependencies: [.package(name: "callagent", path: "../..")],
    targets: [
        .executableTarget(
            name: "swift-app",
            dependencies: [.product(name: "CallClient", package: "callagent")],
            path: "Sources")
    ])
