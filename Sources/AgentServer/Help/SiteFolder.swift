// The site of the documentation on disk.

import Glibc
import WebProtocols

/// A folder of files for browsers, as `examples/site.sh` makes it.
struct SiteFolder: Sendable, Equatable {
    /// Bytes of the largest file that is read.
    static let fileMax = 1 << 20
    /// By this file of its own a folder is known.
    private static let mark = "js/callagent.js"

    /// What is at an address.
    enum Found: Sendable, Equatable {
        case file(bytes: [UInt8], type: String, tag: String)
        /// The browser has it.
        case known(tag: String)
        case nothing
        case tooLong
    }

    let path: String

    /// The site that belongs to the executable; nil: there is none.
    static func installed() -> SiteFolder? {
        let path = InstalledFolder.find("site", holding: mark, variable: "CALLAGENT_SITE")
        guard let path, access("\(path)/\(mark)", R_OK) == 0 else { return nil }
        return SiteFolder(path: path)
    }

    /// The names of folders and file in the rest of a path such as `js/index.js`; nil: it names
    /// nothing that a site has.
    static func names(in rest: Substring) -> [String]? {
        var names: [String] = []
        for part in rest.split(separator: "/") {
            guard let name = HTTPTarget.decoded(part), !name.contains("/"), !name.hasPrefix("."),
                !name.utf8.contains(0)
            else { return nil }
            names.append(name)
        }
        return names
    }

    /// Reads the file of these names; of a folder, its page. For a thread that may wait.
    ///
    /// - Parameter tags: of what the browser has.
    func read(_ names: [String], known tags: [String]) -> Found {
        var file = descend(names)
        guard file >= 0 else { return .nothing }
        defer { close(file) }
        var name = names.last ?? ""
        var status = stat()
        guard fstat(file, &status) == 0 else { return .nothing }
        if status.st_mode & S_IFMT == S_IFDIR {
            name = "index.html"
            let page = Self.step(from: file, to: name)
            close(file)
            file = page
            guard file >= 0, fstat(file, &status) == 0 else { return .nothing }
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return .nothing }
        guard status.st_size <= Self.fileMax else { return .tooLong }
        let tag = Self.tag(of: status)
        if HTTPHeaders.tags(tags, name: tag) { return .known(tag: tag) }
        guard let bytes = Self.bytes(of: file, count: Int(status.st_size)) else { return .nothing }
        return .file(bytes: bytes, type: Self.type(of: name), tag: tag)
    }

    /// Opens name after name, so that no link leads out of the folder; negative: there is nothing.
    private func descend(_ names: [String]) -> Int32 {
        var place = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        for name in names where place >= 0 {
            let next = Self.step(from: place, to: name)
            close(place)
            place = next
        }
        return place
    }

    /// Without waiting: a pipe has no other end that would write.
    private static func step(from folder: Int32, to name: String) -> Int32 {
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    }

    /// As many as there were when it was looked at; nil: there are fewer, or the disk fails.
    private static func bytes(of file: Int32, count: Int) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { room, filled in
            while filled < count {
                let more = Glibc.read(file, room.baseAddress.map { $0 + filled }, count - filled)
                if more < 0, errno == EINTR { continue }
                guard more > 0 else { break }
                filled += more
            }
        }
        return bytes.count == count ? bytes : nil
    }

    /// Another one for each file that is put in its place.
    private static func tag(of status: stat) -> String {
        let parts = [
            status.st_ino, UInt(status.st_size),
            UInt(bitPattern: status.st_mtim.tv_sec &* 1_000_000_000 &+ status.st_mtim.tv_nsec),
        ]
        return "\"\(parts.map { String($0, radix: 16) }.joined(separator: "-"))\""
    }

    private static func type(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "json": "application/json"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        case "jpg": "image/jpeg"
        case "ico": "image/x-icon"
        default: "application/octet-stream"
        }
    }
}
