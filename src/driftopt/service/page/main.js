// The page's start: a token, then one view for each address after the sign #.

import * as api from "./api.js";
import { introduce } from "./deeds.js";
import { element, field, trouble } from "./dom.js";
import { list } from "./list.js";
import { study } from "./study.js";
import { wizard } from "./wizard.js";

const content = document.getElementById("content"), person = document.getElementById("person");
let leave = new AbortController(), caller = null;

async function go(again = false) {
  leave.abort();
  leave = new AbortController();
  const signal = leave.signal;
  if (!again) trouble(null);
  if (api.takeToken()) caller = null;
  if (!api.token()) return enter("A token is needed. The link that driftopt serve printed at its start holds one; or paste it here.");
  try { caller ??= await api.caller(); } catch (error) {
    if (error.status === 401) return undefined; // `token-refused` below
    trouble(`${error.message}. The page tries again by itself.`);
    setTimeout(() => { if (!signal.aborted) go(true); }, 3000);
    return undefined;
  }
  if (signal.aborted) return undefined;
  dress();
  content.replaceChildren(element("p", { className: "soft" }, "Loading …"));
  const named = /^#\/study\/(.+)$/.exec(location.hash);
  if (location.hash === "#/new") return wizard(content, caller);
  if (!named) return list(content, caller, signal);
  try { return study(content, decodeURIComponent(named[1]), caller, signal); } catch {
    content.replaceChildren(element("h1", {}, "No study"), element("p", { role: "alert" }, "The address of this page names no study: something in it is cut off."), element("p", {}, element("a", { href: "#/" }, "All studies")));
    return undefined;
  }
}

// The head of every view.
function dress() {
  person.hidden = caller.role === "read";
  person.textContent = api.person() ? `You: ${api.person()}` : "Who are you?";
  document.getElementById("to-new").hidden = caller.role !== "admin" || caller.study !== null;
}

function enter(why) {
  caller = null;
  document.title = "driftopt: token";
  const secret = element("input", { type: "password", autocomplete: "off", spellcheck: "false" });
  const onsubmit = event => { event.preventDefault(); if (secret.value.trim()) { api.keepToken(secret.value.trim()); go(); } };
  content.replaceChildren(element("form", { className: "card enter", onsubmit }, element("h1", {}, "Studies"), element("p", { role: "status" }, why),
    field("Token", secret, "Kept for this window alone, until it is closed."), element("div", { className: "deeds" }, element("button", { type: "submit", className: "main" }, "Come in"))));
  secret.focus();
}

addEventListener("token-refused", event => {
  leave.abort();
  trouble(null);
  api.forgetToken();
  document.querySelector("dialog")?.close();
  enter(event.detail);
});
// Another view: a reader aloud begins at its heading.
addEventListener("hashchange", async () => { await go(); scrollTo(0, 0); content.focus({ preventScroll: true }); });
person.addEventListener("click", async () => { if (await introduce()) dress(); });
document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); content.focus(); });
go();
