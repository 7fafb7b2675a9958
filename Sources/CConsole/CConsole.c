// The console's files, put into the executable by the compiler.

#include "CConsole.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

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

static const cconsole_file files[] = {
    {"/", "text/html; charset=utf-8", index_html, sizeof index_html},
    {"/console.css", "text/css; charset=utf-8", console_css, sizeof console_css},
    {"/call.js", "text/javascript; charset=utf-8", call_js, sizeof call_js},
    {"/deliveries.js", "text/javascript; charset=utf-8", deliveries_js, sizeof deliveries_js},
    {"/health.js", "text/javascript; charset=utf-8", health_js, sizeof health_js},
    {"/history.js", "text/javascript; charset=utf-8", history_js, sizeof history_js},
    {"/log.js", "text/javascript; charset=utf-8", log_js, sizeof log_js},
    {"/main.js", "text/javascript; charset=utf-8", main_js, sizeof main_js},
    {"/now.js", "text/javascript; charset=utf-8", now_js, sizeof now_js},
    {"/page.js", "text/javascript; charset=utf-8", page_js, sizeof page_js},
    {"/people.js", "text/javascript; charset=utf-8", people_js, sizeof people_js},
    {"/policies.js", "text/javascript; charset=utf-8", policies_js, sizeof policies_js},
    {"/server.js", "text/javascript; charset=utf-8", server_js, sizeof server_js},
    {"/help/Operating", "text/markdown", help_Operating, sizeof help_Operating},
    {"/help/InProduction", "text/markdown", help_InProduction, sizeof help_InProduction},
    {"/help/Configuration", "text/markdown", help_Configuration, sizeof help_Configuration},
    {"/help/PoliciesInOperation", "text/markdown",
     help_PoliciesInOperation, sizeof help_PoliciesInOperation},
    {"/help/Pushes", "text/markdown", help_Pushes, sizeof help_Pushes},
    {"/help/Webhooks", "text/markdown", help_Webhooks, sizeof help_Webhooks},
    {"/help/ThreatModel", "text/markdown", help_ThreatModel, sizeof help_ThreatModel},
};

size_t cconsole_count(void) { return sizeof files / sizeof files[0]; }

cconsole_file cconsole_at(size_t place) { return files[place]; }
