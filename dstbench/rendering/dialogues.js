// The dialogues of a report: a list of them, and the one that is open, turn by turn. What is chosen is in the address.

const data = JSON.parse(document.getElementById("data").textContent);
const MARKS = { correct: "✓", missed: "○", wrong: "✗", over: "+", "no-prediction": "?" };
const explorer = document.getElementById("explorer");
const [notice, interests, choices, count, list] = explorer.children;
const fields = Object.fromEntries([...choices.querySelectorAll("[name]")].map((field) => [field.name, field]));
const dialogue = document.getElementById("dialogue");
const main = data.metrics[0];
const FILTER = { interest: "all", search: "", errors: "", slot: "", sort: "", order: "" };
// The address has what differs from this.
const DEFAULTS = { run: data.runs[0], beside: data.runs[1] ?? "", ...FILTER, dialogue: "", turn: "", carried: "" };
const state = { ...DEFAULTS };
let order = []; // the dialogues that are listed, by index

// --- numbers -----------------------------------------------------------------------------------------------------

const named = (name) => data.names[name] ?? name;
const isShare = (metric) => !data.counts.includes(metric);
const shownNumber = (value, share) => {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  return share ? (100 * value).toFixed(2) : String(Math.round(1000 * value) / 1000);
};
// As it is shown, so that what looks equal is sorted as equal.
const difference = (one, other) => (one === null || other === null ? null : Math.round(1e4 * (one - other)) / 1e4);
const dataOf = (run) => data.of_runs[data.runs.indexOf(run)];
const ofAll = (get) => data.of_runs.map(get).filter((value) => value !== null);
const disagreement = (i) => {
  const values = ofAll(({ scores }) => scores[main][i]);
  return values.length > 1 ? difference(Math.max(...values), Math.min(...values)) : null;
};
const wrongAtEnd = (i) => ofAll(({ numbers }) => numbers.wrong_slots_last[i]);
const nearest = (i) => Math.min(...wrongAtEnd(i).filter((slots) => slots > 0));
const firstFailure = (i) => dataOf(state.run).numbers.first_failure[i];
const score = (i) => dataOf(state.run).scores[main][i];

// --- the list ----------------------------------------------------------------------------------------------------

const byDisagreement = (a, b) => compare(disagreement(a), disagreement(b), true);
/** What the buttons choose: which dialogues, in which order. All begin with what is worth seeing. */
const INTERESTS = {
  all: { order: (a, b) => byDisagreement(a, b) || compare(nearest(a), nearest(b)) },
  apart: { order: byDisagreement },
  near: { has: (i) => Math.min(...wrongAtEnd(i)) === 1, order: (a, b) => compare(score(a), score(b), true) },
  early: { has: (i) => firstFailure(i) !== null, order: (a, b) => compare(firstFailure(a), firstFailure(b)) },
};

/** What is known of dialogues in a run: the key and title of each number, its value for a dialogue. */
const numbersOf = ({ scores, numbers }) => [
  ...data.metrics.map((m) => ({ key: m, title: named(m), get: (i) => scores[m][i], share: isShare(m) })),
  ...data.traits.map((t) => ({ key: t, title: named(t), get: (i) => numbers[t][i] })),
];

/** The columns of the list. */
function columns() {
  const [one, other] = [state.run, state.beside].map((run) => dataOf(run)?.scores[main]);
  const title = `${named(main)}: ${state.run} less ${state.beside}`;
  const less = { key: "difference", title, get: (i) => difference(one[i], other[i]), share: isShare(main) };
  const id = { key: "dialogue", title: "Dialogue", get: (i) => data.dialogues[i] };
  return [id, ...(other ? [less] : []), ...numbersOf(dataOf(state.run))];
}

/** Whether a dialogue's id, its words or a value in it has the text that is searched for. */
function isFound(i) {
  const values = [data.gold, ...data.of_runs.map(({ pred }) => pred)].flatMap(({ value }) => value[i]);
  const said = data.said ? [...data.said.system[i], ...data.said.user[i]] : [];
  const search = state.search.trim().toLowerCase();
  const texts = [data.dialogues[i], ...said, ...values.map((value) => data.values[value])];
  return texts.some((text) => text?.toLowerCase().includes(search));
}

/** Whether a dialogue has an error of the chosen kind in the chosen slot. */
function hasError(i) {
  const { slot, class: classes } = dataOf(state.run).pred;
  return classes[i].some((index, at) => {
    const kind = index < 0 ? "correct" : data.classes[index][1];
    const isKind = state.errors === "any" ? kind !== "correct" : kind === state.errors;
    return isKind && (state.slot === "" || data.slots[slot[i][at]] === state.slot);
  });
}

/** The dialogues to list, by index, in the chosen order. */
function listed() {
  const { has, order: byInterest } = INTERESTS[state.interest];
  const get = columns().find(({ key }) => key === state.sort)?.get;
  const by = get ? (a, b) => compare(get(a), get(b), state.order === "descending") : byInterest;
  return [...data.dialogues.keys()]
    .filter((i) => (has?.(i) ?? true) && (!state.errors || hasError(i)) && (!state.search || isFound(i)))
    .sort((a, b) => by(a, b) || a - b);
}

choices.addEventListener("change", ({ target: { name, value } }) => name !== "search" && go({ [name]: value }));
fields.search.addEventListener("input", ({ target }) => go({ search: target.value }, { replace: true, drawn: drawList }));
[...interests.children].forEach((one) =>
  one.addEventListener("click", () => go({ ...FILTER, interest: one.dataset.key })));

function drawList() {
  Object.values(fields).forEach((field) => (field.value = state[field.name]));
  [...interests.children].forEach((one) => one.setAttribute("aria-pressed", one.dataset.key === state.interest));
  order = listed();
  const [some, whole] = [order, data.dialogues].map(({ length }) => length.toLocaleString("en"));
  count.textContent = `${some} of ${whole} dialogues; shares in percent`;
  const all = columns();
  const sort = (key) => () => {
    const down = state.sort === key ? state.order === "" : key !== "dialogue";
    go({ sort: key, order: down ? "descending" : "" });
    list.querySelector('[aria-sort$="scending"] button').focus();
  };
  const heads = all.map(({ key, title }) => {
    const sorted = key !== state.sort ? "none" : state.order || "ascending";
    return columnHead(button(title, sort(key)), { "aria-sort": sorted, class: key !== "dialogue" && "n" });
  });
  const rows = order.map((i) => {
    const id = data.dialogues[i];
    const click = (event) => {
      if (isModified(event)) return;
      event.preventDefault();
      go({ dialogue: id, turn: "" });
      showTitle();
    };
    return el("tr", { class: id === state.dialogue && "open" },
      rowHead(el("a", { href: `#/${new URLSearchParams({ dialogue: id })}`, "data-number": i, click }, id)),
      numberCells(all.slice(1), i));
  });
  list.replaceChildren(tableOf(`Dialogues: scores of ${state.run}`, heads, rows));
  asOneStop(list.querySelector("table"), "thead button");
}

// --- a dialogue: a grid of slots × turns per run, and the turns that are open ---------------------------------------

/** The state after each turn, from its changes: slot to its value and class, and whether the value is new. */
function replay(changes, i) {
  let now = new Map();
  let at = 0;
  return data.turns[i].map((_, turn) => {
    now = new Map([...now].filter(([slot]) => slot >= 0).map(([slot, cell]) => [slot, { ...cell, isNew: false }]));
    for (; at < changes.turn[i].length && changes.turn[i][at] === turn; at++) {
      const slot = changes.slot[i][at];
      const value = changes.value[i][at];
      now.set(slot, { value, class: changes.class?.[i][at] ?? -1, isNew: value !== (now.get(slot)?.value ?? -1) });
    }
    return now;
  });
}

/** A value as it is written; in quotation marks where spaces in it would not be seen. */
function valueText(cell) {
  if (!cell || cell.value < 0) return "–";
  const text = data.values[cell.value];
  return /^$|^\s|\s$|\s\s/.test(text) ? `'${text}'` : text;
}
const slotName = (slot) => (slot < 0 ? "no prediction" : data.slots[slot]);
const bySlot = (slots) => [...slots].sort((a, b) => (a < 0) - (b < 0) || slotName(a).localeCompare(slotName(b)));

/** How a prediction is shown: the kind of its class, the class in words, and its sign. Empty: there is none. */
function classOf(cell) {
  if (!cell || cell.class < 0) return {};
  const [name, kind] = data.classes[cell.class];
  const sign = el("span", { class: "sign", role: "img", "aria-label": kind }, MARKS[kind]);
  return { kind, words: name.replaceAll("-", " "), sign };
}

/** The states of a run, slots × turns. A cell or the head of a turn opens that turn. */
function grid({ name, own, states }, gold, i, slots, openTurn) {
  const cellOf = (slot) => (cells, at) => {
    const [right, cell] = [gold[at].get(slot), cells.get(slot)];
    const { kind, words, sign } = classOf(cell);
    const values = `${words}; gold ${valueText(right)}, predicted ${valueText(cell)}`;
    const title = `${slotName(slot)}, turn ${data.turns[i][at]}: ${sign ? values : "neither in gold nor predicted"}`;
    return el("td", { class: kind, "data-at": at, title }, sign ?? []);
  };
  const open = (event) => {
    const cell = event.target.closest("[data-at]");
    if (cell && (event.type === "click" || event.key === "Enter")) openTurn(Number(cell.dataset.at));
  };
  const heads = data.turns[i].map((turn, at) => columnHead(turn, { "data-at": at, title: `turn ${turn}` }));
  const shownSlots = slots.filter((slot) => slot >= 0 || states.some((cells) => cells.has(slot)));
  const rows = shownSlots.map((slot) => el("tr", {}, rowHead(slotName(slot)), states.map(cellOf(slot))));
  const caption = `${name}: ${named(main)} ${shownNumber(own.scores[main][i], isShare(main))}`;
  const attributes = { class: "cells", role: "grid", click: open, keydown: open };
  const region = tableOf(caption, [el("td"), ...heads], rows, attributes);
  asOneStop(region.firstChild, "[data-at]");
  return region;
}

/** Gold and what each run predicts in a turn, without what is carried over and correct, unless it is asked for. */
function stateTable(turn, gold, runs) {
  const predicted = runs.flatMap(({ cells }) => [...cells].filter(([, cell]) => cell.class >= 0));
  const all = bySlot(new Set([...[...gold].filter(([, cell]) => cell.value >= 0), ...predicted].map(([slot]) => slot)));
  const isCarried = (slot, cell) => !cell?.isNew && !gold.get(slot)?.isNew;
  const isHidden = (slot) =>
    runs.every(({ cells }) => cells.get(slot)?.class === 0 && isCarried(slot, cells.get(slot)));
  const slots = all.filter((slot) => state.carried || !isHidden(slot));
  const predictionCell = (slot) => ({ cells }) => {
    const cell = cells.get(slot);
    const { kind, words, sign } = classOf(cell);
    if (!sign) return el("td", {}, valueText(cell));
    const small = kind === "correct" ? [] : [" ", el("small", {}, words)];
    return el("td", { class: `${kind}${isCarried(slot, cell) ? " carried" : ""}` }, sign, " ", valueText(cell), small);
  };
  const rows = slots.map((slot) => {
    const isNew = gold.get(slot)?.isNew;
    const right = el("td", { class: isNew && "new" }, valueText(gold.get(slot)), isNew ? el("small", {}, " new") : "");
    return el("tr", {}, rowHead(slotName(slot)), right, runs.map(predictionCell(slot)));
  });
  const hidden = all.length - slots.length;
  const caption = `States in turn ${turn}` + (hidden ? `; ${hidden} more are carried over and correct` : "");
  const heads = ["slot", "gold", ...runs.map(({ name }) => name)].map((text) => columnHead(text));
  return rows.length ? tableOf(caption, heads, rows, { class: "states" }) : el("p", { class: "below" }, caption);
}

const numberCells = (numbers, i) => numbers.map(({ get, share }) => numberCell(shownNumber(get(i), share)));

/** A table of a dialogue's numbers: a row per run. */
function numberTable(caption, i, runs, numbers) {
  const heads = [columnHead("run"), ...numbers(runs[0].own).map(({ title }) => columnHead(title, { class: "n" }))];
  const rows = runs.map(({ name, own }) => el("tr", {}, rowHead(name), numberCells(numbers(own), i)));
  return tableOf(caption, heads, rows);
}

function turnSection(i, at, gold, runs) {
  const turn = data.turns[i][at];
  const speakers = ["system", "user"].filter((who) => data.said?.[who][i][at]);
  const said = speakers.map((who) =>
    el("p", { class: `said ${who}` }, el("b", {}, `${who}: `), el("span", { dir: "auto" }, data.said[who][i][at])));
  const numbers = ({ turn_scores: scores, events }) => [
    ...data.metrics.map((m) => ({ title: named(m), get: () => data.score_values[scores[m][i][at]], share: isShare(m) })),
    ...Object.entries(events).map(([name, counts]) => ({ title: `${name} changes`, get: () => counts[i][at] })),
  ];
  return el("section", { class: "turn", "aria-labelledby": `turn-${turn}-title` },
    el("h4", { id: `turn-${turn}-title` }, `Turn ${turn}`), said,
    stateTable(turn, gold[at], runs.map(({ name, states }) => ({ name, cells: states[at] }))),
    numberTable(`Scores of turn ${turn}, and changes of state as GCA counts them`, i, runs, numbers));
}

function drawDialogue() {
  dialogue.replaceChildren();
  if (!state.dialogue) return;
  const i = data.dialogues.indexOf(state.dialogue);
  const gold = replay(data.gold, i);
  const runs = data.runs.map((name, at) => ({ name, own: data.of_runs[at], states: replay(data.of_runs[at].pred, i) }));
  const cells = runs.flatMap(({ states }) => states.flatMap((now) => [...now]));
  const slots = bySlot(new Set(cells.filter(([, cell]) => cell.class >= 0).map(([slot]) => slot)));
  // Without a choice, the first turn with an error of the run is open.
  const { states } = runs[data.runs.indexOf(state.run)];
  const firstWrong = states.findIndex((now) => [...now.values()].some((cell) => cell.class > 0));
  dialogue.append(document.getElementById("opened").content.cloneNode(true));
  const [title, controls, grids, , turns] = dialogue.children;
  const [previous, next, close] = controls.querySelectorAll("button");
  const boxes = controls.querySelectorAll("input");
  const drawTurns = () => {
    const at = state.turn === "" ? Math.max(firstWrong, 0) : data.turns[i].indexOf(Number(state.turn));
    const open = state.turn === "all" ? [...data.turns[i].keys()] : [at];
    turns.replaceChildren(...open.map((turn) => turnSection(i, turn, gold, runs)));
    grids.querySelectorAll("[data-at]").forEach((cell) => cell.classList.toggle("now", Number(cell.dataset.at) === at));
    boxes.forEach((box) => (box.checked = state[box.name] === box.value));
  };
  const change = ({ target: { name, checked, value } }) =>
    go({ [name]: checked ? value : "" }, { replace: true, drawn: drawTurns });
  const openTurn = (at) => {
    go({ turn: String(data.turns[i][at]) }, { replace: true, drawn: drawTurns });
    turns.scrollIntoView({ block: "nearest" });
  };
  const leads = (step, places) => {
    const other = data.dialogues[order[order.indexOf(i) + places]];
    step.disabled = other === undefined || !order.includes(i);
    step.addEventListener("click", () => {
      go({ dialogue: other, turn: "" }, { replace: true });
      showTitle();
    });
  };
  leads(previous, -1);
  leads(next, 1);
  close.addEventListener("click", () => go({ dialogue: "", turn: "" }));
  boxes.forEach((box) => box.addEventListener("change", change));
  title.textContent = `Dialogue ${visible(state.dialogue)}`;
  grids.append(...runs.map((run) => grid(run, gold, i, slots, openTurn)));
  dialogue.append(numberTable("The whole dialogue", i, runs, numbersOf));
  drawTurns();
}

function showTitle() {
  const title = dialogue.querySelector("h3");
  title.focus({ preventScroll: true });
  title.scrollIntoView();
}

// --- the address -------------------------------------------------------------------------------------------------

const isChosen = ([key, value]) => value !== DEFAULTS[key];
const address = () => new URLSearchParams(Object.entries(state).filter(isChosen)).toString();

/** Set the state to what an address says; say what of it the report does not have. */
function read(text) {
  const asked = Object.fromEntries(new URLSearchParams(text));
  const turns = data.turns[data.dialogues.indexOf(asked.dialogue)] ?? [];
  const shownInterests = [...interests.children].map((one) => one.dataset.key);
  const known = {
    ...{ run: data.runs, beside: ["", ...data.runs], interest: shownInterests, dialogue: data.dialogues },
    ...{ errors: [...fields.errors.options].map(({ value }) => value), slot: data.slots, turn: ["all", ...turns.map(String)] },
  };
  const isUnknown = ([key, value]) => !(key in DEFAULTS) || (known[key] && !known[key].includes(value));
  const unknown = Object.entries(asked).filter(isUnknown);
  Object.assign(state, DEFAULTS, asked, Object.fromEntries(unknown.map(([key]) => [key, DEFAULTS[key]])));
  if (state.slot && !state.errors) state.errors = "any";
  const names = unknown.map(([key, value]) => visible(`${key} “${value}”`)).join(", ");
  notice.textContent = names && `The address asks for what is not in this report: ${names}.`;
}

/** Change the state, write its address, and draw it. A step to another dialogue or turn replaces it: Back closes. */
function go(changes, { replace = false, drawn = draw } = {}) {
  Object.assign(state, changes);
  if (changes.errors === "") state.slot = "";
  if (state.slot && !state.errors) state.errors = "any";
  notice.textContent = "";
  // The slash tells an address of a view from a link to a place on the page.
  const hash = address() ? `#/${address()}` : "#dialogues";
  if (address() !== history.state) history[replace ? "replaceState" : "pushState"](address(), "", hash);
  drawn();
}

/** Show what the address asks for. A link to a chapter leaves the view as it is, and keeps it for Back. */
function follow() {
  const hash = location.hash.replace(/^#\/?/, "");
  const isAddress = hash.includes("=");
  const asked = isAddress ? hash : history.state;
  const before = data.dialogues.indexOf(state.dialogue);
  if (asked !== null) read(asked);
  history.replaceState(address(), "");
  draw();
  // Only an address of a view leads there: when the page is loaded again, it stays where the reader was.
  if (isAddress && state.dialogue) showTitle();
  else if (isAddress) document.getElementById("dialogues").scrollIntoView();
  else if (asked !== null && before >= 0 && !state.dialogue) list.querySelector(`[data-number="${before}"]`)?.focus();
}

function draw() {
  drawList();
  drawDialogue();
}

explorer.hidden = false;
addEventListener("hashchange", follow);
follow();
