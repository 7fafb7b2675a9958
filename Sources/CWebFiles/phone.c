// The phone in a browser. A test demands that every file of its folder stands here.
#include "CWebFiles.h"
#include "embed.h"

static const unsigned char devices_js[] = {
#embed "phone/devices.js"
};
static const unsigned char elements_js[] = {
#embed "phone/elements.js"
};
static const unsigned char history_js[] = {
#embed "phone/history.js"
};
static const unsigned char icon_svg[] = {
#embed "phone/icon.svg"
};
static const unsigned char index_html[] = {
#embed "phone/index.html"
};
static const unsigned char manifest_webmanifest[] = {
#embed "phone/manifest.webmanifest"
};
static const unsigned char panel_js[] = {
#embed "phone/panel.js"
};
static const unsigned char phone_css[] = {
#embed "phone/phone.css"
};
static const unsigned char phone_js[] = {
#embed "phone/phone.js"
};
static const unsigned char texts_js[] = {
#embed "phone/texts.js"
};
static const unsigned char tones_js[] = {
#embed "phone/tones.js"
};

static const struct web_file files[] = {
    FILE_ROW("/phone/devices.js", JAVASCRIPT, devices_js),
    FILE_ROW("/phone/elements.js", JAVASCRIPT, elements_js),
    FILE_ROW("/phone/history.js", JAVASCRIPT, history_js),
    FILE_ROW("/phone/icon.svg", "image/svg+xml", icon_svg),
    FILE_ROW("/", "text/html; charset=utf-8", index_html),
    FILE_ROW("/manifest.webmanifest", "application/manifest+json", manifest_webmanifest),
    FILE_ROW("/phone/panel.js", JAVASCRIPT, panel_js),
    FILE_ROW("/phone/phone.css", "text/css; charset=utf-8", phone_css),
    FILE_ROW("/phone/phone.js", JAVASCRIPT, phone_js),
    FILE_ROW("/phone/texts.js", JAVASCRIPT, texts_js),
    FILE_ROW("/phone/tones.js", JAVASCRIPT, tones_js),
    {NULL, NULL, NULL, 0},
};

const struct web_file *web_phone_files(void) { return files; }
