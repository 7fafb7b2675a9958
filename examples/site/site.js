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
})();
