// Pages with Trusted Types let scripts be named only by a policy: `trusted-types callagent`.

let policy;

/** The address of a script of this package, or of the app's service worker. */
export function scriptURL(url) {
  try {
    policy ??= globalThis.trustedTypes?.createPolicy("callagent", { createScriptURL: String });
    return policy?.createScriptURL(String(url)) ?? url;
  } catch {
    return url;
  }
}
