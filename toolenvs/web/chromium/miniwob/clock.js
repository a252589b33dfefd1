// A clock that stands still until it is told to go on, put into a page before its own scripts: what a page does over
// time depends on the actions alone, and not on how busy the machine is.
(() => {
  const FRAME_MS = 16;
  const START_MS = 1_500_000_000_000;
  const MAX_CALLS = 100_000;
  const RealDate = Date;
  let now = 0;
  let last = 0;
  const waiting = new Map(); // id -> {due, call, every}
  const wait = (call, delay, every, rest) => {
    const code = typeof call === "function" ? () => call(...rest) : () => (0, eval)(String(call));
    const ms = Math.max(Number(delay) || 0, every === null ? 0 : 1);
    waiting.set(++last, { due: now + ms, call: code, every: every === null ? null : ms });
    return last;
  };
  const forget = (id) => void waiting.delete(id);

  window.setTimeout = (call, delay, ...rest) => wait(call, delay, null, rest);
  window.setInterval = (call, delay, ...rest) => wait(call, delay, true, rest);
  window.requestAnimationFrame = (call) =>
    wait(() => call(now), FRAME_MS - (now % FRAME_MS), null, []);
  window.clearTimeout = window.clearInterval = window.cancelAnimationFrame = forget;
  window.performance.now = () => now;

  window.Date = new Proxy(RealDate, {
    construct: (target, given, self) =>
      Reflect.construct(target, given.length ? given : [START_MS + now], self),
    apply: () => new RealDate(START_MS + now).toString(),
    get: (target, name) => (name === "now" ? () => START_MS + now : target[name]),
  });

  // Until the task is seeded; what a page draws while it loads is then the same each time.
  let state = 12345;
  Math.random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };

  // Let `ms` pass: run what falls due, in order of time and then of its making.
  const advance = (ms) => {
    const until = now + ms;
    for (let calls = 0; calls < MAX_CALLS; calls++) {
      let first = null;
      for (const [id, one] of waiting) {
        if (one.due <= until && (first === null || one.due < waiting.get(first).due)) first = id;
      }
      if (first === null) break;
      const one = waiting.get(first);
      now = Math.max(now, one.due);
      if (one.every === null) waiting.delete(first);
      else one.due = now + one.every;
      try {
        one.call();
      } catch (error) {
        console.error(error);
      }
    }
    now = until;
  };
  Object.defineProperty(window, "__toolenvsAdvance", { value: advance });

  const still = () => {
    const style = document.createElement("style");
    style.textContent = "*, *::before, *::after { transition: none !important; animation: none !important; }";
    document.documentElement.append(style);
  };
  if (document.documentElement) still();
  else new MutationObserver((_, observer) => {
    if (document.documentElement) {
      observer.disconnect();
      still();
    }
  }).observe(document, { childList: true });
})();
