// A new study, from a small form or a table of today's prices; what it will do is said before it is begun.

import * as api from "./api.js";
import { prices } from "./csv.js";
import { decimal } from "./dialogs.js";
import { button, element, field, named, say, table } from "./dom.js";
import { count, number } from "./words.js";

const text = (given = {}) => element("input", { type: "text", autocomplete: "off", maxlength: 200, ...given });
const whole = value => text({ inputmode: "numeric", value });

export function wizard(place, caller) {
  document.title = "driftopt: new study";
  const name = text();
  const direction = element("select", {}, element("option", { value: "maximize" }, "large: profit, sales"), element("option", { value: "minimize" }, "small: cost, waste"));
  const area = element("textarea", { rows: 8, spellcheck: "false", placeholder: "name,value,low,high,step\ntea,2.50,2.00,3.20,0.05\noil,9.90,8.50,12.00,0.10" });
  const file = element("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv" });
  const budget = whole(60), control = whole(5), reserve = whole(8), lease = whole(7), radius = text({ inputmode: "decimal" }), method = text();
  const wrong = element("p", { className: "wrong", role: "alert" });
  const shown = element("div", { "aria-live": "polite" });
  const go = element("button", { type: "submit", className: "main" }, "Begin the study");
  let once = api.key();

  file.addEventListener("change", async () => {
    if (!file.files.length) return;
    if (file.files[0].size > 500000) { wrong.textContent = "The file is larger than 500 kB: it is no table of prices."; return; }
    area.value = await file.files[0].text();
    preview();
  });
  for (const one of [name, direction, area, budget, control, reserve, lease, radius, method]) one.addEventListener("input", () => { once = api.key(); preview(); });

  function plan() {
    const lines = prices(area.value);
    const wants = (input, what, optional) => {
      if (optional && input.value.trim() === "") return null;
      try { return decimal(input.value); } catch (error) { throw new Error(`${what}: ${error.message}`); }
    };
    if (!name.value.trim()) throw new Error("The study needs a name.");
    const made = { name: name.value.trim(), x0: lines.map(line => line.value), names: lines.map(line => line.name), budget: wants(budget, "Deployments in all"), direction: direction.value, reserve: wants(reserve, "Kept for confirming") };
    const every = wants(control, "Control", true), days = wants(lease, "Lease", true), far = wants(radius, "First guess", true);
    if (every !== null) made.control_every = every;
    if (far !== null) made.radius = far;
    if (method.value.trim()) made.method = method.value.trim();
    made.lease = days === null ? null : days * 86400;
    if (lines.some(line => line.low !== null || line.high !== null)) made.bounds = lines.map(line => [line.low, line.high]);
    if (lines.some(line => line.step !== null)) made.grid = lines.map(line => line.step);
    return { made, lines };
  }

  function preview() {
    wrong.textContent = "";
    if (!area.value.trim()) { shown.replaceChildren(); return; }
    try {
      const lines = prices(area.value);
      const say = value => (value === null ? "–" : number(value));
      const few = lines.slice(0, 8);
      shown.replaceChildren(table(`${count(lines.length, "coordinate")}${lines.length > few.length ? `, the first ${few.length}` : ""}`, ["name", "today", "low", "high", "step"],
        few.map(line => [named(line.name), say(line.value), say(line.low), say(line.high), say(line.step)])), element("p", {}, promise()));
    } catch (error) { shown.replaceChildren(element("p", { className: "wrong" }, `The table: ${error.message}.`)); }
  }
  function promise() {
    const kept = reserve.value.trim() || "0", every = control.value.trim();
    return `Nothing is deployed by itself: the study says what to deploy when it is asked, ${budget.value.trim() || "?"} times in all and never outside low and high. ` +
      `${kept} of them are kept to measure what the recommendation is worth${every ? `, and today’s decision is deployed again after every ${every} others, to see the world drift` : ""}.`;
  }

  async function submit(event) {
    event.preventDefault();
    wrong.textContent = "";
    go.disabled = true;
    try {
      const { made } = plan();
      const begun = await api.create(made, once);
      location.hash = `#/study/${encodeURIComponent(begun.name)}`;
      say("The study is begun. Ask for the first deployment.");
    } catch (error) { wrong.textContent = error.message; wrong.scrollIntoView({ block: "nearest" }); } finally { go.disabled = false; }
  }

  place.replaceChildren(element("h1", {}, "New study"), caller.role === "admin" && caller.study === null ? "" : element("p", { className: "wrong" }, `The token ${caller.name} may not begin studies: this needs an admin’s.`),
    element("form", { className: "wizard", onsubmit: submit, novalidate: true },
      element("fieldset", { className: "card" }, element("legend", {}, "What"),
        field("Name", name, "Everybody sees the study under this name."),
        field("Values should be", direction, "What is told for each deployment.")),
      element("fieldset", { className: "card" }, element("legend", {}, "Today’s decision"),
        field("A table: name and value, and where wanted low, high and step", area, "From a spreadsheet, with or without a first line of titles. Every decision stays between low and high, and on the steps."),
        field("or a file", file), element("p", {}, button("Add a line", () => { area.value += `${area.value && !area.value.endsWith("\n") ? "\n" : ""}name,1.00,,,`; area.focus(); preview(); }, { className: "quiet" })), shown),
      element("fieldset", { className: "card" }, element("legend", {}, "How much"),
        field("Deployments in all", budget, "The budget. It can be extended, and the study stopped before."),
        field("Today’s decision again after every", control, "deployments, to see the world drift; empty: never."),
        field("Kept for confirming", reserve, "deployments that measure what the recommendation is worth."),
        field("Days for an answer", lease, "after which a deployment may be given to somebody else; empty: never."),
        field("First guess of a change", radius, "About how far a trial is from the present; empty: the study finds out."),
        field("Method", method, "auto, unless you know better; some methods need the first guess.")),
      wrong, element("div", { className: "deeds" }, go)));
  name.focus();
}
