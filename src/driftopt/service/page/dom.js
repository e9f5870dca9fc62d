// Elements, made by hand. Text is only ever set as text: whatever a name holds, it is no markup here.

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

// A name that people chose: it may be written from right to left, and must not turn what stands beside it.
export const named = text => element("bdi", { className: "named", dir: "auto" }, text);

export function button(text, act, given = {}) {
  return element("button", { type: "button", onclick: act, ...given }, text);
}

let numbered = 0;
// A labelled field; `hint` is read with it.
export function field(label, input, hint) {
  const id = (input.id ||= `field-${++numbered}`);
  const told = hint && element("small", { id: `${id}-hint` }, hint);
  if (told) input.setAttribute("aria-describedby", told.id);
  return element("div", { className: "field" }, element("label", { for: id }, label), input, told);
}

export function table(caption, head, rows, given = {}) {
  const cell = (tag, content, index) => {
    const words = given.words?.includes(index);
    return element(tag, { className: words ? "words" : null, scope: tag === "th" ? "row" : null }, content);
  };
  return element("div", { className: "card" },
    element("div", { className: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      element("table", { className: given.className },
        element("caption", {}, caption),
        element("thead", {}, element("tr", {}, head.map((text, i) =>
          element("th", { scope: "col", className: given.words?.includes(i) ? "words" : null }, text)))),
        element("tbody", {}, rows.map(row =>
          element("tr", row.given ?? {}, (row.cells ?? row).map((content, i) => cell(i ? "td" : "th", content, i))))))));
}

export function section(id, title, ...content) {
  return element("section", { id, "aria-labelledby": `${id}-title` }, element("h2", { id: `${id}-title` }, title), content);
}

// A live region that is read aloud; with a deed, a button beside it for a while.
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
