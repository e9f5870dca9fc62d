// One study: what it says, what waits, what to deploy, how it went; it follows the study's events.

import * as api from "./api.js";
import * as charts from "./charts.js";
import { element, named, say, trouble } from "./dom.js";
import { badge, bar, needs, state } from "./list.js";
import * as parts from "./study_parts.js";
import { readers } from "./decision.js";
import { count } from "./words.js";

const PANELS = 12;
const PAGE = 25;
const AGAIN = 3000; // milliseconds before another try

export async function study(place, name, caller, signal) {
  document.title = `${name} – driftopt`;
  const one = api.study(name);
  const may = { operate: caller.role !== "read", admin: caller.role === "admin" };
  const seen = { one, name, may, panels: PANELS, shown: PAGE, logged: PAGE, changes: [] };
  const places = Object.fromEntries(["head", "now", "out", "decision", "values", "paths", "guardrails", "trials", "log", "manage"]
    .map(key => [key, element("div", { id: `part-${key}` })]));
  const live = element("small", { className: "live", role: "status" });

  // What needs no computing comes first: the recommendation may have to compile its method, for seconds.
  async function look(soon = () => {}) {
    const [plan, summary, trials] = await Promise.all([one.plan(), one.summary(), one.trials(seen.shown), history()]);
    Object.assign(seen, { plan, summary, trials });
    seen.known ??= new Map(plan.spec.names.map((name, i) => [name, { name, start: plan.spec.x0[i], places: 3, step: null }]));
    soon();
    const [recommendation, course] = await Promise.all([one.recommendation(), one.course(0, seen.panels)]);
    const certificate = summary.kinds.stationarity ? await one.stationarity().catch(error => ({ error })) : null;
    Object.assign(seen, { recommendation, course, certificate, known: readers(course) });
  }
  // The log, as far as it is not here yet.
  async function history() {
    for (;;) {
      const found = await one.changes(seen.changes.at(-1)?.row ?? 0);
      seen.changes.push(...found.changes);
      if (found.next === null) return;
    }
  }

  function draw() {
    const { summary } = seen;
    refill(places.head, [
      element("h1", {}, named(name)),
      element("div", { className: "badges" }, badge(...state(summary)), badge(`${summary.method}, ${summary.direction}`), badge(count(summary.dim, "coordinate")),
        summary.halted ? badge(`halted: ${summary.halted}`, "warn") : null,
        summary.stopped !== null ? badge(`stopped: ${summary.stopped || "no reason given"}`, "warn") : null),
      bar(summary.spent, summary.budget, summary.reserve), live,
    ]);
    const anew = () => refresh(0);
    refill(places.now, parts.now(seen, needs(seen)));
    refill(places.out, parts.out(seen));
    refill(places.decision, seen.course ? parts.decision(seen) : element("p", { className: "soft", role: "status" }, "The recommendation is being computed …"));
    refill(places.guardrails, parts.guardrails(seen));
    refill(places.trials, parts.trials(seen, () => { seen.shown += 100; anew(); }));
    refill(places.log, parts.log(seen, () => { seen.logged += 200; draw(); }));
    refill(places.manage, parts.manage(seen));
    if (seen.course) parts.frames(seen, places, () => { seen.panels = Math.min(seen.panels + PANELS, 100); anew(); });
  }

  let due = null, again = null, busy = false, wanted = false;
  // After a burst of events one look is enough.
  function refresh(wait = 60) {
    if (busy) { wanted = true; return; }
    clearTimeout(due);
    due = setTimeout(async () => {
      busy = true;
      try { await look(); if (!signal.aborted) { well(); draw(); await picture(); } } catch (error) { if (!signal.aborted) broken(error); } finally { busy = false; }
      if (wanted) { wanted = false; refresh(); }
    }, wait);
  }
  async function picture() {
    try {
      await charts.load(caller.charts);
      if (!signal.aborted) await parts.drawings(seen, places);
    } catch (error) {
      say(`${error.message} The page tries again by itself.`);
      clearTimeout(again);
      again = setTimeout(() => { if (!signal.aborted) refresh(0); }, AGAIN);
    }
  }
  function well() {
    clearTimeout(again);
    if (trouble(null)) say("The server answers again.");
  }
  function broken(error) {
    if (api.passes(error)) { trouble(`${error.message}. What is shown may be old; the page tries again by itself.`); clearTimeout(again); again = setTimeout(() => { if (!signal.aborted) refresh(0); }, AGAIN); return; }
    place.replaceChildren(element("h1", {}, named(name)), element("div", { className: "card broken", role: "alert" },
      element("h2", {}, error.kind === "DamagedLog" ? "The log of this study is damaged" : error.title || "This study cannot be shown"), element("p", {}, `${error.message}.`),
      error.status === 500 ? element("p", {}, "Nothing was changed, and nothing can be asked or told here until that is mended.") : null,
      element("p", {}, element("a", { href: "#/" }, "All studies"))));
  }

  function heard(change) {
    if (change.kind === "deleted") { location.hash = "#/"; say("The study was deleted."); return; }
    refresh();
  }
  const linked = (on, error) => {
    live.textContent = on ? "Follows the study" : "Not following: the server does not answer";
    live.classList.toggle("lost", !on);
    if (error) broken(error);
    else if (!on) trouble("The server does not answer. What is shown may be old; the page tries again by itself.");
    else refresh(0);
  };

  const left = element("div", { className: "left" }, places.now, places.out, places.decision, places.guardrails);
  const right = element("div", { className: "right" }, places.values, places.paths);
  const begin = () => {
    if (signal.aborted) return;
    place.replaceChildren(places.head, element("div", { className: "columns" }, left, right), places.trials, places.log, places.manage);
    draw();
  };
  for (let ready = false; !ready;) {
    try { await look(begin); ready = true; } catch (error) {
      if (signal.aborted) return;
      if (!api.passes(error)) { broken(error); return; }
      trouble(`${error.message}. The page tries again by itself.`);
      await api.pause(AGAIN, signal);
    }
    if (signal.aborted) return;
  }
  well();
  draw();
  const night = matchMedia("(prefers-color-scheme: dark)");
  night.addEventListener("change", picture, { signal });
  api.follow(one, seen.plan.rows, heard, linked, signal);
  await picture();
}

// New content in an old place; the keyboard stays where it was, and what was unfolded stays unfolded.
function refill(place, content) {
  const focus = place.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  const open = new Set([...place.querySelectorAll("details[open]")].map(one => one.dataset.fold));
  place.replaceChildren(...[content].flat(Infinity).filter(Boolean));
  for (const one of place.querySelectorAll("details")) if (open.has(one.dataset.fold)) one.open = true;
  if (focus) place.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
}
