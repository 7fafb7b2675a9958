// What the service worker finds when no page is open: one object in IndexedDB.

const NAME = "callagent";

function open() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(NAME);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function run(mode, act) {
  const database = await open();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(NAME, mode);
      const request = act(transaction.objectStore(NAME));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}

export function keep(what) {
  return run("readwrite", (store) => store.put(what, "push"));
}

export function kept() {
  return run("readonly", (store) => store.get("push"));
}
