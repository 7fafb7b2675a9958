// The three descriptors that every program expects to be there.

import Glibc

enum StandardStreams {
    /// Opens `/dev/null` for the streams that the caller has closed: otherwise the next opened file
    /// would get the number of one of them, and lines for a terminal would go into it.
    static func open() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = Glibc.open("/dev/null", O_RDWR)
        }
    }
}
