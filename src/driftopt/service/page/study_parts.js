// The parts of a study's view, each from what the page knows of it.

import * as charts from "./charts.js";
import { copyButton, recommended, sentence } from "./decision.js";
import * as deeds from "./deeds.js";
import { button, element, named, say, section, table } from "./dom.js";
import { count, kind, moment, number, plusMinus, price, span } from "./words.js";

const byId = (seen, id) => seen.trials.trials.find(trial => trial.id === id);
// A trial that is not on the page's part of the list is fetched.
const withTrial = (seen, id, deed) => async () => {
  try { deed(seen, byId(seen, id) ?? await seen.one.trial(id)); } catch (error) { say(error.message); }
};
const act = (text, key, deed, look = "") => button(text, deed, { "data-focus": key, className: look });

export function now(seen, wants) {
  const { summary, may } = seen;
  const ended = summary.stopped !== null || (summary.budget !== null && summary.spent + summary.reserve >= summary.budget);
  const left = summary.budget === null || summary.spent < summary.budget;
  const held = summary.held.map(one => element("li", {},
    element("div", {}, element("b", {}, `Trial ${one.id}`), ` was told ${number(one.value)}, far from all others. `,
      "It does not count until somebody says whether it is true."),
    may.operate ? element("div", { className: "deeds" },
      act("It is true", `accept-${one.id}`, () => deeds.accept(seen, one)),
      act("Correct it", `correct-held-${one.id}`, withTrial(seen, one.id, deeds.correct))) : null));
  return section("now", "Now", element("div", { className: `card now ${wants.length ? "wants" : ""}` },
    wants.map(text => element("p", { className: "need" }, text)),
    (summary.warnings ?? []).map(text => element("p", { className: "caution", dir: "auto" }, text)),
    element("p", {}, `${summary.next.what[0].toUpperCase()}${summary.next.what.slice(1)}.`),
    held.length ? element("ul", { className: "held" }, held) : null,
    may.operate ? element("div", { className: "deeds" },
      summary.halted && may.admin ? act("Go on", "resume", () => deeds.resume(seen), "main") : null,
      ended || summary.halted ? null : act("Ask", "ask", () => deeds.ask(seen), "main"),
      left && summary.results > 0 ? act("Confirm the recommendation", "confirm", () => deeds.ask(seen, "confirm")) : null,
      left && summary.results > 0 ? act("Measure the certificate", "certificate", () => deeds.ask(seen, "stationarity")) : null) : null));
}

export function out(seen) {
  const { summary, known, may } = seen;
  const names = seen.plan.spec.names;
  const lines = summary.out.map(one => element("li", { "data-trial": one.id },
    element("div", {}, element("b", {}, `Trial ${one.id}`), " with ", named(one.holder), ", ",
      element("span", { className: one.lease.endsWith("overdue") ? "need" : null }, one.lease), ` (${kind(one.kind)}): `,
      sentence(Object.fromEntries(names.map((name, i) => [name, one.x[i]])), known)),
    element("div", { className: "deeds" }, may.operate ? act("Tell", `tell-${one.id}`, withTrial(seen, one.id, deeds.tell), "main") : null,
      act("Show", `show-${one.id}`, withTrial(seen, one.id, deeds.show)),
      may.operate ? act("Failed", `fail-${one.id}`, withTrial(seen, one.id, deeds.fail)) : null)));
  return section("out", "Out", lines.length ? element("ul", { className: "card waiting" }, lines) : element("p", { className: "soft" }, "No deployment is out."));
}

export function decision(seen) {
  const { recommendation, course, summary, certificate, may } = seen;
  const gain = recommendation.improvement;
  const worth = gain
    ? element("p", {}, element("b", { className: "big" }, `${gain.mean > 0 ? "+" : ""}${plusMinus(gain.mean, gain.sem)}`), ` improvement over the start (± standard error), from ${gain.basis}: `,
      `${number(gain.recommended.mean, 4)} at the recommendation, ${number(gain.start.mean, 4)} at the start.`)
    : element("p", {}, `${recommendation.note[0].toUpperCase()}${recommendation.note.slice(1)}.`.replace("ask for the purpose confirm to measure it", "“Confirm the recommendation” measures it"));
  return section("decision", "Recommended", worth, certified(certificate), cost(course.cost, summary),
    recommended(course), may ? element("p", {}, copyButton(recommendation.x, "Copy the recommendation")) : null);
}

function certified(found) {
  if (!found) return element("p", { className: "soft" }, "Certificate: not measured. “Measure the certificate” deploys points around the recommendation.");
  if (found.error) return element("p", { className: "soft" }, `Certificate: ${found.error.message.replace(/: ask for the purpose.*/, "")}.`);
  const level = `at ${number(100 * found.confidence, 4)} % confidence, from ${count(found.pairs, "pair")}`;
  if (found.epsilon === null) return element("p", {}, `Certificate: no bound ${level}: ${found.caution}.`);
  return element("p", {}, "Certificate: ", element("b", {}, `(${number(found.radius, 4)}, ${number(found.epsilon, 4)})-Goldstein stationary`), ` ${level}${found.caution ? `, if that can be trusted: ${found.caution}` : ""}.`);
}

// What the search costs: its deployments against control.
function cost(found, summary) {
  if (!found) return element("p", { className: "soft" }, "What the search costs is known once the start was deployed beside it.");
  const each = found.total / found.deployments;
  const verb = summary.direction === "maximize" ? (each > 0 ? "less" : "more") : (each > 0 ? "more" : "less");
  const about = found.error === null ? "" : ` ± ${number(found.error / found.deployments, 2)}`;
  return element("p", { id: "cost" }, "The search: ", element("b", {}, `${number(Math.abs(each), 4)}${about} ${verb} a deployment than the start`),
    `, ${each > 0 ? "a cost" : "a gain"} of ${plusMinus(Math.abs(found.total), found.error)} in all over ${count(found.deployments, "deployment")}, against ${count(found.controls, "deployment")} of the start.`);
}

// What else is measured and has a limit; `halted` says that a hard one was broken.
export function guardrails(seen) {
  const rails = seen.recommendation?.metrics ?? [], { halted } = seen.summary;
  if (!rails.length && !halted) return null;
  const rows = rails.map(one => [named(one.name), one.mean === null ? "not told yet" : plusMinus(one.mean, one.sem), one.limit, one.mean === null ? "" : `${one.n} ${one.basis}`]);
  return section("guardrails", "Guardrails", halted ? element("p", { className: "need" }, `Halted: ${halted}`) : null,
    rows.length ? table("What has a limit", ["metric", "at the recommendation", "limit", "from"], rows, { words: [2, 3] }) : null);
}

export function trials(seen, more) {
  const { known, may } = seen;
  const deedsOf = trial => {
    if (!may.operate) return null;
    const id = trial.id, list = [];
    if (["complete", "failed", "held", "voided"].includes(trial.state)) list.push(act("Correct", `correct-${id}`, () => deeds.correct(seen, trial)));
    if (["complete", "held"].includes(trial.state)) list.push(act("Take back", `void-${id}`, () => deeds.takeBack(seen, trial)));
    return element("div", { className: "deeds" }, list);
  };
  const rows = seen.trials.trials.map(trial => ({
    given: { "data-trial": trial.id },
    cells: [`${trial.id}`, moment(trial.asked_at), kind(trial.kind), element("span", { className: `state ${trial.state}` }, trial.state),
      trial.value === null ? "–" : plusMinus(trial.value, trial.sem), named(trial.holder), sentence(trial.x, known),
      [element("span", { className: "story", dir: "auto" }, trial.story || trial.reason || ""), deedsOf(trial)]],
  }));
  return section("trials", "Deployments",
    rows.length ? table("Every deployment, the newest first", ["trial", "asked", "for", "state", "value", "holder", "decision", "what was said"], rows, { words: [1, 2, 3, 5, 6, 7] }) : element("p", { className: "soft" }, "Nothing was asked yet."),
    seen.trials.next !== null ? element("p", {}, act("Show older ones", "older", more)) : null);
}

const HAPPENED = {
  opened: "a new iteration begins", asked: "was asked for", complete: "was told", failed: "failed", held: "was told, and is held", corrected: "was corrected to",
  voided: "was taken back", doubted: "is doubted, and held", accepted: "was accepted", expired: "expired",
  halted: "the study was halted", resumed: "the study goes on", extended: "the budget was extended", stopped: "the study was stopped",
};

export function log(seen, more) {
  const newest = seen.changes.slice(-seen.logged).reverse();
  const lines = newest.map(change => element("li", { className: change.kind },
    element("time", { datetime: stamp(change.at) }, moment(change.at)),
    element("span", {}, change.trial_id === null ? "" : `trial ${change.trial_id} `, HAPPENED[change.kind] ?? change.kind,
      change.value === null ? "" : ` ${number(change.value)}`, change.holder ? [" by ", named(change.holder)] : "", change.who ? [" by ", named(change.who)] : "",
      change.reason ? [": ", element("bdi", { dir: "auto" }, change.reason)] : "")));
  return section("log", "The log", element("details", { "data-fold": "log" }, element("summary", {}, `${count(seen.changes.length, "row")}, with every correction; the newest first`),
    element("ol", { className: "log", reversed: true, start: seen.changes.length }, lines),
    seen.changes.length > newest.length ? element("p", {}, act("Show older rows", "older-rows", more)) : null));
}
function stamp(at) {
  try { return new Date(at * 1000).toISOString(); } catch { return null; }
}

export function manage(seen) {
  const { summary, may, one, name, plan } = seen;
  const save = format => act(`Export ${format}`, `export-${format}`, async () => {
    try {
      const address = URL.createObjectURL(await one.file(format));
      element("a", { href: address, download: `trials.${format}` }).click();
      URL.revokeObjectURL(address);
    } catch (error) { say(error.message); }
  });
  const spec = plan.spec;
  const facts = [["Begun", moment(plan.created_at)], ["Lease", spec.lease === null ? "no end" : span(spec.lease)], ["Control", spec.control_every === null ? "none" : `the start after every ${count(spec.control_every, "deployment")}`],
    ["Held if", spec.guard ? `${number(spec.guard, 3)} times as far from the others as is usual` : "never"], ["Seed", String(spec.seed)], ["Rows of the log", String(plan.rows)]];
  return section("manage", "The plan", element("dl", { className: "card facts" }, facts.map(([what, value]) => [element("dt", {}, what), element("dd", {}, value)])),
    element("div", { className: "deeds" }, ["csv", "json"].map(save),
      may.admin && summary.stopped === null ? act("Extend the budget", "extend", () => deeds.extend(seen)) : null,
      may.admin && summary.stopped === null ? act("Stop the study", "stop", () => deeds.stop(seen), "danger") : null,
      may.admin ? act("Delete", "delete", () => deeds.remove(seen, name), "danger") : null));
}

// The charts' places: headings, what they show in words, and an empty box each, kept over updates.
export function frames(seen, places, more) {
  const { course, summary } = seen;
  if (!places.values.firstChild) {
    places.values.append(section("values", "Over the calendar", element("p", { className: "told" }), element("div", { className: "card chart" }, element("div", { className: "drawing", role: "img" }))));
    places.paths.append(section("paths", "Each coordinate", element("p", { className: "note" }, "Dots: asked. Dashed: the start. Thick: recommended. Dotted: bounds. Faint lines: the grid."), element("div", { className: "panels" }), element("p", { className: "rest" })));
  }
  const told = inWords(summary, course);
  places.values.querySelector(".told").textContent = told;
  places.values.querySelector(".drawing").setAttribute("aria-label", told);
  places.values.querySelector(".chart").hidden = !course.deployments.length;
  const panels = places.paths.querySelector(".panels");
  const wanted = course.paths.map(path => path.coordinate);
  for (const panel of [...panels.children]) if (!wanted.includes(Number(panel.dataset.coordinate))) { charts.clear(panel.querySelector(".drawing")); panel.remove(); }
  for (const [k, i] of wanted.entries()) {
    const one = course.coordinates[i];
    let panel = panels.querySelector(`[data-coordinate="${i}"]`);
    panel ??= element("figure", { className: "card panel", "data-coordinate": i }, element("figcaption", {}), element("div", { className: "drawing", role: "img" }));
    const range = `${price(one.start, one.places)} → ${price(one.recommended, one.places)}`;
    const limits = [one.low !== null && `at least ${number(one.low)}`, one.high !== null && `at most ${number(one.high)}`, one.step !== null && `in steps of ${number(one.step)}`].filter(Boolean).join(", ");
    panel.querySelector("figcaption").replaceChildren(element("h3", {}, named(one.name)), element("span", {}, range), element("small", {}, limits));
    panel.querySelector(".drawing").setAttribute("aria-label", `${one.name}: from ${range}${limits ? `; ${limits}` : ""}`);
    if (panels.children[k] !== panel) panels.insertBefore(panel, panels.children[k] ?? null);
  }
  const rest = course.coordinates.length - wanted.length;
  places.paths.querySelector(".rest").replaceChildren(...(rest > 0 ? [`The ${wanted.length} coordinates that changed most; ${count(rest, "more is", "more are")} not drawn. `, ...(wanted.length < 100 ? [act("Draw more", "draw-more", more)] : [])] : []));
}

export async function drawings(seen, places) {
  const { course } = seen;
  if (course.deployments.length) await charts.values(places.values.querySelector(".drawing"), course);
  for (const path of course.paths)
    await charts.path(places.paths.querySelector(`[data-coordinate="${path.coordinate}"] .drawing`), course.coordinates[path.coordinate], path.asked, course.deployments);
}

function inWords(summary, course) {
  if (summary.first_answer === null) return "No answer is in yet.";
  let text = `Answers from ${moment(summary.first_answer)} to ${moment(summary.last_answer)}.`;
  const told = summary.values;
  if (told) text += ` ${count(told.n, "value")} told to the search, the first ${number(told.first, 4)}, the last ${number(told.last, 4)}, between ${number(told.low, 4)} and ${number(told.high, 4)}.`;
  if (summary.drift?.slope !== null && summary.drift) text += ` At the start they drift by ${plusMinus(summary.drift.slope, summary.drift.slope_sem)} a day.`;
  if (course.left_out) text += ` The ${course.deployments.length} newest deployments are drawn.`;
  return text;
}
