// Charts by plotly, whose script this server brings. Names never reach it, as it reads markup: they stand in
// headings of the page. Colours are those of the page, by day and by night.

import { element } from "./dom.js";
import { calendar, kind } from "./words.js";

let loading = null;
export function load(address) {
  loading ??= new Promise((done, failed) => {
    document.head.append(element("script", { src: address, onload: () => done(window.Plotly), onerror: () => { loading = null; failed(new Error("The charts' library did not come.")); } }));
  });
  return loading;
}

const HOW = { displayModeBar: false, responsive: true, doubleClick: "reset" };
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const text = () => Math.round(0.75 * parseFloat(getComputedStyle(document.documentElement).fontSize)); // larger on a wall

function layout(place, more = {}) {
  const axis = { gridcolor: colour("line"), zeroline: false, linecolor: colour("line"), tickfont: { size: text() }, automargin: true, fixedrange: false };
  return {
    height: place.clientHeight, margin: { l: 48, r: 12, t: 8, b: 28 }, autosize: true, hovermode: "closest", dragmode: "zoom",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: text(), color: colour("soft") },
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink"), size: text() } },
    xaxis: { ...axis, type: "date", nticks: 6 }, yaxis: { ...axis }, showlegend: false,
    ...more,
  };
}

const inPlace = (low, high) => { const room = (high - low || Math.abs(high) || 1) * .08; return [low - room, high + room]; };

// Values over the calendar: each kind, control with its drift band, what was taken back, what is held.
export function values(place, course) {
  const all = course.deployments.filter(one => calendar(one.at));
  const complete = all.filter(one => one.state === "complete" && one.value !== null);
  const marks = (chosen, name, look, more = {}) => ({
    type: "scatter", mode: "markers", name, x: chosen.map(one => calendar(one.at)), y: chosen.map(one => one.value),
    text: chosen.map(one => `trial ${one.id}`), hovertemplate: "%{text}: %{y:.6~g}<br>%{x|%d %b %Y %H:%M}<extra>" + name + "</extra>", marker: look, ...more,
  });
  const traces = [];
  if (course.band) {
    const x = course.band.at.map(calendar), line = { color: colour("control"), width: 0 };
    traces.push({ type: "scatter", mode: "lines", x, y: course.band.low, line, hoverinfo: "skip", showlegend: false });
    traces.push({ type: "scatter", mode: "lines", x, y: course.band.high, line, fill: "tonexty", fillcolor: colour("control-band"), name: "± 2 standard errors", hoverinfo: "skip" });
    traces.push({ type: "scatter", mode: "lines", x, y: course.band.level, line: { color: colour("control"), width: 1.5, dash: "dash" }, name: "drift of the start", hoverinfo: "skip" });
  }
  for (const name of ["method", "way", "settle", "stationarity", "confirm"]) {
    const chosen = complete.filter(one => one.kind === name && !one.start);
    const look = { color: colour(`kind-${name === "way" || name === "settle" ? "method" : name}`), size: 7, opacity: name === "way" || name === "settle" ? .4 : 1 };
    const error_y = { type: "data", array: chosen.map(one => one.sem ?? 0), visible: chosen.some(one => one.sem), thickness: 1, width: 2 };
    if (chosen.length) traces.push(marks(chosen, kind(name), look, { error_y }));
  }
  const start = complete.filter(one => one.start);
  if (start.length) traces.push(marks(start, "at the start", { color: colour("control"), size: 8, symbol: "square" }));
  const back = all.filter(one => one.first !== null && one.state !== "held");
  if (back.length) traces.push({ ...marks(back, "corrected or taken back", { color: colour("wrong"), size: 8, symbol: "x-thin", line: { width: 2, color: colour("wrong") } }), y: back.map(one => one.first) });
  const seen = [...complete.map(one => one.value), ...(course.band ? [...course.band.low, ...course.band.high] : [])];
  const range = seen.length ? inPlace(Math.min(...seen), Math.max(...seen)) : null;
  const held = all.filter(one => one.state === "held" && one.value !== null);
  const within = value => (range ? Math.min(Math.max(value, range[0]), range[1]) : value);
  // At the edge where they are beyond it: they must not flatten all others.
  if (held.length) traces.push({ ...marks(held, "held", { color: colour("held"), size: 12, symbol: "triangle-up" }, { cliponaxis: false, customdata: held.map(one => one.value), hovertemplate: "%{text}: %{customdata:.6~g}, held<extra></extra>" }), y: held.map(one => within(one.value)) });
  const lost = all.filter(one => one.state === "failed" || one.state === "expired");
  const shapes = lost.map(one => ({ type: "line", yref: "paper", y0: 0, y1: 1, x0: calendar(one.at), x1: calendar(one.at), line: { color: colour("wrong"), width: 1 }, opacity: .5 }));
  if (lost.length) traces.push({ type: "scatter", mode: "lines", x: [null], y: [null], name: "failed or expired", line: { color: colour("wrong"), width: 1 } });
  const how = layout(place, { shapes, showlegend: true, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" } });
  if (range) how.yaxis.range = range;
  return window.Plotly.react(place, traces, how, HOW);
}

// One coordinate: what was asked, the start, the recommendation, its bounds and its grid.
export function path(place, one, asked, deployments) {
  const kept = deployments.map((d, i) => [d, asked[i]]).filter(([d]) => calendar(d.at));
  const x = kept.map(([d]) => calendar(d.at)), y = kept.map(([, value]) => value);
  const seen = [...y, one.start, one.recommended];
  const [low, high] = inPlace(Math.min(...seen), Math.max(...seen));
  const level = (value, look) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: value, y1: value, layer: "below", line: look });
  const shapes = [];
  const near = bound => bound !== null && bound >= low - (high - low) && bound <= high + (high - low);
  const bounds = [one.low, one.high].filter(near);
  const [bottom, top] = inPlace(Math.min(low, ...bounds), Math.max(high, ...bounds));
  const fine = !one.step || (top - bottom) / one.step > 40; // a finer grid would be a grey sheet
  if (!fine)
    for (let k = Math.ceil((bottom - one.start) / one.step); one.start + k * one.step <= top; k++) shapes.push(level(one.start + k * one.step, { color: colour("line"), width: 1 }));
  shapes.push(...bounds.map(bound => level(bound, { color: colour("bound"), width: 1.5, dash: "dot" })));
  shapes.push(level(one.start, { color: colour("control"), width: 1.5, dash: "dash" }));
  shapes.push(level(one.recommended, { color: colour("kind-confirm"), width: 2.5 }));
  const traces = [{ type: "scatter", mode: "markers", x, y, text: kept.map(([d]) => `trial ${d.id}, ${kind(d.kind)}`), hovertemplate: "%{text}: %{y}<br>%{x|%d %b %Y}<extra></extra>", marker: { color: colour("kind-method"), size: 5 } }];
  const how = layout(place, { shapes });
  how.xaxis.nticks = 4;
  how.yaxis.nticks = 4;
  how.yaxis.showgrid = fine;
  how.yaxis.range = [bottom, top];
  if (!x.length) Object.assign(how.xaxis, { showticklabels: false, showgrid: false });
  return window.Plotly.react(place, traces, how, HOW);
}

export const clear = place => window.Plotly?.purge(place);
