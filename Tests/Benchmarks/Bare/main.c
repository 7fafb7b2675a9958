// The hook of the policy benchmark in bare C with liblua: no limits, no sandbox, no typed answer.
// Prints the processor time of one call, as the median and the least of 100 rounds.

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char source[] =
    "local busy = { bob = true }\n"
    "function on_invite(call)\n"
    "  if busy[call.callee] and call.kind == 'audio' then\n"
    "    return { action = 'reject', reason = 'busy',\n"
    "      extended_data = '{\"state\":\"in-call\",\"retry_after\":30}' }\n"
    "  end\n"
    "end\n";

static const char data[] =
    "{\"sdp\":\"v=0 o=- 1 1 IN IP4 127.0.0.1 s=- c=IN IP4 127.0.0.1 t=0 0\"}";

static char answer[3][256];

static void take(lua_State *L, const char *name, int place) {
    lua_getfield(L, -1, name);
    const char *text = lua_tostring(L, -1);
    snprintf(answer[place], sizeof answer[place], "%s", text ? text : "");
    lua_pop(L, 1);
}

static void call(lua_State *L, int hook, unsigned number) {
    char id[33];
    snprintf(id, sizeof id, "0000000000000199%016x", number);
    lua_rawgeti(L, LUA_REGISTRYINDEX, hook);
    lua_createtable(L, 0, 6);
    lua_pushstring(L, id), lua_setfield(L, -2, "id");
    lua_pushstring(L, "ann"), lua_setfield(L, -2, "caller");
    lua_pushstring(L, "bob"), lua_setfield(L, -2, "callee");
    lua_pushstring(L, "audio"), lua_setfield(L, -2, "kind");
    lua_pushlstring(L, data, sizeof data - 1), lua_setfield(L, -2, "extended_data");
    lua_pushinteger(L, 60), lua_setfield(L, -2, "timeout");
    if (lua_pcall(L, 1, 1, 0) != LUA_OK) exit(1);
    take(L, "action", 0), take(L, "reason", 1), take(L, "extended_data", 2);
    lua_pop(L, 1);
    if (strcmp(answer[0], "reject") != 0) exit(1);
}

static long long processor_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    long long left = *(const long long *)a, right = *(const long long *)b;
    return (left > right) - (left < right);
}

int main(void) {
    enum { rounds = 100, calls = 1000 };
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    if (luaL_dostring(L, source)) return 1;
    lua_getglobal(L, "on_invite");
    int hook = luaL_ref(L, LUA_REGISTRYINDEX);
    for (unsigned number = 0; number < 20 * calls; number++) call(L, hook, number);
    static long long times[rounds];
    for (int round = 0; round < rounds; round++) {
        long long begin = processor_time();
        for (unsigned number = 0; number < calls; number++) call(L, hook, number);
        times[round] = (processor_time() - begin) / calls;
    }
    qsort(times, rounds, sizeof *times, compare);
    printf("bare ns=%lld least_ns=%lld\n", times[rounds / 2], times[0]);
    lua_close(L);
    return 0;
}
