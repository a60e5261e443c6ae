// What the page shows of its dialogues, and the address that says so.

const data = JSON.parse(document.getElementById("data").textContent);
const PAGE = 100; // rows that are shown at once
const MARKS = { correct: "✓", missed: "○", wrong: "✗", over: "+", "no-prediction": "?" };
const KINDS = [["missed", "missed"], ["wrong", "wrong"], ["over", "over-predicted"], ["no-prediction", "no prediction"]];
const several = data.runs.length > 1;
const main = data.metrics[0];
const FILTER = {
  extra: several ? `runs:${main}` : "",
  ...{ search: "", errors: "", slot: "", where: main, least: "", most: "" },
  ...{ sort: "worth", order: "" },
};
// All of it by default; the address has what differs from this.
const DEFAULTS = { run: data.runs[0], beside: data.runs[1] ?? "", ...FILTER, dialogue: "", turn: "", carried: "" };
const state = { ...DEFAULTS };
let shown = PAGE; // the number of rows in the list
let order = []; // the dialogues that are listed, by index

/** What can be chosen for a part of the state, value and text; null: any text. */
function choices(key) {
  const runs = data.runs.map((name) => [name, name]);
  const titles = (all) => all.map(({ key, title }) => [key, title]);
  const isNumber = (value) => value === "" || Number.isFinite(Number(value));
  switch (key) {
    case "run": return runs;
    case "beside": return [["", "no other"], ...runs];
    case "extra": return [["", "none"], ...titles(extras())];
    case "errors": return [["", "any or no error"], ["any", "any error"], ...KINDS];
    case "slot": return [["", "any slot"], ...[...data.slots].sort((a, b) => a.localeCompare(b)).map((name) => [name, name])];
    case "where": return titles(columns().slice(1));
    case "sort": return [["worth", "what is worth seeing"], ...titles(columns())];
    case "order": return [["", "ascending"], ["descending", "descending"]];
    case "least": case "most": return isNumber(state[key]) ? null : [];
    case "dialogue": return ["", ...data.dialogues].map((id) => [id]);
    case "turn": return ["", "all", ...(data.turns[openIndex()] ?? [])].map((turn) => [String(turn)]);
    case "carried": return [[""], ["shown"]];
    default: return null;
  }
}
const openIndex = () => data.dialogues.indexOf(state.dialogue);
const isChoice = (key) => choices(key)?.some(([value]) => value === state[key]) ?? true;

/** Change the state, and what depends on the change. */
function change(changes) {
  Object.assign(state, changes);
  if (changes.errors === "") state.slot = "";
  if (state.slot && !state.errors) state.errors = "any";
  if (!isChoice("extra")) state.extra = "";
  for (const key of ["where", "sort"]) if (!isChoice(key)) state[key] = DEFAULTS[key];
}

/** The address of the state, after changes. */
const addressOf = (changes = {}) => {
  const all = Object.entries({ ...state, ...changes });
  return new URLSearchParams(all.filter(([key, value]) => value !== DEFAULTS[key])).toString();
};

// The slash tells it from a link to a place on the page.
const hashOf = (address) => (address ? `#/${address}` : "#dialogues");

/** Set the state to what an address says; say what of it the report does not have. */
function read(address) {
  const unknown = [];
  Object.assign(state, DEFAULTS);
  const parts = new URLSearchParams(address);
  for (const key of Object.keys(DEFAULTS).filter((key) => parts.has(key))) {
    state[key] = parts.get(key);
    if (isChoice(key)) continue;
    unknown.push(`${key} “${state[key]}”`);
    state[key] = DEFAULTS[key];
  }
  unknown.push(...[...parts.keys()].filter((key) => !(key in DEFAULTS)).map((key) => `“${key}”`));
  change({});
  const line = visible(`The address asks for what is not in this report: ${unknown.join(", ")}.`);
  notice.textContent = unknown.length ? line : "";
}

/** Change the state, write its address, and draw it. A step to another dialogue or turn replaces the address: Back closes. */
function go(changes, { replace = false, drawn = draw } = {}) {
  change(changes);
  notice.textContent = "";
  const address = addressOf();
  const write = replace ? "replaceState" : "pushState";
  if (address !== history.state) history[write](address, "", hashOf(address));
  drawn();
}

/** Show what the address asks for. A link to a chapter leaves the view as it is, and keeps it for Back. */
function follow() {
  const hash = location.hash.replace(/^#\/?/, "");
  const isAddress = hash.includes("=");
  const address = isAddress ? hash : history.state;
  const before = state.dialogue;
  const isView = typeof address === "string";
  if (isView) {
    read(address);
    shown = PAGE;
  }
  history.replaceState(addressOf(), "");
  draw();
  if (!isView) return;
  // Only an address of a view leads there: when the page is loaded again, it stays where the reader was.
  if (state.dialogue) isAddress && showTitle();
  else if (before) list.querySelector(`[data-number="${data.dialogues.indexOf(before)}"]`)?.focus();
  else if (isAddress) document.getElementById("dialogues").scrollIntoView();
}
