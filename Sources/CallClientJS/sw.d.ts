// A service worker, to be copied to the app's own origin: it exports nothing.
export {};
