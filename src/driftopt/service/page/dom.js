// Elements, dialogs, numbers. Text is only ever set as text: whatever a name holds, it is no markup here.

export function element(name, given = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "value") made.value = value;
    else made.setAttribute(key === "className" ? "class" : key, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return made;
}

// A name that people chose: it may be written from right to left, and must not turn what is next to it.
export const named = text => element("bdi", { className: "named", dir: "auto" }, text);
export const button = (text, act, given = {}) => element("button", { type: "button", onclick: act, ...given }, text);

let numbered = 0;
// A labelled field; `hint` is read with it.
export function field(label, input, hint) {
  const id = (input.id ||= `field-${++numbered}`);
  const help = hint && element("small", { id: `${id}-hint` }, hint);
  if (help) input.setAttribute("aria-describedby", help.id);
  return element("div", { className: "field" }, element("label", { for: id }, label), input, help);
}

export function table(caption, heads, rows) {
  const line = (row, name) => element("tr", {}, row.map((content, i) => element(i ? name : "th", { scope: name === "th" ? "col" : i ? null : "row", className: i ? null : "words" }, content)));
  return element("div", { className: "card" }, element("div", { className: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element("table", {}, element("caption", {}, caption), element("thead", {}, line(heads, "th")), element("tbody", {}, rows.map(row => line(row, "td"))))));
}

// A live region that is read aloud; with a deed, a button next to it.
export function say(text, label, act) {
  const place = document.getElementById("said");
  const close = button("Close", () => place.replaceChildren(), { className: "quiet" });
  const deed = label && button(label, () => { place.replaceChildren(); act(); });
  place.replaceChildren(element("p", {}, text), element("div", {}, deed, close));
}

// A bar across the page while something is wrong; returns whether one was there.
export function trouble(text) {
  const place = document.getElementById("trouble"), before = !place.hidden;
  place.hidden = !text;
  if (place.textContent !== (text ?? "")) place.textContent = text ?? "";
  return before;
}

// Every deed is said beforehand, in a dialog that keeps the keyboard, and that shows what the server refuses.
// Fields: { name, label, kind: "number" | "text" | "flag", value, hint, required }. `act(values)` does it.
export function dialog({ title, says = [], fields = [], deed, danger = false, act, extra = [] }) {
  return new Promise(resolve => {
    const inputs = new Map(fields.map(one => [one.name, element("input", one.kind === "flag" ? { type: "checkbox", name: one.name }
      : { type: "text", inputmode: one.kind === "number" ? "decimal" : null, name: one.name, value: one.value ?? "", autocomplete: "off", maxlength: 2000 })]));
    const wrong = element("p", { className: "wrong", role: "alert" });
    const go = deed && element("button", { type: "submit", className: danger ? "danger" : "main" }, deed);
    const back = button(deed ? "Cancel" : "Close", () => box.close());
    const form = element("form", { novalidate: true, onsubmit: submit },
      element("h2", { id: "dialog-title" }, title), says.filter(Boolean).map(text => element("p", {}, text)),
      fields.map(one => field(one.label, inputs.get(one.name), one.hint)), extra, wrong, element("div", { className: "deeds" }, back, go));
    const box = element("dialog", { "aria-labelledby": "dialog-title" }, form);
    let outcome = null;
    box.addEventListener("close", () => { box.remove(); resolve(outcome); });

    async function submit(event) {
      event.preventDefault();
      wrong.textContent = "";
      go.disabled = true;
      try {
        outcome = (await act(Object.fromEntries(fields.map(one => [one.name, read(one, inputs.get(one.name))])))) ?? true;
        box.close();
      } catch (error) { wrong.textContent = error.message; error.input?.focus(); } finally { go.disabled = false; }
    }

    document.body.append(box);
    box.showModal();
    const first = inputs.values().next().value ?? go ?? back;
    first.focus();
    first.select?.();
  });
}

function read(one, input) {
  if (one.kind === "flag") return input.checked;
  const text = input.value.trim();
  try {
    if (text === "" && one.required) throw new Error("please fill it in.");
    return one.kind !== "number" ? text : text === "" ? null : decimal(text);
  } catch (error) { throw Object.assign(new Error(`${one.label}: ${error.message}`), { input }); }
}

// A number as people type it: 12.5, −3, 1e3, and 12,5 where the comma can mean nothing else.
export function decimal(text) {
  const plain = text.trim().replace(/[\u2212\u2013]/g, "-").replace(/[\s\u00a0\u202f']/g, "");
  const dotted = /^[+-]?\d+,\d{1,2}$/.test(plain) ? plain.replace(",", ".") : plain;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(dotted) || !Number.isFinite(Number(dotted)))
    throw new Error(`“${text.trim()}” is not a number; write it like 1234.5`);
  return Number(dotted);
}

// Numbers and times as a person reads them.
const signed = text => text.replace("-", "−");
export function number(value, digits = 6) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return signed(size !== 0 && (size >= 1e9 || size < 1e-4) ? value.toExponential(digits - 1).replace(/\.?0+e/, "e") : (+value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 20 }));
}
export const price = (value, places) => (Math.abs(value) >= 1e9 ? number(value) : signed(value.toFixed(places)));
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
const CALENDAR = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
export const moment = at => CALENDAR.format(new Date(at * 1000));
export const localTime = place => place.querySelectorAll("time").forEach(one => { one.textContent = CALENDAR.format(new Date(one.dateTime)); });
