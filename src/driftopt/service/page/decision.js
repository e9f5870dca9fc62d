// A decision on a few lines: as a table, as a sentence, and to be copied.

import { button, element, named, say, table } from "./dom.js";
import { change, price, short } from "./words.js";

const FEW = 12;

// Coordinates of a course by name, with the places that the study reads them with.
export const readers = course => new Map(course.coordinates.map(one => [one.name, one]));

export function sentence(x, known, most = 4) {
  const entries = Object.entries(x);
  const far = ([name, value]) => { const one = known.get(name); return one ? -Math.abs(value - one.start) / (one.step ?? (Math.abs(one.start) || 1)) : 0; };
  const shown = entries.length <= most ? entries : [...entries].sort((a, b) => far(a) - far(b)).slice(0, most);
  const parts = shown.map(([name, value], i) => [i ? ", " : "", named(short(name)), ` ${price(value, known.get(name)?.places ?? 3)}`]);
  return element("span", {}, parts, entries.length > most ? ` … and ${entries.length - most} more` : "");
}

// What to deploy, against the decision before it.
export function deployment(x, known, caption = "The decision to deploy") {
  const entries = Object.entries(x);
  const rows = entries.map(([name, value]) => {
    const one = known.get(name);
    return [named(name), one ? price(one.start, one.places) : "–", element("b", {}, price(value, one?.places ?? 3)), one ? change(one.start, value, one.places) : "–"];
  });
  return long(table(caption, ["coordinate", "start", "deploy", "change"], rows), caption);
}

export function recommended(course) {
  const rows = course.order.map(i => course.coordinates[i]).map(one =>
    [named(one.name), price(one.start, one.places), element("b", {}, price(one.recommended, one.places)), change(one.start, one.recommended, one.places)]);
  return long(table("The decision", ["coordinate", "start", "recommended", "change"], rows), "The decision");
}

const unfolded = new Set(); // tables that somebody asked to see whole: they stay so when they are drawn anew

// A long table shows its first lines, and the rest on demand.
function long(made, caption) {
  const rows = [...made.querySelectorAll("tbody tr")];
  const place = `${location.hash} ${caption}`;
  if (rows.length <= FEW + 3 || unfolded.has(place)) return made;
  rows.slice(FEW).forEach(row => { row.hidden = true; });
  const unfold = () => { unfolded.add(place); rows.forEach(row => { row.hidden = false; }); more.remove(); };
  const more = button(`Show all ${rows.length}`, unfold, { className: "quiet", "data-focus": "all" });
  made.append(element("p", { className: "more" }, more));
  return made;
}

// Two columns that a spreadsheet takes; the numbers are exact, not rounded.
export function copyButton(x, label = "Copy the decision") {
  const text = Object.entries(x).map(([name, value]) => `${name.replace(/[\t\r\n]/g, " ")}\t${value}`).join("\n");
  return button(label, async event => {
    const here = event.currentTarget;
    try { await navigator.clipboard.writeText(text); } catch { byHand(text, here.parentNode); }
    here.textContent = "Copied";
    say("The decision was copied: names and values in two columns.");
  }, { className: "copy" });
}

// Where the page has no access to the clipboard, as over plain HTTP on another machine.
function byHand(text, place) {
  const area = element("textarea", { className: "off", "aria-hidden": "true" });
  area.value = text;
  place.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
