// The life of one libuv handle: allocated with its owner, closed once, freed when libuv lets go.
import CUV

/// Something that lives on an event loop: the base of connections, listeners, timers and watchers.
///
/// Every member may be called on the loop's own thread only.
public class LoopHandle {
    /// The loop that this belongs to.
    public let loop: EventLoop
    /// The libuv handle, until it is closed.
    private(set) var raw: UnsafeMutableRawPointer?

    init(on loop: EventLoop, type: uv_handle_type) {
        loop.assertOwner()
        self.loop = loop
        raw = .allocate(byteCount: uv_handle_size(type), alignment: 16)
    }

    /// Runs the `uv_…_init` of the handle; if that fails, the memory is returned at once.
    func start<Handle>(
        _ type: Handle.Type, doing action: String, _ subject: String,
        _ initialize: (UnsafeMutablePointer<Handle>) -> Int32
    ) throws(EventLoopError) {
        guard let raw else { return }
        let code = initialize(raw.assumingMemoryBound(to: type))
        if code < 0 {
            raw.deallocate()
            self.raw = nil
            throw EventLoopError(code: code, doing: action, subject)
        }
        let data = Unmanaged.passUnretained(self).toOpaque()
        raw.assumingMemoryBound(to: uv_handle_t.self).pointee.data = data
    }

    /// The handle as its own libuv type; nil after the close.
    func handle<Handle>(_ type: Handle.Type) -> UnsafeMutablePointer<Handle>? {
        raw?.assumingMemoryBound(to: type)
    }

    /// Closes the handle; `handleDidClose` follows in this turn of the loop. The second call does
    /// nothing.
    func closeHandle() {
        loop.assertOwner()
        guard let handle = handle(uv_handle_t.self) else { return }
        raw = nil
        handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
        uv_close(handle) { closed in
            guard let closed, let data = closed.pointee.data else { return }
            let owner = Unmanaged<LoopHandle>.fromOpaque(data).takeRetainedValue()
            UnsafeMutableRawPointer(closed).deallocate()
            owner.handleDidClose()
        }
    }

    /// libuv has let go of the handle.
    func handleDidClose() {}

    /// The loop is about to end: close everything.
    func loopWillClose() { closeHandle() }

    deinit {
        guard let handle = handle(uv_handle_t.self) else { return }
        loop.assertOwner()
        handle.pointee.data = nil
        uv_close(handle) { closed in UnsafeMutableRawPointer(closed)?.deallocate() }
    }
}

extension UnsafeMutablePointer where Pointee == uv_handle_t {
    /// The owner of an open handle.
    var owner: LoopHandle? {
        pointee.data.map { Unmanaged<LoopHandle>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// The owner of the handle that libuv hands to a callback.
func owner<Handle, Owner: LoopHandle>(
    _ handle: UnsafeMutablePointer<Handle>?, _ type: Owner.Type
) -> Owner? {
    guard let handle else { return nil }
    let data = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self).pointee
        .data
    return data.map { Unmanaged<Owner>.fromOpaque($0).takeUnretainedValue() }
}
