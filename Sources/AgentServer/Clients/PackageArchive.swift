// The client as an npm package: a tar archive (POSIX ustar) in gzip (RFC 1952).

/// Packs files. They are few and small, so they are stored as they are, not compressed.
enum PackageArchive {
    /// The archive of `files`, by their paths in it; the same files give the same bytes.
    static func make(of files: [(name: String, bytes: [UInt8])]) -> [UInt8] {
        var archive: [UInt8] = []
        for (name, bytes) in files {
            archive += header(name, count: bytes.count) + bytes
            archive += repeatElement(0, count: (block - bytes.count % block) % block)
        }
        archive += repeatElement(0, count: 2 * block)
        return compressed(archive)
    }

    // MARK: tar

    private static let block = 512

    private static func header(_ name: String, count: Int) -> [UInt8] {
        precondition(name.utf8.count <= 100, "the name of a file is too long for tar")
        var header = [UInt8](repeating: 0, count: block)
        func put(_ text: String, at place: Int) {
            header.replaceSubrange(place..<(place + text.utf8.count), with: text.utf8)
        }
        put(name, at: 0)
        put("0000644", at: 100)  // mode; owner and group are root
        put("0000000", at: 108)
        put("0000000", at: 116)
        put(octal(count, digits: 11), at: 124)
        put("00000000000", at: 136)  // no moment: the same files give the same bytes
        put("        ", at: 148)  // counts as blank in its own sum
        put("0", at: 156)  // a plain file
        put("ustar\u{0}00", at: 257)
        let sum = header.reduce(0) { $0 + Int($1) }
        put(octal(sum, digits: 6) + "\u{0} ", at: 148)
        return header
    }

    private static func octal(_ number: Int, digits: Int) -> String {
        let text = String(number, radix: 8)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    // MARK: gzip

    private static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
        var start = 0
        repeat {
            let end = min(start + 65_535, bytes.count)
            output.append(end == bytes.count ? 1 : 0)  // the last block; stored
            output += little(UInt16(end - start)) + little(~UInt16(end - start))
            output += bytes[start..<end]
            start = end
        } while start < bytes.count
        return output + little(checksum(bytes)) + little(UInt32(truncatingIfNeeded: bytes.count))
    }

    private static func little(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    /// CRC-32 as in RFC 1952, section 8.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        let table: [UInt32] = (0..<256).map { index in
            var entry = UInt32(index)
            for _ in 0..<8 { entry = entry & 1 == 1 ? 0xEDB8_8320 ^ (entry >> 1) : entry >> 1 }
            return entry
        }
        var sum = UInt32.max
        for byte in bytes { sum = table[Int((sum ^ UInt32(byte)) & 0xFF)] ^ (sum >> 8) }
        return ~sum
    }
}
