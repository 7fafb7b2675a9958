// Before the scripts of DocC: where the site is, and what its pages have no right to.
//
// The console serves them apart from its own origin ("sandbox"), so that nothing here reads the
// token of who looks, or asks the management API. Such a page has no storage and sees into no frame
// of its own; DocC's scripts expect both.

var baseUrl = "BASE"; // read by DocC's scripts

(() => {
  for (const name of ["localStorage", "sessionStorage"]) {
    const kept = new Map();
    Object.defineProperty(window, name, { value: {
      getItem: (key) => kept.get(String(key)) ?? null,
      setItem: (key, value) => { kept.set(String(key), String(value)); },
      removeItem: (key) => { kept.delete(String(key)); },
    } });
  }

  // An empty <object> is how they learn that what holds it has another size.
  const observers = new WeakMap();
  Object.defineProperty(HTMLObjectElement.prototype, "contentDocument", { get() {
    return { defaultView: {
      addEventListener: (_, act) => {
        const observer = new ResizeObserver(() => act());
        observer.observe(this);
        observers.set(this, observer);
      },
      removeEventListener: () => observers.get(this)?.disconnect(),
    } };
  } });

  // What keeps people out who do not see the pages, or have no mouse.
  const repairs = {
    // The pages above, which a narrow page hides behind three dots: a button without a name.
    ".hierarchy-collapsed-items > button:not([aria-label])": (one) => {
      one.setAttribute("aria-label", "Pages above this one");
    },
    // A wide table in a narrow page scrolls; so it does by keyboard.
    ".table-wrapper:not([tabindex])": (one) => { one.tabIndex = 0; },
    // A column without a name.
    "th:not([aria-label])": (one) => {
      if (one.textContent.trim()) return;
      one.setAttribute("aria-label", "About");
      const name = document.createElement("span");
      name.className = "visuallyhidden";
      name.append("About");
      one.append(name);
    },
    // Entries outside of what is seen of the list: hidden, and still reached by keyboard.
    ".navigator-card-item[aria-hidden='true']:not([inert])": (one) => { one.inert = true; },
    ".navigator-card-item[inert]:not([aria-hidden='true'])": (one) => { one.inert = false; },
  };
  new MutationObserver(() => {
    for (const [what, repair] of Object.entries(repairs)) {
      document.querySelectorAll(what).forEach(repair);
    }
  }).observe(document, { childList: true, subtree: true, attributeFilter: ["aria-hidden"] });
})();
