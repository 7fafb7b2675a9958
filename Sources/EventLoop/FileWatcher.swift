// Tells that files in some directories have changed, once they have come to rest.
import CUV
import Glibc

/// Watches directories, not what is below them. Thread-confined; ends with its last reference.
///
/// Directories, because an editor puts a new file in the old one's place, which a watch on the file
/// would miss.
public final class FileWatcher {
    private let settle: Int64
    private let changed: ([String]) -> Void
    private var watches: [DirectoryWatch] = []
    private var paths: Set<String> = []
    private var timer: Timer?

    /// Begins to watch.
    ///
    /// - Parameters:
    ///   - settle: how long nothing must have happened before `changed` is called, in milliseconds.
    ///   - changed: gets the paths, each `directory/name`, sorted, of created, written, renamed and
    ///     removed files.
    /// - Throws: an error that names the directory: it does not exist, or the system
    ///   watches no more.
    public init(
        directories: [String], on loop: EventLoop, settle: Int64 = 50,
        changed: @escaping ([String]) -> Void
    ) throws(EventLoopError) {
        self.settle = settle
        self.changed = changed
        timer = Timer(on: loop) { [unowned self] in report() }
        for directory in directories {
            watches.append(
                try DirectoryWatch(directory, on: loop) { [unowned self] path in note(path) })
        }
    }

    private func note(_ path: String) {
        paths.insert(path)
        timer?.arm(after: settle)
    }

    private func report() {
        let settled = paths.sorted()
        paths = []
        changed(settled)
    }
}

private final class DirectoryWatch: LoopHandle {
    private let directory: String
    private let noted: (String) -> Void

    init(
        _ directory: String, on loop: EventLoop, _ noted: @escaping (String) -> Void
    ) throws(EventLoopError) {
        self.directory = directory
        self.noted = noted
        super.init(on: loop, type: UV_FS_EVENT)
        try start(uv_fs_event_t.self, doing: "watching", directory) {
            uv_fs_event_init(loop.uv, $0)
        }
        guard let handle = handle(uv_fs_event_t.self) else { return }
        let code = uv_fs_event_start(
            handle,
            { handle, name, _, _ in
                owner(handle, DirectoryWatch.self)?.happened(name.map { String(cString: $0) })
            }, directory, 0)
        if code < 0 { throw EventLoopError(code: code, doing: "watching", directory) }
    }

    private func happened(_ name: String?) {
        noted(name.map { "\(directory)/\($0)" } ?? directory)
    }
}
