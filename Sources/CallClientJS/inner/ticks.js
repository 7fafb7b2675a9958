// The worker of alarms.js: its timers are on time also while the tab is hidden.
onmessage = ({ data: [id, ms] }) => setTimeout(() => postMessage(id), Math.min(ms, 2 ** 31 - 1));
