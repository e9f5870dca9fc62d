// What can be done to a study, each said beforehand, and with a way back where the log has one.

import * as api from "./api.js";
import { button, count, dialog, element, named, number, price, say, table } from "./dom.js";

const REASON = { name: "reason", label: "Reason", hint: "For those who read the log; may be left empty." };
const VALUE = { name: "value", label: "Value", kind: "number", required: true };
const ERROR = { name: "sem", label: "Its standard error, if known", kind: "number" };
const PURPOSES = {
  method: ["Ask for the next deployment", "The study says what to deploy next."],
  confirm: ["Confirm the recommendation", "The start and the recommendation are deployed in turn, to measure what the recommendation is worth. Four deployments give a first error."],
  stationarity: ["Measure the certificate", "Two points around the recommendation are deployed, to measure how little is left to gain nearby."],
};
const used = ({ spent, budget }) => (budget === null ? `${count(spent, "deployment")} so far` : `${spent} of ${budget} are used`);

// `seen` is what the page knows of the study: { one, name, summary, plan }.
export async function ask(seen, purpose = "method") {
  const { summary, plan, one } = seen, holder = api.person(), once = api.key();
  const mine = summary.out.filter(out => holder && out.holder === holder).map(out => `trial ${out.id}`);
  const days = plan.spec.lease === null ? "until it has a result" : `for ${count(Math.round(plan.spec.lease / 86400), "day")}`;
  const asked = await dialog({
    title: PURPOSES[purpose][0],
    says: [PURPOSES[purpose][1], `It uses one deployment of the budget: ${used(summary)}. It is lent to ${holder || "you"} ${days}; after that it may be given to somebody else.`,
      mine.length ? `You have not yet told ${mine.join(", ")}: without the tick below you are shown that one again.` : null],
    fields: mine.length ? [{ name: "new", label: "Another one as well", kind: "flag" }] : [],
    deed: "Ask",
    act: async values => (await one.ask({ purpose, ...(holder ? { holder } : {}), new: values.new ?? !holder }, once)).trials[0],
  });
  if (!asked) return;
  await show(seen, asked);
  say(`Trial ${asked.id} is pending.`, "Tell what it gave", () => tell(seen, asked));
}

export async function show(seen, trial) {
  const known = new Map((await seen.one.see("course?count=0")).coordinates.map(one => [one.name, one]));
  const rows = Object.entries(trial.x).map(([name, value]) => {
    const { start, places } = known.get(name), change = value - start;
    return [named(name), price(start, places), element("b", {}, price(value, places)), change === 0 ? "0" : `${change > 0 ? "+" : ""}${price(change, places)}`];
  });
  const what = trial.keep ? "It is what is deployed already: nothing changes." : "Deploy this, and tell what it gives.";
  return dialog({
    title: `Trial ${trial.id}: what to deploy`,
    says: [trial.state === "pending" ? what : `It is ${trial.state}${trial.value === null ? "" : `, with the value ${number(trial.value)}`}.`, trial.story],
    extra: [table("The decision to deploy", ["coordinate", "start", "deploy", "change"], rows), element("p", {}, copyButton(trial.x))],
  });
}

// Two columns that a spreadsheet takes; the numbers are exact, not rounded.
export function copyButton(x, label = "Copy the decision") {
  const text = Object.entries(x).map(([name, value]) => `${name.replace(/[\t\r\n]/g, " ")}\t${value}`).join("\n");
  return button(label, async event => {
    const here = event.currentTarget;
    try { await navigator.clipboard.writeText(text); } catch { // over plain HTTP on another machine there is no access to it
      const area = element("textarea", { value: text });
      here.after(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    here.textContent = "Copied";
    say("The decision was copied: names and values in two columns.");
  });
}

// What else the study wants to know of a deployment: outputs, metrics with a limit, covariates.
const more = spec => [
  ...(spec.outputs ?? []).map(name => ["outputs", name, `Output: ${name}`]),
  ...Object.keys(spec.limits ?? {}).map(name => ["metrics", name, `Metric: ${name}`]),
  ...(spec.covariates ?? []).map(name => ["covariates", name, `Known: ${name}`]),
  ...(spec.relative_to_control ? [["control", "", "What the start gave at the same time, if known"]] : []),
].map(([part, wanted, label], i) => ({ part, wanted, label, name: `more-${i}`, kind: "number" }));

// The trial's result; a trial whose result was taken back can be told again.
export async function tell(seen, trial) {
  const { spec } = seen.plan, fields = more(spec), again = trial.state === "voided" || trial.state === "failed";
  const done = await dialog({
    title: `What did trial ${trial.id} give?`,
    says: ["The result is recorded, and the study goes on from it. An implausible value is held until somebody accepts it."],
    fields: [{ ...VALUE, required: !spec.outputs?.length }, ERROR, ...fields],
    deed: "Tell",
    act: async ({ value, sem, ...rest }) => {
      const body = { id: trial.id, ...(value === null ? {} : { value }), ...(sem === null ? {} : { sem }) };
      for (const { part, name, wanted } of fields) {
        if (rest[name] === null) continue;
        if (part === "control") body.control = rest[name];
        else (body[part] ??= {})[wanted] = rest[name];
      }
      return { value, ...(await seen.one.change(again ? "correct" : "tell", body)) };
    },
  });
  if (!done) return;
  const usual = seen.summary.values, before = usual ? `; so far ${number(usual.low, 4)} to ${number(usual.high, 4)}` : "";
  const held = done.state === "held" ? " It is implausible and held: accept it if it is true." : "";
  say(`Trial ${trial.id} has the value ${number(done.value)}${before}.${held}`, "Undo", () => attempt(() => seen.one.change("void", { id: trial.id, reason: "told by mistake" }),
    `The result of trial ${trial.id} was taken back. It can be told again in the table of deployments.`));
}

export async function correct(seen, trial) {
  const before = trial.value;
  const done = await dialog({
    title: `Correct trial ${trial.id}`,
    says: [before === null ? "It has no value so far." : `So far it has the value ${number(before)}.`,
      "The new value replaces it; what was recorded before stays in the log. Decisions that were deployed meanwhile stay as they were."],
    fields: [{ ...VALUE, label: "What was truly measured", value: before ?? "" }, { ...ERROR, value: trial.sem ?? "", hint: "Left empty, the recorded one stays." }, REASON],
    deed: "Correct",
    act: async ({ value, sem, reason }) => ({ value, ...(await seen.one.change("correct", { id: trial.id, value, reason, ...(sem === null ? {} : { sem }) })) }),
  });
  if (!done) return;
  const back = before === null ? () => seen.one.change("void", { id: trial.id, reason: "correction undone" }) : () => asBefore(seen, trial, "correction undone");
  say(`Trial ${trial.id} now has the value ${number(done.value)}.`, "Undo", () => attempt(back, `The correction of trial ${trial.id} was undone.`));
}

// A verb on a trial that takes a reason: [title, what it does, its button, what is then said, what undoes it].
const AMENDMENTS = {
  fail: trial => [`Trial ${trial.id} failed`, "Say so if it was never deployed, or gave no value. Its point is asked again, which uses another deployment. If the value turns up after all, “Tell” records it.",
    "It failed", `Trial ${trial.id} is recorded as failed.`],
  void: trial => [`Take back the result of trial ${trial.id}`, `Its value ${number(trial.value)} no longer counts; it stays in the log.`,
    "Take it back", `The result of trial ${trial.id} was taken back.`, seen => asBefore(seen, trial, "taken back by mistake")],
  accept: trial => [`Accept the result of trial ${trial.id}`, `Its value ${number(trial.value)} is implausible. If it is true, it counts from now on, and the study goes on from it.`,
    "It is true", `The result of trial ${trial.id} counts.`, seen => seen.one.change("hold", { id: trial.id, reason: "accepted by mistake" })],
};
export async function amend(seen, verb, trial) {
  const [title, what, deed, told, undo] = AMENDMENTS[verb](trial);
  if (await dialog({ title, says: [what], fields: [REASON], deed, act: ({ reason }) => seen.one.change(verb, { id: trial.id, reason }) }))
    say(told, undo && "Undo", () => attempt(() => undo(seen), `Trial ${trial.id} is as it was before.`));
}

// A verb on the study.
const ON_STUDY = {
  extend: ({ summary }) => ["Allow more deployments", `${used(summary)}. A larger budget cannot be made smaller again; a study can be stopped at any time.`, "Extend"],
  resume: ({ summary }) => ["Go on", `The study is halted: ${summary.halted}. Go on when the cause is mended: the study halts again if the limit is broken again.`, "Go on"],
  stop: ({ summary }) => ["Stop the study", `It ends before its budget, permanently: this cannot be undone. What is pending may still be told, and the recommendation may still be confirmed. ${used(summary)}.`, "Stop permanently"],
};
export async function steer(seen, verb) {
  const [title, what, deed] = ON_STUDY[verb](seen);
  const budget = verb === "extend" ? [{ name: "budget", label: "Deployments in all", kind: "number", required: true, value: seen.summary.budget }] : [];
  const done = await dialog({ title, says: [what], fields: [...budget, REASON], deed, danger: verb === "stop", act: values => seen.one.change(verb, values) });
  if (done) say({ extend: `The budget is now ${done.budget} deployments.`, resume: "The study goes on.", stop: "The study is stopped." }[verb]);
}

export async function remove(seen) {
  const done = await dialog({
    title: "Delete the study",
    says: ["The study and its whole log are deleted permanently: this cannot be undone, and nobody can read it again. Export it first if it may be needed."],
    fields: [{ name: "name", label: "The study’s name once more", required: true }],
    deed: "Delete permanently", danger: true,
    act: ({ name }) => {
      if (name !== seen.name.trim()) throw new Error("This is not the study’s name; nothing was deleted.");
      return seen.one.remove();
    },
  });
  if (done) { location.hash = "#/"; say(`The study was deleted, with ${count(done.rows, "row")} of its log.`); }
}

// The value that a trial had, with what was recorded with it and nothing else; held again if it was held.
async function asBefore(seen, trial, reason) {
  const { id, value, covariates, metrics, outputs } = trial, none = number => number ?? "NaN";
  const control = seen.plan.spec.relative_to_control ? { control: none(trial.control) } : {};
  await seen.one.change("correct", { id, value, sem: none(trial.sem), n: none(trial.n), reason, covariates, metrics, outputs, ...control });
  if (trial.state === "held") await seen.one.change("hold", { id, reason });
}

async function attempt(deed, done) {
  try { await deed(); say(done); } catch (error) { say(error.message); }
}

// Who sits here: deployments are lent to a person, and the log says who did what.
export const introduce = () => dialog({
  title: "Who are you?",
  says: ["Deployments are lent to you by this name, and the log says who corrected what. It is kept in this browser."],
  fields: [{ name: "who", label: "Name", value: api.person() }],
  deed: "Keep",
  act: ({ who }) => { api.keepPerson(who); return true; },
});
