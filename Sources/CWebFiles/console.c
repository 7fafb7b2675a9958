// The web console and its help.

#include "CWebFiles.h"
#include "embed.h"

static const unsigned char index_html[] = {
#embed "console/index.html"
};
static const unsigned char console_css[] = {
#embed "console/console.css"
};
static const unsigned char call_js[] = {
#embed "console/call.js"
};
static const unsigned char deliveries_js[] = {
#embed "console/deliveries.js"
};
static const unsigned char health_js[] = {
#embed "console/health.js"
};
static const unsigned char history_js[] = {
#embed "console/history.js"
};
static const unsigned char log_js[] = {
#embed "console/log.js"
};
static const unsigned char main_js[] = {
#embed "console/main.js"
};
static const unsigned char now_js[] = {
#embed "console/now.js"
};
static const unsigned char page_js[] = {
#embed "console/page.js"
};
static const unsigned char people_js[] = {
#embed "console/people.js"
};
static const unsigned char policies_js[] = {
#embed "console/policies.js"
};
static const unsigned char server_js[] = {
#embed "console/server.js"
};
// The documentation for operators, of which the help is made.
static const unsigned char help_Operating[] = {
#embed "../AgentServer/AgentServer.docc/Operating.md"
};
static const unsigned char help_InProduction[] = {
#embed "../AgentServer/AgentServer.docc/InProduction.md"
};
static const unsigned char help_Configuration[] = {
#embed "../AgentServer/AgentServer.docc/Configuration.md"
};
static const unsigned char help_PoliciesInOperation[] = {
#embed "../AgentServer/AgentServer.docc/PoliciesInOperation.md"
};
static const unsigned char help_Pushes[] = {
#embed "../AgentServer/AgentServer.docc/Pushes.md"
};
static const unsigned char help_Webhooks[] = {
#embed "../AgentServer/AgentServer.docc/Webhooks.md"
};
static const unsigned char help_ThreatModel[] = {
#embed "../AgentServer/AgentServer.docc/ThreatModel.md"
};

static const struct web_file files[] = {
    FILE_ROW("/", "text/html; charset=utf-8", index_html),
    FILE_ROW("/console.css", "text/css; charset=utf-8", console_css),
    FILE_ROW("/call.js", JAVASCRIPT, call_js),
    FILE_ROW("/deliveries.js", JAVASCRIPT, deliveries_js),
    FILE_ROW("/health.js", JAVASCRIPT, health_js),
    FILE_ROW("/history.js", JAVASCRIPT, history_js),
    FILE_ROW("/log.js", JAVASCRIPT, log_js),
    FILE_ROW("/main.js", JAVASCRIPT, main_js),
    FILE_ROW("/now.js", JAVASCRIPT, now_js),
    FILE_ROW("/page.js", JAVASCRIPT, page_js),
    FILE_ROW("/people.js", JAVASCRIPT, people_js),
    FILE_ROW("/policies.js", JAVASCRIPT, policies_js),
    FILE_ROW("/server.js", JAVASCRIPT, server_js),
    FILE_ROW("/help/Operating", "text/markdown", help_Operating),
    FILE_ROW("/help/InProduction", "text/markdown", help_InProduction),
    FILE_ROW("/help/Configuration", "text/markdown", help_Configuration),
    FILE_ROW("/help/PoliciesInOperation", "text/markdown", help_PoliciesInOperation),
    FILE_ROW("/help/Pushes", "text/markdown", help_Pushes),
    FILE_ROW("/help/Webhooks", "text/markdown", help_Webhooks),
    FILE_ROW("/help/ThreatModel", "text/markdown", help_ThreatModel),
    {NULL, NULL, NULL, 0},
};

const struct web_file *web_console_files(void) { return files; }
