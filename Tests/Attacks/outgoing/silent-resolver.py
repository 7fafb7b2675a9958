"""Names of hosts that no resolver ever answers for, one after the other."""

from blows import flood, message
from preload import preload
from registry import Attack, house

GRANTS = ", ".join(f'"http:h{number}.slow.example"' for number in range(1, 61))
ATTACK = Attack(
    aims_at="threads that look up names", rules=(75, 79), answer_for=("bot",), seconds=(1.2, 12.0),
    config=f'override["house"] = {{ grant = {{ {GRANTS} }} }}\n', house=house(asked="""
  if call.callee.id == "bot" then
    for number = 1, 4 do
      detach(function()
        http.get("http://h" .. random(1, 60) .. ".slow.example/", { timeout = "2s" })
      end)
    end
    return reject "busy"
  end
"""))
# A resolver that never answers: every lookup of such a name takes two seconds.
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
  int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
      dlsym(RTLD_NEXT, "getaddrinfo");
  if (name && strstr(name, "slow.example")) {
    sleep(2);
    return EAI_AGAIN;
  }
  return real(name, service, hints, found);
}
"""


def dress(scene):
    preload(scene.agent, SHIM)


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common") * 20)
