// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "apple-phone",
    dependencies: [.package(name: "callagent", path: "../..")],
    targets: [
        .executableTarget(
            name: "apple-phone",
            dependencies: [.product(name: "CallClientCore", package: "callagent")],
            path: "Sources")
    ])
