// Every deed is said beforehand, in a dialog that keeps the keyboard, and that shows what the server refuses.

import { button, element, field } from "./dom.js";

// Fields: { name, label, kind: "number" | "text" | "area" | "choice" | "flag", value, hint, required, choices }.
// `act(values)` does it; what it throws is shown, and the dialog stays.
export function dialog({ title, says = [], fields = [], deed, danger = false, act, extra = [] }) {
  return new Promise(resolve => {
    const inputs = new Map(fields.map(one => [one.name, input(one)]));
    const wrong = element("p", { className: "wrong", role: "alert" });
    const go = deed && element("button", { type: "submit", className: danger ? "danger" : "main" }, deed);
    const back = button(deed ? "Cancel" : "Close", () => box.close());
    const form = element("form", { novalidate: true, onsubmit: submit },
      element("h2", { id: "dialog-title" }, title),
      says.filter(Boolean).map(text => (typeof text === "string" ? element("p", {}, text) : text)),
      fields.map(one => field(one.label, inputs.get(one.name), one.hint)), extra, wrong,
      element("div", { className: "deeds" }, back, go));
    const box = element("dialog", { "aria-labelledby": "dialog-title" }, form);
    let outcome = null;
    box.addEventListener("close", () => { box.remove(); resolve(outcome); });

    async function submit(event) {
      event.preventDefault();
      wrong.textContent = "";
      let values;
      try {
        values = Object.fromEntries(fields.map(one => [one.name, read(one, inputs.get(one.name))]));
      } catch (error) { wrong.textContent = error.message; error.input?.focus(); return; }
      go.disabled = true;
      try {
        outcome = (await act(values)) ?? true;
        box.close();
      } catch (error) { wrong.textContent = error.message; } finally { go.disabled = false; }
    }

    document.body.append(box);
    box.showModal();
    const first = inputs.values().next().value ?? go ?? back;
    first.focus();
    if (first.select) first.select();
  });
}

function input(one) {
  const given = { name: one.name, value: one.value ?? "", autocomplete: "off", maxlength: 2000 };
  switch (one.kind) {
    case "area": return element("textarea", { ...given, rows: 3 });
    case "flag": return element("input", { type: "checkbox", name: one.name });
    case "choice": {
      const made = element("select", { name: one.name }, one.choices.map(([value, text]) => element("option", { value }, text)));
      made.value = one.value ?? one.choices[0][0];
      return made;
    }
    case "number": return element("input", { ...given, type: "text", inputmode: "decimal" });
    default: return element("input", { ...given, type: one.kind ?? "text" });
  }
}

function read(one, made) {
  if (one.kind === "flag") return made.checked;
  const text = made.value.trim();
  if (text === "") {
    if (one.required) throw Object.assign(new Error(`${one.label}: please fill it in.`), { input: made });
    return one.kind === "number" ? null : "";
  }
  if (one.kind !== "number") return text;
  try { return decimal(text); } catch (error) { throw Object.assign(new Error(`${one.label}: ${error.message}`), { input: made }); }
}

// A number as people type it: 12.5, −3, 1e3, and 12,5 where the comma can mean nothing else.
export function decimal(text) {
  const plain = text.trim().replace(/[\u2212\u2013]/g, "-").replace(/[\s\u00a0\u202f']/g, "");
  const dotted = /^[+-]?\d+,\d{1,2}$/.test(plain) ? plain.replace(",", ".") : plain;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(dotted) || !Number.isFinite(Number(dotted)))
    throw new Error(`“${text.trim()}” is no number; write it like 1234.5`);
  return Number(dotted);
}
