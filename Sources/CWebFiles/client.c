// The JavaScript client. A test demands that every file of its folder stands here.
#include "CWebFiles.h"
#include "embed.h"

static const unsigned char index_d_ts[] = {
#embed "../CallClientJS/index.d.ts"
};
static const unsigned char index_js[] = {
#embed "../CallClientJS/index.js"
};
static const unsigned char inner_agent_js[] = {
#embed "../CallClientJS/inner/agent.js"
};
static const unsigned char inner_alarms_js[] = {
#embed "../CallClientJS/inner/alarms.js"
};
static const unsigned char inner_call_js[] = {
#embed "../CallClientJS/inner/call.js"
};
static const unsigned char inner_calls_js[] = {
#embed "../CallClientJS/inner/calls.js"
};
static const unsigned char inner_connection_js[] = {
#embed "../CallClientJS/inner/connection.js"
};
static const unsigned char inner_emitter_js[] = {
#embed "../CallClientJS/inner/emitter.js"
};
static const unsigned char inner_errors_js[] = {
#embed "../CallClientJS/inner/errors.js"
};
static const unsigned char inner_fields_js[] = {
#embed "../CallClientJS/inner/fields.js"
};
static const unsigned char inner_peer_js[] = {
#embed "../CallClientJS/inner/peer.js"
};
static const unsigned char inner_requests_js[] = {
#embed "../CallClientJS/inner/requests.js"
};
static const unsigned char inner_snapshots_js[] = {
#embed "../CallClientJS/inner/snapshots.js"
};
static const unsigned char inner_storage_js[] = {
#embed "../CallClientJS/inner/storage.js"
};
static const unsigned char inner_tabs_js[] = {
#embed "../CallClientJS/inner/tabs.js"
};
static const unsigned char inner_ticks_js[] = {
#embed "../CallClientJS/inner/ticks.js"
};
static const unsigned char inner_tokens_js[] = {
#embed "../CallClientJS/inner/tokens.js"
};
static const unsigned char inner_tracks_js[] = {
#embed "../CallClientJS/inner/tracks.js"
};
static const unsigned char inner_trusted_js[] = {
#embed "../CallClientJS/inner/trusted.js"
};
static const unsigned char inner_words_js[] = {
#embed "../CallClientJS/inner/words.js"
};
static const unsigned char inner_worker_data_js[] = {
#embed "../CallClientJS/inner/worker-data.js"
};
static const unsigned char media_d_ts[] = {
#embed "../CallClientJS/media.d.ts"
};
static const unsigned char media_js[] = {
#embed "../CallClientJS/media.js"
};
static const unsigned char package_json[] = {
#embed "../CallClientJS/package.json"
};
static const unsigned char protocol_d_ts[] = {
#embed "../CallClientJS/protocol.d.ts"
};
static const unsigned char push_d_ts[] = {
#embed "../CallClientJS/push.d.ts"
};
static const unsigned char push_js[] = {
#embed "../CallClientJS/push.js"
};
static const unsigned char react_d_ts[] = {
#embed "../CallClientJS/react.d.ts"
};
static const unsigned char react_js[] = {
#embed "../CallClientJS/react.js"
};
static const unsigned char sw_d_ts[] = {
#embed "../CallClientJS/sw.d.ts"
};
static const unsigned char sw_js[] = {
#embed "../CallClientJS/sw.js"
};

static const struct web_file files[] = {
    FILE_ROW("index.d.ts", TYPES, index_d_ts),
    FILE_ROW("index.js", JAVASCRIPT, index_js),
    FILE_ROW("inner/agent.js", JAVASCRIPT, inner_agent_js),
    FILE_ROW("inner/alarms.js", JAVASCRIPT, inner_alarms_js),
    FILE_ROW("inner/call.js", JAVASCRIPT, inner_call_js),
    FILE_ROW("inner/calls.js", JAVASCRIPT, inner_calls_js),
    FILE_ROW("inner/connection.js", JAVASCRIPT, inner_connection_js),
    FILE_ROW("inner/emitter.js", JAVASCRIPT, inner_emitter_js),
    FILE_ROW("inner/errors.js", JAVASCRIPT, inner_errors_js),
    FILE_ROW("inner/fields.js", JAVASCRIPT, inner_fields_js),
    FILE_ROW("inner/peer.js", JAVASCRIPT, inner_peer_js),
    FILE_ROW("inner/requests.js", JAVASCRIPT, inner_requests_js),
    FILE_ROW("inner/snapshots.js", JAVASCRIPT, inner_snapshots_js),
    FILE_ROW("inner/storage.js", JAVASCRIPT, inner_storage_js),
    FILE_ROW("inner/tabs.js", JAVASCRIPT, inner_tabs_js),
    FILE_ROW("inner/ticks.js", JAVASCRIPT, inner_ticks_js),
    FILE_ROW("inner/tokens.js", JAVASCRIPT, inner_tokens_js),
    FILE_ROW("inner/tracks.js", JAVASCRIPT, inner_tracks_js),
    FILE_ROW("inner/trusted.js", JAVASCRIPT, inner_trusted_js),
    FILE_ROW("inner/words.js", JAVASCRIPT, inner_words_js),
    FILE_ROW("inner/worker-data.js", JAVASCRIPT, inner_worker_data_js),
    FILE_ROW("media.d.ts", TYPES, media_d_ts),
    FILE_ROW("media.js", JAVASCRIPT, media_js),
    FILE_ROW("package.json", "application/json", package_json),
    FILE_ROW("protocol.d.ts", TYPES, protocol_d_ts),
    FILE_ROW("push.d.ts", TYPES, push_d_ts),
    FILE_ROW("push.js", JAVASCRIPT, push_js),
    FILE_ROW("react.d.ts", TYPES, react_d_ts),
    FILE_ROW("react.js", JAVASCRIPT, react_js),
    FILE_ROW("sw.d.ts", TYPES, sw_d_ts),
    FILE_ROW("sw.js", JAVASCRIPT, sw_js),
    {NULL, NULL, NULL, 0},
};

const struct web_file *web_client_files(void) { return files; }
