// How much memory the process has in use.
import CUV

/// The memory that was allocated and not given back, by all threads.
public enum Heap {
    /// Bytes; what the allocator keeps for later is no part of it, so that a leak shows in it and
    /// nothing else does.
    public static var bytes: Int { cuv_heap_in_use() }
}
