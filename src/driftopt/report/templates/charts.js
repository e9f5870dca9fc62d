"use strict";
// Curves in plain SVG, drawn at the size they are shown at, so that their text has the page's size everywhere.
// Point at a panel for values, drag across it to zoom, click a name to hide it in all panels, switch axes.
(() => {
  const LEFT = 54, RIGHT = 14, TOP = 30, BOTTOM = 40, NARROWEST = 400;
  const data = JSON.parse(document.getElementById("charts").textContent);

  function svg(name, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    return element;
  }
  function html(name, className, text) {
    const element = document.createElement(name);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }
  function button(className, text, hint, act) {
    const element = html("button", className, text);
    element.type = "button";
    element.title = hint;
    element.addEventListener("click", act);
    return element;
  }
  const press = (element, on) => element.setAttribute("aria-pressed", String(on));

  function linearTicks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= raw * (1 - 1e-9));
    const out = [];
    for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step)
      out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
    return out;
  }
  function logTicks(low, high, count) {
    const all = [];
    for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++)
      for (const m of [1, 2, 5]) { const v = m * 10 ** p; if (v >= low * .999 && v <= high * 1.001) all.push(v); }
    const powers = all.filter(v => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9);
    return all.length > count && powers.length > 1 ? powers : all;
  }
  const brief = v => (Math.abs(v) >= 1000 ? `${+(v / 1000).toPrecision(4)}k` : `${+v.toPrecision(4)}`).replace("-", "−");
  const exact = v => (Math.abs(v) >= 1e5 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toPrecision(4) : v.toFixed(4)).replace("-", "−");

  // A number's place between two others, and back.
  const linear = (low, high) => ({ at: v => (v - low) / (high - low), value: s => low + s * (high - low), ticks: n => linearTicks(low, high, n) });
  const log = (low, high) => ({
    at: v => Math.log(Math.max(v, low * .2) / low) / Math.log(high / low),
    value: s => low * (high / low) ** s,
    ticks: n => logTicks(low, high, n),
  });

  function chart(holder, spec) {
    const state = { hidden: new Set(), gap: false, logX: false, range: null };
    const look = Object.fromEntries(spec.methods.map(m => [m.id, m]));
    const panels = html("div", "panels");
    const whole = button("mode", "whole range", "back to all queries", () => { state.range = null; draw(); });
    holder.append(controls(), panels, html("figcaption", "note", "Point at a curve for its values; drag across a panel to zoom in; click a name to hide it."));

    function controls() {
      const row = html("div", "controls"), keys = html("div", "keys"), modes = html("div", "modes");
      for (const method of spec.methods) {
        const key = button("key", method.title, "show or hide", () => {
          state.hidden.has(method.id) ? state.hidden.delete(method.id) : state.hidden.add(method.id);
          press(key, !state.hidden.has(method.id));
          draw();
        });
        const sample = svg("svg", { width: 26, height: 8, "aria-hidden": "true" });
        sample.append(svg("line", { x1: 1, x2: 25, y1: 4, y2: 4, stroke: method.colour, "stroke-width": 3, "stroke-dasharray": method.dash }));
        key.prepend(sample);
        press(key, true);
        keys.append(key);
      }
      const mode = (label, name, hint) => {
        const element = button("mode", label, hint, () => { state[name] = !state[name]; press(element, state[name]); draw(); });
        press(element, false);
        modes.append(element);
      };
      if (spec.panels.every(panel => panel.best !== null)) mode("gap to best, log", "gap", "distance to the best known value on a logarithmic axis");
      mode("log queries", "logX", "queries on a logarithmic axis");
      modes.append(whole);
      row.append(keys, modes);
      return row;
    }

    function draw() {
      const room = panels.clientWidth || holder.clientWidth, count = spec.panels.length;
      const most = Math.max(1, Math.min(count, Math.floor(room / NARROWEST)));
      const columns = Math.ceil(count / Math.ceil(count / most));  // rows of equal length where that is possible
      panels.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
      const width = Math.max(240, Math.floor((room - 18 * (columns - 1)) / columns));
      whole.hidden = state.range === null;
      panels.replaceChildren(...spec.panels.map(spot => panel(spot, width)));
    }

    // What a panel shows of each method: its visible points, in the units of the vertical axis.
    function visible(spot) {
      const [from, to] = state.range ?? [0, spec.budget];
      const shift = state.gap ? spot.best : 0, floor = state.gap ? 1e-12 : -Infinity;
      return spot.series.filter(s => !state.hidden.has(s.method)).map(s => ({
        method: s.method,
        points: s.x.map((x, i) => s.mean[i] === null ? null : { x, mean: s.mean[i] - shift, low: s.low[i] - shift, high: s.high[i] - shift })
          .filter((p, i, all) => p === null || ((all[i + 1]?.x ?? p.x) >= from && (all[i - 1]?.x ?? p.x) <= to))
          .filter(p => p === null || (p.mean > floor && !(state.logX && p.x <= 0))),
      }));
    }
    function axes(spot, lines) {
      const firstX = Math.max(1, Math.min(...spot.series.flatMap(s => s.x.filter(x => x > 0))));
      const [from, to] = state.range ?? [0, spec.budget];
      const inside = lines.flatMap(l => l.points.filter(p => p && p.x >= from && p.x <= to));
      let [low, high] = spot.limits;
      if (state.gap) {
        high = (state.range && inside.length ? Math.max(...inside.map(p => p.mean)) : spot.limits[1] - spot.best) * 1.05;
        low = Math.max(Math.min(...inside.map(p => p.mean), high / 3) * .8, high * 1e-6);
      } else if (state.range && inside.length) {
        low = Math.min(...inside.map(p => p.low));
        high = Math.max(...inside.map(p => p.high));
        [low, high] = high > low ? [low - .05 * (high - low), high + .05 * (high - low)] : spot.limits;
      }
      const x = state.logX ? log(Math.max(from, firstX), Math.max(to, firstX * 1.1)) : linear(from, to);
      return { x, y: state.gap ? log(low, high) : linear(low, high) };
    }

    function panel(spot, width) {
      const box = html("div", "panel"), lines = visible(spot), { x, y } = axes(spot, lines);
      const height = Math.round(Math.max(250, Math.min(380, width * .56)));
      const right = width - RIGHT, bottom = height - BOTTOM;
      const px = v => LEFT + (right - LEFT) * x.at(v), py = v => bottom - (bottom - TOP) * y.at(v);
      const quantity = state.gap ? `${spec.quantity}: gap to the best known value` : spec.quantity;
      const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${quantity} over queries, ${spot.title}` });
      const clip = `clip-${Math.random().toString(36).slice(2)}`, region = svg("clipPath", { id: clip });
      region.append(svg("rect", { x: LEFT, y: TOP - 4, width: right - LEFT, height: bottom - TOP + 8 }));
      picture.append(region);
      for (const v of y.ticks(6)) {
        picture.append(svg("line", { class: "grid", x1: LEFT, x2: right, y1: py(v), y2: py(v) }));
        picture.append(svg("text", { x: LEFT - 7, y: py(v) + 4, "text-anchor": "end" }, brief(v)));
      }
      for (const v of x.ticks(width < 360 ? 3 : 5))
        picture.append(svg("text", { x: Math.min(px(v), right - 8), y: bottom + 17, "text-anchor": "middle" }, brief(v)));
      picture.append(svg("line", { class: "axis", x1: LEFT, x2: right, y1: bottom, y2: bottom }));
      picture.append(svg("text", { class: "name", x: (LEFT + right) / 2, y: height - 5, "text-anchor": "middle" }, "queries"));
      picture.append(svg("text", { class: "name", x: 2, y: 14 }, quantity));
      picture.append(curves(lines, clip, px, py));
      if (!state.gap && spot.best !== null && y.at(spot.best) >= 0 && y.at(spot.best) <= 1) {
        const level = py(spot.best);
        picture.append(svg("line", { class: "best", x1: LEFT, x2: right, y1: level, y2: level }));
        picture.append(svg("text", { x: right - 2, y: level + 14 < bottom - 1 ? level + 14 : level - 5, "text-anchor": "end" }, `best known ${exact(spot.best)}`));
      }
      box.append(html("h4", "", spot.title), picture);
      pointing(box, picture, spot, lines, x, px, { right, bottom, width });
      return box;
    }

    function curves(lines, clip, px, py) {
      const group = svg("g", { "clip-path": `url(#${clip})` });
      const at = (p, v) => `${px(p.x).toFixed(1)},${py(v).toFixed(1)}`;
      for (const line of lines) {
        const points = line.points.filter(Boolean);
        if (!points.length) continue;
        const edge = [...points.map(p => at(p, p.high)), ...points.map(p => at(p, p.low)).reverse()];
        group.append(svg("polygon", { class: "band", points: edge.join(" "), fill: look[line.method].colour, "fill-opacity": .13 }));
      }
      for (const line of lines) {
        let path = "", pen = "M";
        for (const p of line.points) {
          if (p === null) { pen = "M"; continue; }  // a hole where runs diverged
          path += pen + at(p, p.mean);
          pen = "L";
        }
        const { colour, dash } = look[line.method];
        group.append(svg("path", { class: "curve", d: path, fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash, "stroke-linejoin": "round" }));
      }
      return group;
    }

    // Values under the pointer; with a mouse, dragging chooses a range.
    function pointing(box, picture, spot, lines, x, px, { right, bottom, width }) {
      const guide = svg("line", { class: "guide", y1: TOP, y2: bottom, visibility: "hidden" });
      const chosen = svg("rect", { class: "chosen", y: TOP, height: bottom - TOP, visibility: "hidden" });
      const tip = html("div", "tip");
      tip.hidden = true;
      picture.append(chosen, guide);
      box.append(tip);
      let from = null;
      const place = event => {
        const frame = picture.getBoundingClientRect();
        return (event.clientX - frame.left) / frame.width * width;
      };
      const queries = at => x.value(Math.min(1, Math.max(0, (at - LEFT) / (right - LEFT))));
      const leave = () => { tip.hidden = true; guide.setAttribute("visibility", "hidden"); };
      picture.addEventListener("pointerdown", event => {
        if (event.pointerType === "mouse" && event.button === 0) {
          from = place(event);
          if (event.isTrusted) picture.setPointerCapture(event.pointerId);
        }
      });
      picture.addEventListener("pointermove", event => {
        const at = place(event);
        if (from !== null) {
          const [a, b] = [from, at].map(v => Math.min(right, Math.max(LEFT, v))).sort((p, q) => p - q);
          chosen.setAttribute("x", a);
          chosen.setAttribute("width", b - a);
          chosen.setAttribute("visibility", "visible");
        }
        if (at < LEFT || at > right || !lines.length) return leave();
        guide.setAttribute("x1", at);
        guide.setAttribute("x2", at);
        guide.setAttribute("visibility", "visible");
        tip.replaceChildren(...values(spot, queries(at)));
        tip.hidden = false;
        tip.style.left = `${Math.max(0, at + tip.offsetWidth + 18 < width ? at + 14 : at - tip.offsetWidth - 14)}px`;
      });
      picture.addEventListener("pointerup", event => {
        const range = from === null ? null : [queries(from), queries(place(event))].sort((a, b) => a - b);
        const far = range && Math.abs(place(event) - from) > 12;
        from = null;
        if (far) { state.range = range; draw(); }
      });
      picture.addEventListener("pointerleave", leave);
      picture.addEventListener("dblclick", () => { state.range = null; draw(); });
    }

    function values(spot, at) {
      const shown = spot.series.filter(s => !state.hidden.has(s.method)).map(s => {
        const i = Math.max(0, s.x.findLastIndex(x => x <= at));
        return { method: s.method, mean: s.mean[i], spread: s.mean[i] === null ? null : s.high[i] - s.mean[i] };
      }).sort((a, b) => (a.mean ?? Infinity) - (b.mean ?? Infinity));
      return [html("b", "", `${Math.round(at).toLocaleString("en")} queries`), ...shown.map(v => {
        const line = html("div"), dot = html("i");
        dot.style.background = look[v.method].colour;
        line.append(dot, html("span", "", look[v.method].title),
          document.createTextNode(v.mean === null ? "diverged" : `${exact(v.mean)} ± ${exact(v.spread)}`));
        return line;
      })];
    }

    let drawn = 0;
    new ResizeObserver(() => {
      if (panels.clientWidth && panels.clientWidth !== drawn) { drawn = panels.clientWidth; draw(); }
    }).observe(panels);
    draw();
  }

  for (const holder of document.querySelectorAll("[data-chart]")) chart(holder, data[holder.dataset.chart]);
  // A table wider than its frame says so.
  const cue = new ResizeObserver(entries => entries.forEach(({ target }) =>
    target.parentElement.classList.toggle("wide", target.scrollWidth > target.clientWidth + 1)));
  for (const frame of document.querySelectorAll(".scroll")) cue.observe(frame);
})();
