// A new study, from a small form or a table of today's prices; what it will do is said before it is begun.

import * as api from "./api.js";
import { prices } from "./csv.js";
import { button, count, decimal, element, field, named, number, say, table } from "./dom.js";

const text = (given = {}) => element("input", { type: "text", autocomplete: "off", maxlength: 200, ...given });
const amount = (value, given) => text({ inputmode: "decimal", value, onfocus: event => event.target.select(), ...given });

export function wizard(place, caller) {
  document.title = "driftopt: new study";
  const name = text(), method = text();
  const direction = element("select", {}, element("option", { value: "" }, "– choose –"), element("option", { value: "maximize" }, "large: profit, sales"), element("option", { value: "minimize" }, "small: cost, waste"));
  const area = element("textarea", { rows: 8, spellcheck: "false", placeholder: "name,value,low,high,step\ntea,2.50,2.00,3.20,0.05\noil,9.90,8.50,12.00,0.10" });
  const file = element("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv" });
  const budget = amount("", { placeholder: "60" }), control = amount(5), reserve = amount("", { placeholder: "8" }), lease = amount(7), radius = amount(""), loss = amount("");
  const wrong = element("p", { className: "wrong", role: "alert" }), shown = element("div", { "aria-live": "polite" });
  const go = element("button", { type: "submit", className: "main" }, "Begin the study");
  let once = api.key();

  file.addEventListener("change", async () => {
    if (!file.files.length) return;
    if (file.files[0].size > 500000) { wrong.textContent = "The file is larger than 500 kB: it is not a table of prices."; return; }
    area.value = await file.files[0].text();
    preview();
  });
  for (const one of [name, direction, area, budget, control, reserve, lease, radius, loss, method]) one.addEventListener("input", () => { once = api.key(); preview(); });

  // What the server takes; empty fields are left out.
  function plan() {
    const lines = prices(area.value);
    const given = (input, what) => {
      if (input.value.trim() === "") return undefined;
      try { return decimal(input.value); } catch (error) { throw new Error(`${what}: ${error.message}`); }
    };
    if (!name.value.trim()) throw new Error("The study needs a name.");
    if (!direction.value) throw new Error("Values should be large or small: please choose.");
    const days = given(lease, "Days for a result"), share = given(loss, "Largest loss");
    return {
      name: name.value.trim(), x0: lines.map(line => line.value), names: lines.map(line => line.name), direction: direction.value, budget: given(budget, "Deployments in all"),
      control_every: given(control, "Control"), reserve: given(reserve, "Kept for confirming"), radius: given(radius, "First guess"), method: method.value.trim() || undefined,
      lease: days === undefined ? null : days * 86400, max_loss: share === undefined ? undefined : share / 100,
      bounds: lines.some(line => line.low !== null || line.high !== null) ? lines.map(line => [line.low, line.high]) : undefined,
      grid: lines.some(line => line.step !== null) ? lines.map(line => line.step) : undefined,
    };
  }

  function preview() {
    wrong.textContent = "";
    if (!area.value.trim()) { shown.replaceChildren(); return; }
    try {
      const lines = prices(area.value), few = lines.slice(0, 8), every = control.value.trim(), kept = reserve.value.trim();
      shown.replaceChildren(table(`${count(lines.length, "coordinate")}${lines.length > few.length ? `, the first ${few.length}` : ""}`, ["name", "today", "low", "high", "step"],
        few.map(line => [named(line.name), number(line.value), number(line.low), number(line.high), number(line.step)])),
      element("p", {}, `Nothing is deployed by itself: the study says what to deploy when it is asked, ${budget.value.trim() ? `${budget.value.trim()} times in all` : "until it is stopped"}, and never outside low and high. ` +
        `${kept ? `${kept} of them are kept to measure what the recommendation is worth. ` : ""}${every ? `Today’s decision is deployed again after every ${every} others, to see the world drift.` : ""}`));
    } catch (error) { shown.replaceChildren(element("p", { className: "wrong" }, `The table: ${error.message}.`)); }
  }

  async function submit(event) {
    event.preventDefault();
    wrong.textContent = "";
    go.disabled = true;
    try {
      const begun = await api.create(plan(), once);
      location.hash = `#/study/${encodeURIComponent(begun.name)}`;
      say("The study is begun. Ask for the first deployment.");
    } catch (error) {
      wrong.textContent = error.message;
      wrong.scrollIntoView({ block: "nearest" });
    } finally { go.disabled = false; }
  }

  const addLine = () => { area.value += `${area.value && !area.value.endsWith("\n") ? "\n" : ""}name,1.00,,,`; area.focus(); preview(); };
  const group = (title, ...fields) => element("fieldset", { className: "card" }, element("legend", {}, title), fields);
  place.replaceChildren(element("h1", {}, "New study"), caller.role === "admin" && caller.study === null ? "" : element("p", { className: "wrong" }, `The token ${caller.name} may not begin studies: this needs an admin’s.`),
    element("form", { className: "wizard", onsubmit: submit, novalidate: true },
      group("What", field("Name", name, "Everybody sees the study under this name."), field("Values should be", direction, "What is told for each deployment.")),
      group("Today’s decision", field("A table: name and value, and where wanted low, high and step", area, "From a spreadsheet, with or without a first line of titles. Every decision stays between low and high, and on the steps."),
        field("or a file", file), element("p", {}, button("Add a line", addLine, { className: "quiet" })), shown),
      group("How much", field("Deployments in all", budget, "The budget; empty: until the study is stopped."),
        field("Today’s decision again after every", control, "deployments, to see the world drift; empty: never."),
        field("Kept for confirming", reserve, "deployments of the budget that measure what the recommendation is worth; 8 are usual."),
        field("Days for a result", lease, "after which a deployment may be given to somebody else; empty: never."),
        field("First guess of a change", radius, "About how far a trial is from the present; empty: the study finds out."),
        field("Largest loss of a deployment, in per cent", loss, "of what today’s decision gives; empty: no limit."),
        field("Method", method, "Empty, unless you know better; some methods need the first guess.")),
      wrong, element("div", { className: "deeds" }, go)));
  name.focus();
}
