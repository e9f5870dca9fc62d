// What can be done to a study, each said beforehand, and with a way back where the log has one.

import * as api from "./api.js";
import { copyButton, deployment } from "./decision.js";
import { dialog } from "./dialogs.js";
import { element, say } from "./dom.js";
import { count, kind, number, span } from "./words.js";

const REASON = { name: "reason", label: "Reason", hint: "For those who read the log; may be left empty." };

// `seen` is what the page knows of the study: { one, summary, plan, known }.
export async function ask(seen, purpose = "method") {
  const { summary, plan } = seen;
  const who = api.person() || "you";
  const lent = plan.spec.lease === null ? "until it is answered" : `for ${span(plan.spec.lease)}`;
  const mine = summary.out.filter(out => out.holder === api.person());
  const once = api.key();
  const what = {
    method: "The study says what to deploy next.",
    confirm: "The start and the recommendation are deployed in turn, to measure what the recommendation is worth. Four deployments give a first error.",
    stationarity: "Two points around the recommendation are deployed, to measure how little is left to gain nearby.",
  }[purpose];
  const asked = await dialog({
    title: { method: "Ask for the next deployment", confirm: "Confirm the recommendation", stationarity: "Measure the certificate" }[purpose],
    says: [what, `It uses one deployment of the budget: ${summary.spent} of ${summary.budget} are used. It is lent to ${who} ${lent}; after that it may be given to somebody else.`,
      mine.length ? `You have not yet answered ${mine.map(out => `trial ${out.id}`).join(", ")}: without the tick below you are shown that one again.` : null],
    fields: mine.length ? [{ name: "new", label: "Another one all the same", kind: "flag" }] : [],
    deed: "Ask",
    act: async values => {
      const holder = api.person() || undefined;
      return (await seen.one.ask({ purpose, ...(holder ? { holder } : {}), new: values.new ?? false }, once)).trials[0];
    },
  });
  if (asked) { await show(seen, asked); say(`Trial ${asked.id} is out: ${kind(asked.kind)}.`, "Tell what it gave", () => tell(seen, asked)); }
}

export function show(seen, trial) {
  const said = trial.keep ? "It is what is deployed already: nothing changes." : "Deploy this, and tell what it gives.";
  return dialog({
    title: `Trial ${trial.id}: what to deploy`,
    says: [trial.state === "pending" ? said : `It is ${trial.state}${trial.value === null ? "" : `, with the value ${number(trial.value)}`}.`, trial.story || null],
    extra: [deployment(trial.x, seen.known), element("p", {}, copyButton(trial.x))],
  });
}

const VALUE = { name: "value", label: "Value", kind: "number", required: true };
const ERROR = { name: "sem", label: "Its standard error, if known", kind: "number" };

// What else the study wants to know of a deployment: metrics with a limit, covariates, the start's own value.
function beside(spec) {
  return [
    ...Object.keys(spec.limits ?? {}).map(name => ({ part: "metrics", name, label: `Metric: ${name}` })),
    ...(spec.covariates ?? []).map(name => ({ part: "covariates", name, label: `Known: ${name}` })),
    ...(spec.relative_to_control ? [{ part: "control", name: "control", label: "What the start gave at the same time, if known" }] : []),
  ].map((one, i) => ({ ...one, wanted: one.name, name: `beside-${i}`, kind: "number" }));
}
function answer(fields, { value, sem, ...rest }) {
  const told = { value, ...(sem === null ? {} : { sem }) };
  for (const { part, name, wanted } of fields) {
    if (rest[name] === null) continue;
    if (part === "control") told.control = rest[name];
    else (told[part] ??= {})[wanted] = rest[name];
  }
  return told;
}

export async function tell(seen, trial) {
  const more = beside(seen.plan.spec);
  const done = await dialog({
    title: `What did trial ${trial.id} give?`,
    says: ["The answer is recorded, and the study goes on from it. A value far from all others is held until somebody accepts it."],
    fields: [VALUE, ERROR, ...more],
    deed: "Tell",
    act: async values => ({ value: values.value, ...(await seen.one.tell(trial.id, answer(more, values))) }),
  });
  if (!done) return;
  const held = done.state === "held" ? " It is far from all others and held: accept it if it is true." : "";
  say(`Trial ${trial.id} was told ${number(done.value)}.${held}`, "Undo", () => attempt(() => seen.one.void(trial.id, "told by mistake"),
    `The answer of trial ${trial.id} was taken back. Its point is asked again while its iteration is open; otherwise the study goes on without it.`));
}

export async function fail(seen, trial) {
  const done = await dialog({
    title: `Trial ${trial.id} failed`,
    says: ["Say so if it was never deployed, or gave no value. Its point is asked again, which uses another deployment.",
      "If the value turns up after all, “Correct” puts it in place while the point is not answered by another trial."],
    fields: [REASON],
    deed: "It failed",
    act: ({ reason }) => seen.one.fail(trial.id, reason),
  });
  if (done) say(`Trial ${trial.id} is recorded as ${done.state}.`, "It has a value after all", () => correct(seen, trial));
}

export async function correct(seen, trial) {
  const before = trial.value;
  const done = await dialog({
    title: `Correct trial ${trial.id}`,
    says: [before === null ? "It has no value so far." : `So far it has the value ${number(before)}.`,
      "The new value replaces it, as if it had been told at once; what was said before stays in the log. Decisions that were deployed meanwhile stay as they were."],
    fields: [{ ...VALUE, label: "What was truly measured", value: before ?? "" }, { ...ERROR, value: trial.sem ?? "", hint: "Left empty, what was told stays." }, REASON],
    deed: "Correct",
    act: async ({ value, sem, reason }) => ({ value, ...(await seen.one.correct(trial.id, value, sem, reason)) }),
  });
  if (!done) return;
  const back = before === null ? () => seen.one.void(trial.id, "correction undone") : () => asBefore(seen, trial, "correction undone");
  say(`Trial ${trial.id} now has the value ${number(done.value)}.`, "Undo", () => attempt(back, `The correction of trial ${trial.id} was undone.`));
}

export async function takeBack(seen, trial) {
  const done = await dialog({
    title: `Take back the answer of trial ${trial.id}`,
    says: [`Its value ${number(trial.value)} no longer counts; it stays in the log. While its iteration is open the point is asked again, which uses another deployment.`],
    fields: [REASON],
    deed: "Take it back",
    act: ({ reason }) => seen.one.void(trial.id, reason),
  });
  if (done) say(`The answer of trial ${trial.id} was taken back.`, "Undo", () => attempt(() => asBefore(seen, trial, "taken back by mistake"),
    `Trial ${trial.id} has the value ${number(trial.value)} again.`));
}

export async function accept(seen, held) {
  const done = await dialog({
    title: `Accept the answer of trial ${held.id}`,
    says: [`Its value ${number(held.value)} is far from all others. If it is true, it counts from now on, and the study goes on from it.`],
    fields: [REASON],
    deed: "It is true",
    act: ({ reason }) => seen.one.accept(held.id, reason),
  });
  if (done) say(`The answer of trial ${held.id} counts.`, "Undo", () => attempt(() => seen.one.hold(held.id, "accepted by mistake"),
    `The answer of trial ${held.id} is held again.`));
}

export async function extend(seen) {
  const done = await dialog({
    title: "Allow more deployments",
    says: [`${seen.summary.spent} of ${seen.summary.budget} are used. A larger budget cannot be made smaller again; a study can be stopped at any time.`],
    fields: [{ name: "budget", label: "Deployments in all", kind: "number", required: true, value: seen.summary.budget }, REASON],
    deed: "Extend",
    act: ({ budget, reason }) => seen.one.extend(budget, reason),
  });
  if (done) say(`The budget is now ${count(done.budget, "deployment")}.`);
}

export async function resume(seen) {
  const done = await dialog({
    title: "Go on",
    says: [`The study is halted: ${seen.summary.halted}.`, "Go on when what broke the limit is mended: the next deployment can be asked for then, and the study halts again if the limit is broken again."],
    fields: [REASON],
    deed: "Go on",
    act: ({ reason }) => seen.one.resume(reason),
  });
  if (done) say("The study goes on.");
}

export async function stop(seen) {
  const done = await dialog({
    title: "Stop the study",
    says: ["It ends before its budget, for ever: this cannot be undone. Nothing more is asked for the search; what is out may still be answered, and the recommendation may still be confirmed.",
      `${seen.summary.spent} of ${seen.summary.budget} deployments are used.`],
    fields: [REASON],
    deed: "Stop for ever", danger: true,
    act: ({ reason }) => seen.one.stop(reason),
  });
  if (done) say("The study is stopped.");
}

export async function remove(seen, name) {
  const done = await dialog({
    title: "Delete the study",
    says: ["The study and its whole log are deleted, for ever: this cannot be undone, and nobody can read it again. Export it first if it may be needed."],
    fields: [{ name: "name", label: "The study’s name once more", required: true }],
    deed: "Delete for ever", danger: true,
    act: values => {
      if (values.name !== name.trim()) throw new Error("This is not the study’s name; nothing was deleted.");
      return seen.one.remove();
    },
  });
  if (done) { location.hash = "#/"; say(`The study was deleted, with ${count(done.rows, "row")} of its log.`); }
}

// The value that a trial had, with what was told beside it and nothing else; held again if it was held.
async function asBefore(seen, trial, reason) {
  const { covariates, metrics } = trial;
  const [sem, n, control] = [trial.sem, trial.n, trial.control].map(one => one ?? "NaN");
  await seen.one.correct(trial.id, trial.value, sem, reason, { covariates, metrics, n, ...(seen.plan.spec.relative_to_control ? { control } : {}) });
  if (trial.state === "held") await seen.one.hold(trial.id, reason);
}

async function attempt(deed, done) {
  try { await deed(); say(done); } catch (error) { say(error.message); }
}

// Who sits here: deployments are lent to a person, and the log says who did what.
export async function introduce() {
  const done = await dialog({
    title: "Who are you?",
    says: ["Deployments are lent to you by this name, and the log says who corrected what. It is kept in this browser."],
    fields: [{ name: "who", label: "Name", value: api.person() }],
    deed: "Keep",
    act: ({ who }) => { api.keepPerson(who); return true; },
  });
  return done;
}
