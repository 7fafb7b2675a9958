// A process that writes to a store: to be killed by the crash test, and to be timed.
//
//     StorageRig write DIRECTORY SEED    commits until it is killed, a line per acknowledged batch
//     StorageRig rate [SECONDS]          prints rows per second for batches of 1, 10, 100, 1000
//     StorageRig start CALLS KEYS        prints how long a start with so many of each takes
//     StorageRig fill DIRECTORY CALLS KEYS    leaves such a store for a server to start with

import CallModel
import Glibc

let arguments = CommandLine.arguments
switch arguments.dropFirst().first {
case "write" where arguments.count == 4:
    var writer = try Writer(directory: arguments[2], seed: UInt64(arguments[3]) ?? 0)
    try writer.run()
case "rate": try Rate(seconds: arguments.count > 2 ? Double(arguments[2]) ?? 1 : 1).run()
case "start" where arguments.count == 4:
    try Start(calls: Int(arguments[2]) ?? 0, keys: Int(arguments[3]) ?? 0).run()
case "fill" where arguments.count == 5:
    try Start(calls: Int(arguments[3]) ?? 0, keys: Int(arguments[4]) ?? 0).fill(arguments[2])
default:
    print(
        "usage: StorageRig write DIRECTORY SEED | rate [SECONDS] | start CALLS KEYS",
        "| fill DIRECTORY CALLS KEYS")
    exit(2)
}
