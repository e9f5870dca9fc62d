// All studies: how far each is, what is known, and what needs a person.

import * as api from "./api.js";
import { count, element, moment, named, number, say, trouble } from "./dom.js";

const EVERY = 10000; // milliseconds between two looks
const AGAIN = 3000; // milliseconds, where the last one failed
const STALE = 60000; // after which a study is looked at again although nothing was spent
const TOGETHER = 4;

export async function list(place, caller, signal) {
  document.title = "driftopt: studies";
  const known = new Map(); // by name: { card, spent, at, needs }
  const cards = element("div", { className: "studies" }), intro = element("p", { className: "lead" });
  place.replaceChildren(element("h1", {}, "Studies"), intro, cards);

  async function look() {
    const listed = await api.studies();
    if (signal.aborted) return;
    if (trouble(null)) say("The server answers again.");
    const names = new Set(listed.map(one => one.name));
    for (const [name, { card }] of known) if (!names.has(name)) { card.remove(); known.delete(name); }
    for (const one of listed) {
      if (known.has(one.name)) continue;
      const card = element("article", { className: "card study" });
      known.set(one.name, { card, spent: -1, at: 0 });
      cards.append(card);
      fill(card, one);
    }
    introduce();
    const next = listed.filter(one => known.get(one.name).spent !== one.spent || Date.now() - known.get(one.name).at > STALE).values();
    await Promise.all(Array.from({ length: TOGETHER }, async () => { for (const one of next) await detail(one); }));
  }

  function introduce() {
    const all = [...known.values()], waiting = all.filter(one => one.needs).length, looking = all.some(one => one.needs === undefined);
    intro.textContent = all.length ? `${count(all.length, "study", "studies")}; ${waiting ? `${count(waiting, "needs", "need")} a person` : looking ? "looking …" : "none needs a person"}.`
      : caller.role === "admin" && caller.study === null ? "There is no study in this database yet. “New study” begins one, from a form or from a table of today’s prices."
        : "There is no study that this token may see.";
  }

  async function detail(one) {
    let summary = null, error = null;
    try { summary = await api.study(one.name).see("summary"); } catch (found) {
      if (api.passes(found)) throw found;
      error = found;
    }
    if (signal.aborted || !known.has(one.name)) return;
    const mine = known.get(one.name);
    Object.assign(mine, { spent: one.spent, at: Date.now(), needs: fill(mine.card, one, summary, error) });
    introduce();
  }

  for (let wait = EVERY; !signal.aborted; wait = EVERY) {
    try { await look(); } catch (error) {
      if (signal.aborted) return;
      trouble(`${error.message}. What is shown may be old; the page tries again by itself.`);
      wait = AGAIN;
    }
    await api.pause(wait, signal);
    if (document.hidden && !signal.aborted) await new Promise(done => document.addEventListener("visibilitychange", done, { once: true }));
  }
}

// One card; returns how many things need a person.
function fill(card, one, summary, error) {
  const late = summary?.out.filter(out => out.lease.endsWith("overdue")).length, held = summary?.held.length;
  const needs = [error?.message, held && `${count(held, "result is", "results are")} held: accept or correct`, late && `${count(late, "trial is", "trials are")} overdue`,
    summary?.halted && `a limit was broken: ${summary.halted}`].filter(Boolean);
  const [state, look] = error ? ["broken", "warn"] : !summary ? ["…"] : summary.stopped !== null ? ["stopped"] : summary.halted ? ["halted", "warn"] : held ? ["held", "warn"]
    : summary.budget !== null && summary.spent >= summary.budget ? ["budget spent"] : summary.spent ? ["running", "on"] : ["not begun"];
  const found = summary?.recommendation, gain = found?.improvement ?? found?.gain;
  const worth = gain ? `${number(gain.mean, 4)} ± ${number(gain.sem, 2)}${found.improvement ? "" : " (expected)"}` : summary ? "not known yet" : "…";
  const spent = one.budget === null ? count(one.spent, "deployment") : `${one.spent} of ${count(one.budget, "deployment")}`;
  card.classList.toggle("wants", needs.length > 0);
  card.replaceChildren(
    element("div", { className: "top" }, element("h2", {}, element("a", { href: `#/study/${encodeURIComponent(one.name)}` }, named(one.name))), element("span", { className: `badge ${look ?? ""}` }, state)),
    element("div", { className: "budget" }, one.budget === null ? null : element("progress", { max: Math.max(one.budget, 1), value: Math.min(one.spent, one.budget), "aria-label": spent }), element("small", {}, spent)),
    element("dl", {}, [["Last result", summary ? (summary.last_answer === null ? "none yet" : moment(summary.last_answer)) : "–"], ["Improvement", error ? "–" : worth],
      ["Decision", `${count(one.dim, "coordinate")}, ${one.direction}`]].map(([what, value]) => [element("dt", {}, what), element("dd", {}, value)])),
    ...needs.map(text => element("p", { className: "need" }, text)),
    summary && !needs.length ? element("p", { className: "soft" }, `Now: ${summary.next.what}`) : "");
  return needs.length;
}
