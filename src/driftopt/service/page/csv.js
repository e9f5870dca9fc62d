// A table of today's prices as spreadsheets write it: name, value, and perhaps low, high and step.

import { decimal } from "./dialogs.js";

const HEADS = {
  name: ["name", "product", "article", "item", "coordinate"],
  value: ["value", "price", "today", "now", "start", "x0"],
  low: ["low", "min", "minimum", "least", "lower"],
  high: ["high", "max", "maximum", "most", "upper"],
  step: ["step", "grid", "increment"],
};
const COLUMNS = Object.keys(HEADS);
export const MOST = 10000;

// Lines of cells: commas, semicolons or tabs, cells in quotation marks.
function separator(text) {
  const first = text.split(/\r?\n/, 1)[0];
  return ["\t", ";", ","].find(one => first.includes(one)) ?? ",";
}

export function cells(text) {
  const mark = separator(text);
  const lines = [[""]];
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
  if (!titled && separator(plain) === ",") refuseDecimalCommas(plain, lines);
  const found = lines.slice(titled ? 1 : 0).map(([number, line]) => row(number, line, columns));
  if (!found.length) throw new Error("below its first line the table is empty");
  if (found.length > MOST) throw new Error(`${found.length} lines are more than ${MOST}`);
  const seen = new Map();
  for (const one of found) {
    if (seen.has(one.name)) throw new Error(`line ${one.line}: ${one.name} stands in line ${seen.get(one.name)} already`);
    seen.set(one.name, one.line);
  }
  return found;
}

// Without titles, tea,2,50 may be 2.50 or the value 2 and the bound 50: nothing is guessed. A point or a quotation
// mark anywhere says that commas stand between cells.
function refuseDecimalCommas(text, lines) {
  const [number, line] = lines.find(([, line]) => line.slice(2).some(Boolean)) ?? [];
  if (number && !/["]|\d\.|\.\d/.test(text))
    throw new Error(`line ${number}: ${line[1]},${line[2]} may be one number or two; write a first line of titles, name,value,low,high,step, or ${line[1]}.${line[2] || 0} with a point`);
}

function row(number, line, columns) {
  if (line.slice(columns.length).some(Boolean))
    throw new Error(`line ${number}: it has ${line.findLastIndex(Boolean) + 1} cells for ${columns.length} columns; write 2.50 with a point, or "2,50" in quotation marks`);
  const made = { line: number, name: "", value: null, low: null, high: null, step: null };
  columns.forEach((column, i) => {
    const text = line[i] ?? "";
    if (!column || text === "") return;
    if (column === "name") { made.name = text; return; }
    try { made[column] = decimal(text); } catch (error) { throw new Error(`line ${number}, ${column}: ${error.message}`); }
  });
  if (made.name === "") throw new Error(`line ${number}: the name is missing`);
  if (made.value === null) throw new Error(`line ${number}: the value of ${made.name} is missing`);
  if (made.low !== null && made.low > made.value) throw new Error(`line ${number}: low, ${made.low}, is above the value of ${made.name}, ${made.value}`);
  if (made.high !== null && made.high < made.value) throw new Error(`line ${number}: high, ${made.high}, is below the value of ${made.name}, ${made.value}`);
  return made;
}
