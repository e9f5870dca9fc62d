"use strict";
// Curves in plain SVG: hover for values, click a name to hide it, switch axes. No library, no request.
(() => {
  const W = 520, H = 300, LEFT = 52, RIGHT = 12, TOP = 12, BOTTOM = 34;
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
  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= raw);
    const out = [];
    for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
    return out;
  }
  function logTicks(low, high) {
    const out = [];
    for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++)
      for (const m of [1, 2, 5]) { const v = m * 10 ** p; if (v >= low * .999 && v <= high * 1.001) out.push(v); }
    return out.length > 9 ? out.filter(v => Math.abs(Math.log10(v) % 1) < 1e-9) : out;
  }
  const brief = v => Math.abs(v) >= 1000 ? `${+(v / 1000).toPrecision(3)}k` : `${+v.toPrecision(3)}`.replace("-", "−");
  const exact = v => v.toFixed(4).replace("-", "−");

  function chart(holder, spec) {
    const hidden = new Set();
    const state = { gap: false, logX: false };
    const canGap = spec.panels.every(panel => panel.best !== null);
    const controls = html("div", "controls");
    const panels = html("div", "panels");

    for (const method of spec.methods) {
      const key = html("button", "key", method.title);
      key.type = "button";
      key.style.setProperty("--key", method.colour);
      key.setAttribute("aria-pressed", "true");
      key.title = "show or hide";
      key.addEventListener("click", () => {
        hidden.has(method.id) ? hidden.delete(method.id) : hidden.add(method.id);
        key.setAttribute("aria-pressed", String(!hidden.has(method.id)));
        draw();
      });
      controls.append(key);
    }
    const modes = html("div", "modes");
    controls.append(modes);
    function mode(label, name, hint) {
      const button = html("button", "mode", label);
      button.type = "button";
      button.title = hint;
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => {
        state[name] = !state[name];
        button.setAttribute("aria-pressed", String(state[name]));
        draw();
      });
      modes.append(button);
    }
    if (canGap) mode("gap to best, log", "gap", "distance to the best known value on a logarithmic axis");
    mode("log queries", "logX", "queries on a logarithmic axis");
    holder.append(controls, panels);

    function draw() {
      panels.replaceChildren(...spec.panels.map(panel));
    }

    function panel(spot) {
      const box = html("div", "panel");
      box.append(html("h4", "", spot.title));
      const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${spec.quantity} over queries, ${spot.title}` });
      box.append(picture);
      const shown = spot.series.filter(s => !hidden.has(s.method));
      const colours = Object.fromEntries(spec.methods.map(m => [m.id, m.colour]));
      const titles = Object.fromEntries(spec.methods.map(m => [m.id, m.title]));

      let [low, high] = spot.limits;
      if (state.gap) {
        const gaps = shown.flatMap(s => s.mean.filter(v => v !== null && v > spot.best).map(v => v - spot.best));
        high = spot.limits[1] - spot.best;
        low = Math.max(Math.min(...gaps, high / 10) * .7, high * 1e-5);
      }
      const firstX = state.logX ? Math.max(1, Math.min(...spot.series.flatMap(s => s.x.filter(x => x > 0)))) : 0;
      const px = x => state.logX
        ? LEFT + (W - LEFT - RIGHT) * Math.log(Math.max(x, firstX) / firstX) / Math.log(spec.budget / firstX)
        : LEFT + (W - LEFT - RIGHT) * x / spec.budget;
      const py = v => {
        const share = state.gap
          ? Math.log(Math.max(v - spot.best, low * .2) / low) / Math.log(high / low)
          : (v - low) / (high - low);
        return TOP + (H - TOP - BOTTOM) * (1 - share);
      };

      const clip = `clip-${Math.random().toString(36).slice(2)}`;
      const region = svg("clipPath", { id: clip });
      region.append(svg("rect", { x: LEFT, y: TOP - 4, width: W - LEFT - RIGHT, height: H - TOP - BOTTOM + 8 }));
      picture.append(region);
      for (const v of state.gap ? logTicks(low, high) : ticks(low, high, 7)) {
        const y = state.gap ? py(v + spot.best) : py(v);
        picture.append(svg("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: y, y2: y }));
        picture.append(svg("text", { x: LEFT - 7, y: y + 4, "text-anchor": "end" }, brief(v)));
      }
      for (const v of state.logX ? logTicks(firstX, spec.budget) : ticks(0, spec.budget, 5))
        picture.append(svg("text", { x: px(v), y: H - BOTTOM + 16, "text-anchor": "middle" }, brief(v)));
      picture.append(svg("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: H - BOTTOM, y2: H - BOTTOM }));
      picture.append(svg("text", { x: W - RIGHT, y: H - 4, "text-anchor": "end" }, "queries"));
      picture.append(svg("text", { x: LEFT, y: H - 4 }, state.gap ? "gap to the best known value" : spec.quantity));

      const curves = svg("g", { "clip-path": `url(#${clip})` });
      for (const s of shown) {
        const ok = s.x.map((_, i) => i).filter(i => s.mean[i] !== null && !(state.logX && s.x[i] < firstX));
        if (!ok.length) continue;
        const up = ok.map(i => `${px(s.x[i]).toFixed(1)},${py(s.high[i]).toFixed(1)}`);
        const down = ok.map(i => `${px(s.x[i]).toFixed(1)},${py(s.low[i]).toFixed(1)}`).reverse();
        curves.append(svg("polygon", { class: "band", points: up.concat(down).join(" "), fill: colours[s.method], "fill-opacity": .14 }));
      }
      for (const s of shown) {
        let path = "", pen = "M";
        s.x.forEach((x, i) => {
          if (s.mean[i] === null || (state.logX && x < firstX)) { pen = "M"; return; }
          path += `${pen}${px(x).toFixed(1)},${py(s.mean[i]).toFixed(1)}`;
          pen = "L";
        });
        curves.append(svg("path", { class: "curve", d: path, fill: "none", stroke: colours[s.method], "stroke-width": 2, "stroke-linejoin": "round" }));
      }
      if (!state.gap && spot.best !== null) {
        const y = py(spot.best);
        curves.append(svg("line", { class: "best", x1: LEFT, x2: W - RIGHT, y1: y, y2: y }));
        picture.append(svg("text", { x: W - RIGHT - 2, y: y + 13, "text-anchor": "end" }, `best known ${exact(spot.best)}`));
      }
      picture.append(curves);

      const guide = svg("line", { class: "guide", y1: TOP, y2: H - BOTTOM, visibility: "hidden" });
      picture.append(guide);
      const tip = html("div", "tip");
      tip.hidden = true;
      box.append(tip);
      picture.addEventListener("pointermove", event => {
        const frame = picture.getBoundingClientRect();
        const share = ((event.clientX - frame.left) / frame.width * W - LEFT) / (W - LEFT - RIGHT);
        if (share < 0 || share > 1 || !shown.length) return leave();
        const at = state.logX ? firstX * (spec.budget / firstX) ** share : share * spec.budget;
        guide.setAttribute("x1", px(at));
        guide.setAttribute("x2", px(at));
        guide.setAttribute("visibility", "visible");
        const values = shown.map(s => {
          let i = 0;
          while (i + 1 < s.x.length && s.x[i + 1] <= at) i++;
          return { s, mean: s.mean[i], spread: s.mean[i] === null ? null : s.high[i] - s.mean[i] };
        }).sort((a, b) => (a.mean ?? Infinity) - (b.mean ?? Infinity));
        tip.replaceChildren(html("b", "", `${Math.round(at).toLocaleString("en")} queries`), ...values.map(v => {
          const line = html("div"), dot = html("i");
          dot.style.background = colours[v.s.method];
          line.append(dot, html("span", "", titles[v.s.method]),
            document.createTextNode(v.mean === null ? "diverged" : `${exact(v.mean)} ± ${exact(v.spread)}`));
          return line;
        }));
        tip.hidden = false;
        const width = tip.offsetWidth, x = event.clientX - frame.left;
        tip.style.left = `${Math.max(0, x + width + 18 < frame.width ? x + 14 : x - width - 14)}px`;
      });
      function leave() { tip.hidden = true; guide.setAttribute("visibility", "hidden"); }
      picture.addEventListener("pointerleave", leave);
      return box;
    }
    draw();
  }

  for (const holder of document.querySelectorAll("[data-chart]")) chart(holder, data[holder.dataset.chart]);
})();
