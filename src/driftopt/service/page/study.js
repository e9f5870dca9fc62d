// One study: the server's page of it, with buttons for what may be done; it follows the study's events.

import * as api from "./api.js";
import * as deeds from "./deeds.js";
import { button, element, localTime, named, say, trouble } from "./dom.js";

const AGAIN = 3000; // milliseconds before another try

export async function study(place, name, caller, signal) {
  document.title = `${name} – driftopt`;
  const one = api.study(name), seen = { one, name }, wanted = { coordinates: 12, rows: 25 };
  const live = element("small", { className: "live", role: "status" });

  async function look() {
    const [page, summary, plan] = await Promise.all([one.page(wanted), one.see("summary"), one.plan()]);
    Object.assign(seen, { summary, plan });
    if (!signal.aborted) draw(page);
  }

  // New content in the old place; the keyboard stays where it was, and what was unfolded stays unfolded.
  function draw(page) {
    const focus = place.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
    const open = new Set([...place.querySelectorAll("details[open]")].map(fold => fold.dataset.fold));
    place.innerHTML = page; // every name in it is escaped by the server; the policy lets no script of it run
    for (const fold of place.querySelectorAll("details")) fold.open = open.has(fold.dataset.fold);
    localTime(place);
    place.querySelector(".budget").after(live);
    buttons();
    if (focus) place.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }

  function buttons() {
    const { summary } = seen, operate = caller.role !== "read", admin = caller.role === "admin";
    const put = (where, allowed, text, key, deed, look) => allowed && where?.append(button(text, deed, { "data-focus": key, className: look }));
    const part = id => place.querySelector(`#${id} .deeds:not(li *, td *)`);
    const left = summary.budget === null || summary.spent < summary.budget, known = left && summary.results > 0;
    const ended = summary.stopped !== null || summary.halted || (summary.budget !== null && summary.spent + summary.reserve >= summary.budget);
    put(part("now"), admin && summary.halted, "Go on", "resume", () => deeds.steer(seen, "resume"), "main");
    put(part("now"), operate && !ended, "Ask", "ask", () => deeds.ask(seen), "main");
    put(part("now"), operate && known, "Confirm the recommendation", "confirm", () => deeds.ask(seen, "confirm"));
    put(part("now"), operate && known, "Measure the certificate", "certificate", () => deeds.ask(seen, "stationarity"));
    part("decision").append(deeds.copyButton(JSON.parse(part("decision").dataset.x), "Copy the recommendation"));
    for (const row of place.querySelectorAll("[data-trial]")) {
      const id = row.dataset.trial, state = row.querySelector(".state")?.textContent, where = row.querySelector(".deeds"), inside = row.closest("section").id;
      const act = deed => async () => { try { await deed(await one.see(`trials/${id}`)); } catch (error) { say(error.message); } };
      const on = (allowed, text, key, deed, look) => put(where, allowed, text, `${key}-${id}`, act(deed), look);
      if (inside === "out") {
        on(operate, "Tell", "tell", trial => deeds.tell(seen, trial), "main");
        on(true, "Show", "show", trial => deeds.show(seen, trial));
        on(operate, "Failed", "fail", trial => deeds.amend(seen, "fail", trial));
      } else if (inside === "now") {
        on(operate, "It is true", "accept", trial => deeds.amend(seen, "accept", trial));
        on(operate, "Correct it", "correct-held", trial => deeds.correct(seen, trial));
      } else {
        on(operate && ["voided", "failed"].includes(state), "Tell", "tell-again", trial => deeds.tell(seen, trial));
        on(operate && ["complete", "held"].includes(state), "Correct", "correct", trial => deeds.correct(seen, trial));
        on(operate && ["complete", "held"].includes(state), "Take back", "void", trial => deeds.amend(seen, "void", trial));
      }
    }
    for (const more of place.querySelectorAll("[data-more]"))
      put(more, true, "Show more", more.dataset.more, () => { wanted[more.dataset.more] *= 4; refresh(0); });
    for (const format of ["csv", "json"]) put(part("manage"), true, `Export ${format}`, `export-${format}`, () => save(format));
    put(part("manage"), admin && summary.stopped === null && summary.budget !== null, "Extend the budget", "extend", () => deeds.steer(seen, "extend"));
    put(part("manage"), admin && summary.stopped === null, "Stop the study", "stop", () => deeds.steer(seen, "stop"), "danger");
    put(part("manage"), admin, "Delete", "delete", () => deeds.remove(seen), "danger");
  }

  async function save(format) {
    try {
      const address = URL.createObjectURL(await one.file(format));
      element("a", { href: address, download: `trials.${format}` }).click();
      URL.revokeObjectURL(address);
    } catch (error) { say(error.message); }
  }

  let due = null, later = null, busy = false, again = false;
  // After a burst of events one look is enough.
  function refresh(wait = 60) {
    if (busy) { again = true; return; }
    clearTimeout(due);
    due = setTimeout(async () => {
      if (signal.aborted) return;
      busy = true;
      try { await look(); well(); } catch (error) { if (!signal.aborted) broken(error); } finally { busy = false; }
      if (again) { again = false; refresh(); }
    }, wait);
  }
  const well = () => { clearTimeout(later); if (trouble(null)) say("The server answers again."); };
  function broken(error) {
    if (api.passes(error)) { trouble(`${error.message}. What is shown may be old; the page tries again by itself.`); later = setTimeout(refresh, AGAIN, 0); return; }
    place.replaceChildren(element("h1", {}, named(name)), element("div", { className: "card broken", role: "alert" },
      element("h2", {}, error.kind === "DamagedLog" ? "The log of this study is damaged" : error.title || "This study cannot be shown"), element("p", {}, `${error.message}.`),
      error.status === 500 ? element("p", {}, "Nothing was changed, and nothing can be asked or told here until that is mended.") : null,
      element("p", {}, element("a", { href: "#/" }, "All studies"))));
  }
  function heard(change) {
    if (change.kind === "deleted") { location.hash = "#/"; say("The study was deleted."); } else refresh();
  }
  function linked(on, error) {
    live.textContent = on ? "Follows the study" : "Not following: the server does not answer";
    live.classList.toggle("lost", !on);
    if (error) broken(error);
    else if (on) refresh(0);
    else trouble("The server does not answer. What is shown may be old; the page tries again by itself.");
  }

  for (;;) {
    try { await look(); break; } catch (error) {
      if (signal.aborted) return;
      if (!api.passes(error)) { broken(error); return; }
      trouble(`${error.message}. The page tries again by itself.`);
      await api.pause(AGAIN, signal);
    }
    if (signal.aborted) return;
  }
  well();
  api.follow(one, seen.plan.rows, heard, linked, signal);
}
