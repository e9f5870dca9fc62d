// A table of today's prices as spreadsheets write it: name, value, and perhaps low, high and step.

import { decimal } from "./dom.js";

const HEADS = {
  name: ["name", "product", "article", "item", "coordinate"],
  value: ["value", "price", "today", "now", "start", "x0"],
  low: ["low", "min", "minimum", "least", "lower"],
  high: ["high", "max", "maximum", "most", "upper"],
  step: ["step", "grid", "increment"],
};
const COLUMNS = Object.keys(HEADS);
const MOST = 10000;

// Commas, semicolons or tabs, whichever the first line has.
const separator = text => ["\t", ";", ","].find(one => text.split(/\r?\n/, 1)[0].includes(one)) ?? ",";

// Lines of cells, with cells in quotation marks.
function cells(text) {
  const mark = separator(text), lines = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const sign = text[i], line = lines.at(-1);
    if (quoted) {
      if (sign !== '"') line[line.length - 1] += sign;
      else if (text[i + 1] === '"') { line[line.length - 1] += '"'; i++; } else quoted = false;
    } else if (sign === '"' && line.at(-1).trim() === "") { line[line.length - 1] = ""; quoted = true; }
    else if (sign === mark) line.push("");
    else if (sign === "\n") lines.push([""]);
    else if (sign !== "\r") line[line.length - 1] += sign;
  }
  if (quoted) throw new Error("a quotation mark is not closed");
  return lines.map(line => line.map(cell => cell.trim()));
}

// [{ name, value, low, high, step }], null where a cell is empty; an Error says which line is wrong.
export function prices(text) {
  const plain = text.replace(/^\ufeff/, "");
  const lines = cells(plain).map((line, i) => [i + 1, line]).filter(([, line]) => line.some(Boolean));
  if (!lines.length) throw new Error("the table is empty: one line for each coordinate, name and value");
  const heads = lines[0][1].map(cell => COLUMNS.find(column => HEADS[column].includes(cell.toLowerCase())));
  const titled = heads.includes("name") || heads.includes("value");
  const columns = titled ? heads.slice(0, lines[0][1].findLastIndex(Boolean) + 1) : COLUMNS;
  if (titled && !(heads.includes("name") && heads.includes("value"))) throw new Error("line 1: the columns name and value are needed; low, high and step may follow");
  // Without titles, tea,2,50 may be 2.50 or the value 2 and the bound 50: nothing is guessed. A point or a
  // quotation mark anywhere says that commas are between cells.
  const [at, odd] = lines.find(([, line]) => line.slice(2).some(Boolean)) ?? [];
  if (!titled && at && separator(plain) === "," && !/["]|\d\.|\.\d/.test(plain))
    throw new Error(`line ${at}: ${odd[1]},${odd[2]} may be one number or two; write a first line of titles, name,value,low,high,step, or ${odd[1]}.${odd[2] || 0} with a point`);
  const found = lines.slice(titled ? 1 : 0).map(([number, line]) => row(number, line, columns));
  if (!found.length) throw new Error("below its first line the table is empty");
  if (found.length > MOST) throw new Error(`${found.length} lines are more than ${MOST}`);
  const seen = new Map();
  for (const one of found) {
    if (seen.has(one.name)) throw new Error(`line ${one.line}: ${one.name} is in line ${seen.get(one.name)} already`);
    seen.set(one.name, one.line);
  }
  return found;
}

function row(number, line, columns) {
  const wrong = what => { throw new Error(`line ${number}${what}`); };
  if (line.slice(columns.length).some(Boolean)) wrong(`: it has ${line.findLastIndex(Boolean) + 1} cells for ${columns.length} columns; write 2.50 with a point, or "2,50" in quotation marks`);
  const made = { line: number, name: "", value: null, low: null, high: null, step: null };
  columns.forEach((column, i) => {
    const text = line[i] ?? "";
    if (column === "name") made.name = text;
    else if (column && text !== "") try { made[column] = decimal(text); } catch (error) { wrong(`, ${column}: ${error.message}`); }
  });
  const { name, value, low, high } = made;
  if (name === "") wrong(": the name is missing");
  if (value === null) wrong(`: the value of ${name} is missing`);
  if (low !== null && low > value) wrong(`: low, ${low}, is above the value of ${name}, ${value}`);
  if (high !== null && high < value) wrong(`: high, ${high}, is below the value of ${name}, ${value}`);
  return made;
}
