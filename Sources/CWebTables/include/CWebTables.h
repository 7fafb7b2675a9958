// The files that browsers get, as part of the program. `CWebFiles` has them, and programs and tests
// link it; whoever imports only this is not compiled again when a page changes.
#pragma once

#include <stddef.h>

/// A file: where it is served, its media type, its bytes.
struct web_file {
    const char *path;
    const char *type;
    const unsigned char *bytes;
    size_t count;
};

/// The JavaScript client, below `/v1/client/`. Ends with an entry without a path.
const struct web_file *web_client_files(void);

/// The web console, by whole paths. Its help, below `/help/`, is Markdown of which pages are made.
/// Ends with an entry without a path.
const struct web_file *web_console_files(void);

/// The phone in a browser, by whole paths. Ends with an entry without a path.
const struct web_file *web_phone_files(void);
