// One dialogue: a grid of slots × turns per run, and the turn that is open.

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

/** The class of a prediction: its kind, and its name in words. */
function classOf(cell) {
  const [name, kind] = data.classes[cell.class];
  return { kind, words: name.replaceAll("-", " ") };
}
const mark = (kind) => el("span", { class: "sign", role: "img", "aria-label": kind }, MARKS[kind]);

function predictionCell(cell, gold) {
  if (!cell || cell.class < 0) return el("td", {}, valueText(cell));
  const { kind, words } = classOf(cell);
  const isCarried = !cell.isNew && !gold?.isNew;
  const small = kind === "correct" ? [] : [" ", el("small", {}, words)];
  return el("td", { class: `${kind}${isCarried ? " carried" : ""}` }, mark(kind), " ", valueText(cell), small);
}

/** The states of a run, slots × turns. A cell or the head of a turn opens that turn. */
function grid({ name, own, states }, gold, i, slots, openTurn) {
  const heads = data.turns[i].map((turn, at) => columnHead(turn, { "data-at": at, title: `turn ${turn}` }));
  const cellOf = (slot) => (cells, at) => {
    const where = `${slotName(slot)}, turn ${data.turns[i][at]}`;
    const cell = cells.get(slot);
    if (!cell || cell.class < 0) return el("td", { "data-at": at, title: `${where}: neither in gold nor predicted` });
    const right = gold[at].get(slot);
    const { kind, words } = classOf(cell);
    const title = `${where}: ${words}; gold ${valueText(right)}, predicted ${valueText(cell)}`;
    return el("td", { class: kind, "data-at": at, title }, mark(kind));
  };
  const open = (event) => {
    const cell = event.target.closest("[data-at]");
    if (cell && (event.type === "click" || event.key === "Enter")) openTurn(Number(cell.dataset.at));
  };
  const stay = (event) => event.preventDefault(); // a click leaves the focus, so that the arrow keys still step
  const caption = `${name}: ${named(main)} ${shownNumber(own.scores[main][i], isShare(main))}`;
  const shownSlots = slots.filter((slot) => slot >= 0 || states.some((cells) => cells.has(slot)));
  const rows = shownSlots.map((slot) => el("tr", {}, rowHead(slotName(slot)), states.map(cellOf(slot))));
  const listeners = { click: open, keydown: open, mousedown: stay };
  const table = tableOf(caption, [el("td"), ...heads], rows, { class: "cells", role: "grid", ...listeners });
  asOneStop(table, "[data-at]");
  return wide(caption, table);
}

function stateTable(turn, gold, runs) {
  const slots = new Set([...gold].filter(([, cell]) => cell.value >= 0).map(([slot]) => slot));
  runs.forEach(({ cells }) => cells.forEach((cell, slot) => cell.class >= 0 && slots.add(slot)));
  const isUnchanged = (slot) =>
    !gold.get(slot)?.isNew && runs.every(({ cells }) => cells.get(slot)?.class === 0 && !cells.get(slot).isNew);
  const all = bySlot(slots);
  const rows = all.filter((slot) => state.carried || !isUnchanged(slot)).map((slot) => {
    const isNew = gold.get(slot)?.isNew;
    return el("tr", {}, rowHead(slotName(slot)),
      el("td", { class: isNew && "new" }, valueText(gold.get(slot)), isNew ? el("small", {}, " new") : ""),
      runs.map(({ cells }) => predictionCell(cells.get(slot), gold.get(slot))));
  });
  const hidden = all.length - rows.length;
  const empty = hidden ? `${hidden} slots, carried over and correct.` : "No slot yet, in gold or predicted.";
  if (!rows.length) return el("p", { class: "below" }, empty);
  const heads = ["slot", "gold", ...runs.map(({ name }) => name)].map((text) => columnHead(text));
  const caption = `States in turn ${turn}` + (hidden ? `; ${hidden} more are carried over and correct` : "");
  return wide(caption, tableOf(caption, heads, rows, { class: "states" }));
}

/** A table of numbers: a row per run. */
function numberTable(caption, titles, rows) {
  const heads = [columnHead("run"), ...titles.map((text) => columnHead(text, { class: "n" }))];
  const lines = rows.map(([name, ...texts]) => el("tr", {}, rowHead(name), texts.map(numberCell)));
  return wide(caption, tableOf(caption, heads, lines));
}

function turnSection(i, at, gold, runs) {
  const turn = data.turns[i][at];
  const speakers = ["system", "user"].filter((who) => data.said?.[who][i][at]);
  const scores = runs.map(({ name, own }) => [
    name,
    ...data.metrics.map((m) => shownNumber(data.score_values[own.turn_scores[m][i][at]], isShare(m))),
    ...Object.values(own.events).map((counts) => shownNumber(counts[i][at])),
  ]);
  const events = Object.keys(data.of_runs[0].events).map((name) => `${name} changes`);
  return el("section", { class: "turn", "aria-labelledby": `turn-${turn}-title` },
    el("h4", { id: `turn-${turn}-title` }, `Turn ${turn}`),
    speakers.map((who) => el("p", { class: `said ${who}` }, el("b", {}, `${who}: `), el("span", { dir: "auto" }, data.said[who][i][at]))),
    stateTable(turn, gold[at], runs.map(({ name, states }) => ({ name, cells: states[at] }))),
    numberTable(`Scores of turn ${turn}, and changes of state as GCA counts them`, [...data.metrics.map(named), ...events], scores));
}

function drawDialogue() {
  if (!state.dialogue) return dialogue.replaceChildren();
  const i = openIndex();
  const gold = replay(data.gold, i);
  const runs = data.runs.map((name, run) => ({ name, own: data.of_runs[run], states: replay(data.of_runs[run].pred, i) }));
  const cells = runs.flatMap(({ states }) => states.flatMap((now) => [...now]));
  const slots = bySlot(new Set(cells.filter(([, cell]) => cell.class >= 0).map(([slot]) => slot)));
  // Without a choice, the first turn with an error of the run is open.
  const ofRun = runs[data.runs.indexOf(state.run)].states;
  const firstWrong = ofRun.findIndex((cells) => [...cells.values()].some((cell) => cell.class > 0));
  const turns = el("div", {});
  const drawTurns = () => {
    const at = state.turn === "" ? Math.max(firstWrong, 0) : data.turns[i].indexOf(Number(state.turn));
    const open = state.turn === "all" ? [...data.turns[i].keys()] : [at];
    turns.replaceChildren(...open.map((turn) => turnSection(i, turn, gold, runs)));
    grids.querySelectorAll("[data-at]").forEach((cell) => cell.classList.toggle("now", Number(cell.dataset.at) === at));
  };
  const openTurn = (at) => {
    go({ turn: String(data.turns[i][at]) }, { replace: true, drawn: drawTurns });
    allTurns.checked = false;
    turns.scrollIntoView({ block: "nearest" });
  };
  const grids = el("div", { class: "grids" }, runs.map((run) => grid(run, gold, i, slots, openTurn)));
  const legend = KINDS.map(([kind, words]) => `${MARKS[kind]} ${words}`).join(", ");
  const check = (label, key, value) => {
    const drawn = () => {
      drawList(); // for its links
      drawTurns();
    };
    const set = (event) => go({ [key]: event.target.checked ? value : "" }, { replace: true, drawn });
    return el("label", {}, el("input", { type: "checkbox", checked: state[key] === value, change: set }), ` ${label}`);
  };
  const all = check("all turns", "turn", "all");
  const allTurns = all.querySelector("input");
  const scores = runs.map(({ name, own }) => [
    name,
    ...data.metrics.map((m) => shownNumber(own.scores[m][i], isShare(m))),
    ...data.traits.map((t) => shownNumber(own.numbers[t][i])),
  ]);
  dialogue.replaceChildren(
    el("h3", { tabindex: "-1" }, `Dialogue ${state.dialogue}`),
    el("p", { class: "controls" },
      button("← Previous", () => step(-1), { disabled: !nextTo(-1) }),
      button("Next →", () => step(1), { disabled: !nextTo(1) }),
      button("Close", () => go({ dialogue: "", turn: "" })),
      all, check("also slots that are carried over and correct", "carried", "shown")),
    grids,
    el("p", { class: "below" }, `✓ correct, ${legend}. A cell or the number of a turn opens the turn.`),
    turns,
    numberTable("The whole dialogue", [...data.metrics, ...data.traits].map(named), scores),
  );
  drawTurns();
}

function showTitle() {
  const title = dialogue.querySelector("h3");
  title.focus({ preventScroll: true });
  title.scrollIntoView();
}

/** The dialogue that is so many places further down the list, if there is one. */
function nextTo(places) {
  const at = order.indexOf(openIndex());
  return at < 0 ? undefined : data.dialogues[order[at + places]];
}

function step(places) {
  if (nextTo(places) === undefined) return;
  go({ dialogue: nextTo(places), turn: "" }, { replace: true });
  showTitle();
}

addEventListener("keydown", (event) => {
  const [, right] = ARROWS[event.key] ?? [];
  if (!right || event.defaultPrevented || event.repeat || isModified(event) || !state.dialogue) return;
  const box = dialogue.getBoundingClientRect();
  const isSeen = box.top < innerHeight && box.bottom > 0;
  const isUsed = event.target.closest("select, input, .wide[tabindex='0']"); // they need the arrow keys themselves
  if (isSeen && !isUsed) step(right);
});

function draw() {
  drawControls();
  drawList();
  drawDialogue();
}

document.querySelector("nav").prepend(el("a", { class: "skip", href: "#dialogues" }, "Skip to the dialogues"));
document.getElementById("explorer").append(notice, presets, form, count, list, more);
addEventListener("hashchange", follow);
follow();
