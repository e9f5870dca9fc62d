// The page's start: a token, then one view for each address after the sign #.

import * as api from "./api.js";
import { introduce } from "./deeds.js";
import { element, field, trouble } from "./dom.js";
import { list } from "./list.js";
import { study } from "./study.js";
import { wizard } from "./wizard.js";

const content = document.getElementById("content");
let leave = new AbortController();
let caller = null;

async function go() {
  leave.abort();
  leave = new AbortController();
  const signal = leave.signal;
  trouble(null);
  if (api.takeToken()) caller = null;
  if (!api.token()) return enter("A token is needed. The link that driftopt serve printed at its start holds one; or paste it here.");
  try {
    caller ??= await api.caller();
  } catch (error) {
    if (error.status === 401) { api.forgetToken(); return enter(error.message); }
    trouble(`${error.message} The page tries again.`);
    setTimeout(() => { if (!signal.aborted) go(); }, 3000);
    return undefined;
  }
  if (signal.aborted) return undefined;
  dress();
  content.replaceChildren(element("p", { className: "soft" }, "Loading …"));
  const named = /^#\/study\/(.+)$/.exec(location.hash);
  if (named) return study(content, decodeURIComponent(named[1]), caller, signal);
  if (location.hash === "#/new") return wizard(content, caller, signal);
  return list(content, caller, signal);
}

// What stands in the head of every view.
function dress() {
  const person = document.getElementById("person");
  person.hidden = caller.role === "read";
  person.textContent = api.person() ? `You: ${api.person()}` : "Who are you?";
  document.getElementById("to-new").hidden = caller.role !== "admin" || caller.study !== null;
}

function enter(why) {
  caller = null;
  document.title = "driftopt: token";
  const secret = element("input", { type: "password", autocomplete: "off", spellcheck: "false" });
  content.replaceChildren(element("form", {
    className: "card enter",
    onsubmit: event => { event.preventDefault(); if (secret.value.trim()) { api.keepToken(secret.value.trim()); go(); } },
  }, element("h1", {}, "Studies"), element("p", { role: "status" }, why), field("Token", secret, "Kept for this window alone, until it is closed."),
  element("div", { className: "deeds" }, element("button", { type: "submit", className: "main" }, "Come in"))));
  secret.focus();
}

// Another view: whoever reads the page aloud begins at its heading.
addEventListener("hashchange", async () => { await go(); scrollTo(0, 0); content.focus({ preventScroll: true }); });
document.getElementById("person").addEventListener("click", async () => { if (await introduce()) dress(); });
document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); content.focus(); });
go();
