// All studies: how far each is, what is known, and what needs a person.

import * as api from "./api.js";
import { element, named, say, trouble } from "./dom.js";
import { count, moment, plusMinus } from "./words.js";

const EVERY = 10000; // milliseconds between two looks
const AGAIN = 3000; // milliseconds, where the last one failed
const STALE = 60000; // after which a study is looked at again although nothing was spent
const AT_ONCE = 4;

export async function list(place, caller, signal) {
  document.title = "driftopt: studies";
  const known = new Map();
  const cards = element("div", { className: "studies" });
  const intro = element("p", { className: "lead" });
  place.replaceChildren(element("h1", {}, "Studies"), intro, cards);

  async function look() {
    const listed = await api.studies();
    if (signal.aborted) return;
    if (trouble(null)) say("The server answers again.");
    const names = new Set(listed.map(one => one.name));
    for (const [name, one] of known) if (!names.has(name)) { one.card.remove(); known.delete(name); }
    for (const one of listed) {
      if (!known.has(one.name)) {
        const card = element("article", { className: "card study" });
        known.set(one.name, { card, spent: -1, at: 0 });
        cards.append(card);
        fill(card, one, null);
      }
    }
    intro.textContent = listed.length ? said() : caller.role === "admin" && caller.study === null
      ? "There is no study in this database yet. “New study” begins one, from a form or from a table of today’s prices."
      : "There is no study that this token may see.";
    const due = listed.filter(one => known.get(one.name).spent !== one.spent || Date.now() - known.get(one.name).at > STALE);
    const next = due.values();
    await Promise.all(Array.from({ length: AT_ONCE }, async () => { for (const one of next) await detail(one); }));
    if (listed.length && !signal.aborted) intro.textContent = said();
  }

  function said() {
    const all = [...known.values()], waiting = all.filter(one => one.needs).length;
    const looking = all.some(one => one.needs === undefined); // nobody knows yet what these need
    const found = [waiting && `${count(waiting, "needs", "need")} a person`, looking && "looking …"].filter(Boolean).join("; ");
    return `${count(known.size, "study", "studies")}; ${found || "none needs a person"}${looking ? "" : "."}`;
  }

  async function detail(one) {
    const mine = known.get(one.name), served = api.study(one.name);
    let found;
    try {
      found = { summary: await served.summary(), ...(mine.found?.recommendation ? { recommendation: mine.found.recommendation } : {}) };
      Object.assign(mine, { needs: needs(found).length });
      if (!signal.aborted) intro.textContent = said();
      fill(mine.card, one, found); // the recommendation may have to compile its method, for seconds
      found.recommendation = await served.recommendation();
    } catch (error) {
      if (api.passes(error)) throw error;
      found = { error };
    }
    if (signal.aborted) return;
    Object.assign(mine, { spent: one.spent, at: Date.now(), needs: needs(found).length, found });
    fill(mine.card, one, found);
  }

  for (;;) {
    let wait = EVERY;
    try { await look(); } catch (error) {
      if (signal.aborted) return;
      trouble(`${error.message}. What is shown may be old; the page tries again by itself.`);
      wait = AGAIN;
    }
    await api.pause(wait, signal);
    if (signal.aborted) return;
    if (document.hidden) await new Promise(done => document.addEventListener("visibilitychange", done, { once: true }));
  }
}

// What needs a person, in words.
export function needs({ summary, error }) {
  if (error) return [error.message];
  const held = summary.held.length;
  const late = summary.out.filter(one => one.lease.endsWith("overdue")).length;
  return [
    held && `${count(held, "answer is", "answers are")} held: accept or correct`,
    late && `${count(late, "trial is", "trials are")} overdue`,
    summary.halted && `a guardrail tripped: ${summary.halted}`,
  ].filter(Boolean);
}

export function state(summary) {
  if (summary.stopped !== null) return ["stopped", "over"];
  if (summary.halted) return ["halted", "warn"];
  if (summary.held.length) return ["held", "warn"];
  if (summary.next.what.startsWith("the budget is spent")) return ["budget spent", "over"];
  if (summary.spent === 0) return ["not begun", "new"];
  return ["running", "on"];
}

export const badge = (text, look = "") => element("span", { className: `badge ${look}` }, text);

export function bar(spent, budget, reserve = 0) {
  if (budget === null) return element("div", { className: "budget" }, element("small", {}, count(spent, "deployment")));
  const text = `${spent.toLocaleString("en")} of ${count(budget, "deployment")}${reserve ? `, ${reserve} for evaluation` : ""}`;
  return element("div", { className: "budget" }, element("progress", { max: Math.max(budget, 1), value: Math.min(spent, budget), "aria-label": text }), element("small", {}, text));
}

function fill(card, one, found) {
  const link = element("a", { href: `#/study/${encodeURIComponent(one.name)}` }, named(one.name));
  const summary = found?.summary, gain = found?.recommendation?.improvement;
  const wants = found ? needs(found) : [];
  const head = found?.error ? badge("broken", "warn") : summary ? badge(...state(summary)) : badge("…");
  card.classList.toggle("wants", wants.length > 0);
  card.replaceChildren(
    element("div", { className: "top" }, element("h2", {}, link), head),
    bar(one.spent, one.budget, summary?.reserve),
    element("dl", {},
      element("dt", {}, "Last answer"), element("dd", {}, summary ? (summary.last_answer === null ? "none yet" : moment(summary.last_answer)) : "–"),
      element("dt", {}, "Improvement"), element("dd", {}, gain ? plusMinus(gain.mean, gain.sem) : found?.recommendation ? "not measured yet" : found?.error ? "–" : "…"),
      element("dt", {}, "Decision"), element("dd", {}, `${count(one.dim, "coordinate")}, ${one.direction}`)),
    ...wants.map(text => element("p", { className: "need" }, text)),
    summary && !wants.length ? element("p", { className: "soft" }, `Now: ${summary.next.what}`) : "");
}
