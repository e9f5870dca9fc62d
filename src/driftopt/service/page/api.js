// The interface under /v1, with the token of this window. The token is in no address, no cookie and no log.

const KEPT = "driftopt-token";
const WHO = "driftopt-person";
// What passes by itself: the server, its database or a proxy before it is away, or asks to wait.
const PASSING = new Set([408, 425, 429, 502, 503, 504]);

export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail ?? (PASSING.has(status) ? "The server does not answer now" : "The server refused, and did not say why"));
    Object.assign(this, { status, kind: problem.kind ?? "", title: problem.title ?? "" });
  }
}
export class Unreachable extends Error {}
export const passes = error => error instanceof Unreachable || PASSING.has(error?.status);

// From the link that the server printed, /#token=…: kept for this window alone, and taken out of the address.
export function takeToken() {
  const given = /^#token=([^&]+)/.exec(location.hash);
  if (!given) return false;
  try { keepToken(decodeURIComponent(given[1])); } catch { /* no token that a server made */ }
  history.replaceState(null, "", `${location.pathname}#/`);
  return true;
}
export const token = () => sessionStorage.getItem(KEPT);
export const keepToken = secret => sessionStorage.setItem(KEPT, secret);
export const forgetToken = () => sessionStorage.removeItem(KEPT);

// Who sits here, for the log; no secret.
export const person = () => localStorage.getItem(WHO) ?? "";
export const keepPerson = name => localStorage.setItem(WHO, name);
export const key = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");

async function send(path, { method = "GET", body, once, signal } = {}) {
  const mine = token();
  const headers = { Authorization: `Bearer ${mine ?? ""}`, ...(once ? { "Idempotency-Key": once } : {}), ...(body ? { "Content-Type": "application/json" } : {}) };
  let answer;
  try {
    answer = await fetch(path, { method, headers, signal, body: body && JSON.stringify(body), cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("The server does not answer");
  }
  if (answer.ok) return answer;
  const refusal = new Refusal(answer.status, await answer.json().catch(() => ({})));
  // A server that was started again may have made another token: the page asks for it.
  if (answer.status === 401 && mine !== null && mine === token()) dispatchEvent(new CustomEvent("token-refused", { detail: refusal.message }));
  throw refusal;
}

async function read(path, how, as = "json") {
  const answer = await send(path, how);
  try { return await answer[as](); } catch { throw new Unreachable("The server's answer was cut off"); }
}

export const caller = () => read("/v1/caller");
export const studies = async () => (await read("/v1/studies")).studies;
export const create = (body, once) => read("/v1/studies", { method: "POST", body, once });

// Everything of one study: `see` looks, `change` does a verb under the person's name.
export function study(name) {
  const at = `/v1/studies/${encodeURIComponent(name)}`;
  const who = () => (person() ? { who: person() } : {});
  return {
    plan: () => read(at),
    page: wanted => read(`${at}/page?${new URLSearchParams(wanted)}`, {}, "text"),
    see: path => read(`${at}/${path}`),
    change: (verb, { id, ...body }) => read(`${at}${id === undefined ? "" : `/trials/${id}`}:${verb}`, { method: "POST", body: { ...who(), ...body } }),
    ask: (body, once) => read(`${at}/trials:ask`, { method: "POST", body, once }),
    remove: () => read(`${at}?confirm=${encodeURIComponent(name)}`, { method: "DELETE" }),
    file: format => read(`${at}/export?format=${format}`, {}, "blob"),
    events: (after, signal) => send(`${at}/events?after=${after}`, { signal }),
  };
}

// What happens in a study, for as long as `signal` lets it: `heard(change)` for each change, `state(true or
// false)` when the stream begins and ends. It begins again after the last row heard, so nothing is missed.
export async function follow(one, after, heard, state, signal) {
  for (let wait = 1000; !signal.aborted; wait = Math.min(2 * wait, 15000)) {
    try {
      const answer = await one.events(after, signal);
      wait = 1000;
      state(true);
      for await (const event of events(answer.body)) {
        if (event.kind === "deleted") { heard(event); return; }
        const change = JSON.parse(event.data);
        after = change.row;
        heard(change);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refusal && [401, 403, 404].includes(error.status)) { state(false, error); return; }
    }
    if (signal.aborted) return;
    state(false);
    await pause(wait, signal);
  }
}

export function pause(milliseconds, signal) {
  return new Promise(done => {
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
  });
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const parts = Object.fromEntries(block.split("\n").filter(line => /^\w+: /.test(line)).map(line => line.split(/: (.*)/s, 2)));
      if (parts.data !== undefined) yield { kind: parts.event, data: parts.data };
    }
  }
}
