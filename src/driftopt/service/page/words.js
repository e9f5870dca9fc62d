// Numbers and times as a person reads them; the same words as in `driftopt study show`.

const MINUS = "−";
const signed = text => text.replace("-", MINUS);

export function number(value, digits = 6) {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return signed(String(value));
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e9 || size < 1e-4)) return signed(value.toExponential(Math.max(0, digits - 1)).replace(/\.?0+e/, "e"));
  return signed(String(+value.toPrecision(digits)));
}

export const price = (value, places) => (Math.abs(value) >= 1e9 ? number(value) : signed(value.toFixed(places)));
export function change(from, to, places) {
  if (from === to) return "0";
  const text = price(to - from, places);
  return (to > from ? "+" : "") + (/[1-9]/.test(text) ? text : number(to - from, 2)); // a small change is no zero
}
export const short = (name, most = 24) => (name.length <= most ? name : `${name.slice(0, most - 1)}…`);
export const plusMinus = (value, error) => (error === null || error === undefined ? number(value, 4) : `${number(value, 4)} ± ${number(error, 2)}`);
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

const SPANS = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
export function span(seconds) {
  for (const [at, [unit, name]] of SPANS.entries()) {
    const finer = SPANS[Math.min(at + 1, SPANS.length - 1)][0];
    const near = Math.floor(seconds / finer + 0.5) * finer;
    if (near === unit || near >= 2 * unit) return count(Math.floor(near / unit + 0.5), name);
  }
  return "less than a second";
}

export function lease(expires, now) {
  if (expires === null) return "no end";
  return expires > now ? `${span(expires - now)} left` : `${span(now - expires)} overdue`;
}

const CALENDAR = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
export function moment(at) {
  const time = new Date(at * 1000);
  return at === null || Number.isNaN(time.getTime()) ? "–" : CALENDAR.format(time);
}
export const ago = (at, now) => (at === null ? "none yet" : `${span(Math.max(0, now - at))} ago`);

// A time as plotly's calendars take it: the reader's own.
export function calendar(at) {
  const time = new Date(at * 1000);
  if (Number.isNaN(time.getTime())) return null;
  return new Date(time.getTime() - time.getTimezoneOffset() * 60000).toISOString().slice(0, 23).replace("T", " ");
}

export const KINDS = {
  method: "search", control: "control", confirm: "confirm", stationarity: "certificate", way: "on the way", settle: "settling",
};
export const kind = name => KINDS[name] ?? name;
