// How the process gets its memory back.
import CUV

/// What the C library does with freed memory.
public enum ProcessMemory {
    /// Joins freed memory at once instead of setting small pieces aside, for the whole process.
    ///
    /// A server frees what a batch of requests needed when the batch is done. The pieces set aside
    /// would all be joined whenever somebody asks for a large one, again and again: that takes more
    /// time than it saves, and all at one moment.
    public static func serveBatches() { cuv_join_freed_memory() }
}
