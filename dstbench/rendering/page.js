// The script of the report: it sorts tables and shows dialogues. It sets only text and attributes, never markup.
"use strict";
(() => {
  // --- elements ----------------------------------------------------------------------------------------------------

  // Invisible characters, and those that change how others are read; io/escape.py has the same ones, and line breaks.
  const UNSEEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

  const escaped = (letter) => {
    const code = letter.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  };
  const visible = (text) => String(text).replace(UNSEEN, escaped);

  /** An element. Children are elements or text; an attribute that is a function listens to the event of its name. */
  function el(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(key, value);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, visible(value));
    }
    element.append(...children.flat().map((child) => (child instanceof Node ? child : visible(child))));
    return element;
  }

  const button = (text, click, attributes = {}) => el("button", { type: "button", click, ...attributes }, text);

  /** A labelled choice among options (value and text), and a labelled field; `changed` gets the new value. */
  const select = (label, options, chosen, changed) =>
    el("label", {}, `${label} `,
      el("select", { change: (event) => changed(event.target.value) },
        options.map(([value, text]) => el("option", { value, selected: String(value) === String(chosen) }, text))));
  const input = (label, attributes, changed) =>
    el("label", {}, `${label} `, el("input", { ...attributes, input: (event) => changed(event.target.value) }));

  /** A table; heads and rows are elements. */
  const tableOf = (caption, heads, rows, attributes = {}) =>
    el("table", attributes, el("caption", {}, caption), el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows));
  /** A region that scrolls sideways if need be. */
  const wide = (label, ...inner) => el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, ...inner);
  const columnHead = (text, attributes = {}) => el("th", { scope: "col", ...attributes }, text);
  const rowHead = (...inner) => el("th", { scope: "row" }, ...inner);
  const numberCell = (text) => el("td", { class: "n" }, text);

  // --- sorting -----------------------------------------------------------------------------------------------------

  /** The order of two values, numbers or texts; null comes last, ascending and descending. */
  function compare(one, other, descending) {
    const missing = (one === null) - (other === null);
    if (missing || one === null) return missing;
    const numbers = typeof one === "number" && typeof other === "number";
    const order = numbers ? one - other : String(one).localeCompare(other, "en", { numeric: true });
    return descending ? -order : order;
  }

  /** The value that a cell is sorted by: its number, also if an interval follows; else its text; null if empty. */
  function cellValue(row, column) {
    const text = row.cells[column].textContent.trim();
    if (text === "-" || text === "") return null;
    return /^[-+]?[\d.,]+( (to |\().*)?$/.test(text) ? parseFloat(text.replace(/,/g, "")) : text;
  }

  document.querySelectorAll("main table").forEach((table) => {
    const body = table.tBodies[0];
    if (body.rows.length < 3) return;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.setAttribute("aria-sort", "none");
      const sort = () => {
        const descending = head.getAttribute("aria-sort") !== "descending";
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        body.append(...[...body.rows].sort((a, b) => compare(cellValue(a, column), cellValue(b, column), descending)));
      };
      if (head.textContent) head.replaceChildren(button(head.textContent, sort));
    });
  });

  // --- the list of dialogues ---------------------------------------------------------------------------------------

  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data) return;

  const PAGE = 100; // rows that are shown at once
  const MARKS = { correct: "✓", missed: "○", wrong: "✗", over: "+" };
  const state = {
    run: 0, // the run whose scores are shown
    beside: data.runs.length > 1 ? 1 : -1, // the run beside it; −1: none
    difference: "",
    sort: "dialogue",
    descending: false,
    text: "",
    kind: "",
    slot: "",
    column: data.metrics[0],
    least: "",
    most: "",
    shown: PAGE,
    order: [], // the dialogues that are listed, by index
    open: -1,
    brief: false, // hide slots that are carried over and correct
  };

  const isShare = (metric) => !data.counts.includes(metric);
  const shownNumber = (value, share) => {
    if (value === null || value === undefined) return "–";
    if (typeof value === "string") return value;
    return share ? (100 * value).toFixed(2) : String(Math.round(1000 * value) / 1000);
  };
  const subtract = (one, other) => (one === null || other === null ? null : one - other);

  /** The differences to choose from: of a metric between the two runs, and between two metrics of the run. */
  function differences() {
    const { run, beside } = state;
    const own = data.of_runs[run].scores;
    const other = data.of_runs[beside]?.scores;
    const between = (key, title, one, two, share) => ({ key, title, share, get: (i) => subtract(one[i], two[i]) });
    const ofRuns = data.metrics.map((m) =>
      other && between(`runs:${m}`, `${m}: ${data.runs[run]} less ${data.runs[beside]}`, own[m], other[m], isShare(m)));
    const shares = data.metrics.filter(isShare);
    const ofMetrics = shares.flatMap((a, index) =>
      shares.slice(index + 1).map((b) => between(`metrics:${a}:${b}`, `${a} less ${b}`, own[a], own[b], true)));
    return [...ofRuns.filter(Boolean), ...ofMetrics];
  }

  /** The columns of the list: the title of each, and its value for a dialogue. */
  function columns() {
    const { scores, numbers } = data.of_runs[state.run];
    const difference = differences().find(({ key }) => key === state.difference);
    return [
      { key: "dialogue", title: "dialogue", get: (i) => data.dialogues[i] },
      ...(difference ? [{ ...difference, key: "difference" }] : []),
      ...data.metrics.map((m) => ({ key: m, title: m, get: (i) => scores[m][i], share: isShare(m) })),
      ...data.traits.map((t) => ({ key: t, title: t, get: (i) => numbers[t][i] })),
    ];
  }

  // The text of a dialogue that a search looks through, made when it is first needed.
  const searchTexts = [];
  const searchText = (i) =>
    (searchTexts[i] ??= [
      data.dialogues[i],
      ...(data.said ? [...data.said.system[i], ...data.said.user[i]] : []),
      ...[data.gold, ...data.of_runs.map((r) => r.pred)].flatMap((c) => [...new Set(c.value[i])].map((v) => data.values[v])),
    ].join("\n").toLowerCase());

  /** Whether a dialogue has an error of the chosen kind in the chosen slot. */
  function hasError(i) {
    const { slot, class: classes } = data.of_runs[state.run].pred;
    return classes[i].some((index, at) => {
      const kind = index < 0 ? "correct" : data.classes[index][1];
      if (state.slot !== "" && slot[i][at] !== Number(state.slot)) return false;
      return state.kind === "any" ? kind !== "correct" : kind === state.kind;
    });
  }

  /** Whether the value of the chosen column is within the chosen limits. */
  function isWithin(i, column) {
    if (state.least === "" && state.most === "") return true;
    const value = column.get(i);
    if (value === null) return false;
    const shown = Math.round(1e6 * (column.share ? 100 : 1) * value) / 1e6;
    return (state.least === "" || shown >= Number(state.least)) && (state.most === "" || shown <= Number(state.most));
  }

  /** The dialogues to list, by index, in the chosen order. */
  function listed(all) {
    const search = state.text.trim().toLowerCase();
    const limited = all.find(({ key }) => key === state.column) ?? all[1];
    const sorted = all.find(({ key }) => key === state.sort) ?? all[0];
    return [...data.dialogues.keys()]
      .filter((i) => isWithin(i, limited) && (!state.kind || hasError(i)) && (!search || searchText(i).includes(search)))
      .sort((a, b) => compare(sorted.get(a), sorted.get(b), state.descending) || a - b);
  }

  const dialogue = document.getElementById("dialogue");
  const controls = el("form", { class: "controls", submit: (event) => event.preventDefault() });
  const count = el("p", { role: "status" });
  const list = wide("Dialogues");
  const more = el("p", {});

  /** Draw the controls. Choosing a run or a difference draws them again, as other options depend on it. */
  function drawControls() {
    const filter = (key) => (value) => {
      state[key] = value;
      state.shown = PAGE;
      drawList();
    };
    const choose = (key, read = Number) => (value) => {
      const focused = [...controls.querySelectorAll("select, input")].indexOf(document.activeElement);
      state[key] = read(value);
      if (!differences().some(({ key }) => key === state.difference)) state.difference = differences()[0]?.key ?? "";
      drawControls();
      controls.querySelectorAll("select, input")[focused]?.focus();
      drawList();
      drawDialogue();
    };
    const titles = (all) => all.map(({ key, title }) => [key, title]);
    const runs = [...data.runs.entries()];
    const slots = [...data.slots.entries()].sort((a, b) => a[1].localeCompare(b[1]));
    const kinds = [["", "all dialogues"], ["any", "any error"], ["missed", "missed"], ["wrong", "wrong"], ["over", "over-predicted"]];
    const limit = (key) => ({ type: "number", step: "any", value: state[key] });
    controls.replaceChildren(
      select("Run", runs, state.run, choose("run")),
      select("beside", [[-1, "no other"], ...runs], state.beside, choose("beside")),
      select("difference", [["", "none"], ...titles(differences())], state.difference, choose("difference", String)),
      input("search", { type: "search", value: state.text, placeholder: "id, words, values" }, filter("text")),
      select("with", kinds, state.kind, filter("kind")),
      select("in", [["", "any slot"], ...slots], state.slot, filter("slot")),
      select("where", titles(columns().slice(1)), state.column, filter("column")),
      input("is at least", limit("least"), filter("least")),
      input("and at most", limit("most"), filter("most")),
    );
  }

  function drawList() {
    const all = columns();
    state.order = listed(all);
    count.textContent = `${state.order.length.toLocaleString("en")} of ${data.dialogues.length.toLocaleString("en")} dialogues; shares in percent`;
    const sort = (key) => () => {
      state.descending = state.sort === key ? !state.descending : key !== "dialogue";
      state.sort = key;
      drawList();
      list.querySelector('[aria-sort="ascending"] button, [aria-sort="descending"] button')?.focus();
    };
    const heads = all.map(({ key, title }) => {
      const order = key !== state.sort ? "none" : state.descending ? "descending" : "ascending";
      return columnHead(button(title, sort(key)), { "aria-sort": order, class: key !== "dialogue" && "n" });
    });
    const rows = state.order.slice(0, state.shown).map((i) =>
      el("tr", { class: i === state.open && "open" },
        rowHead(el("a", { href: link(i) }, data.dialogues[i])),
        all.slice(1).map(({ get, share }) => numberCell(shownNumber(get(i), share)))));
    list.replaceChildren(tableOf(`Dialogues: scores of ${data.runs[state.run]}`, heads, rows));
    const rest = state.order.length - state.shown;
    const show = () => {
      state.shown += PAGE;
      drawList();
    };
    more.replaceChildren(...(rest > 0 ? [button(`Show ${Math.min(rest, PAGE)} more of ${rest}`, show)] : []));
  }

  // --- one dialogue ------------------------------------------------------------------------------------------------

  const link = (i) => `#dialogue=${encodeURIComponent(data.dialogues[i])}`;

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

  /** A run's prediction of a slot: a mark, the value, and its class in words. */
  function predictionCell(cell, gold) {
    if (!cell || cell.class < 0) return el("td", { class: "nothing" }, valueText(cell));
    const [name, kind] = data.classes[cell.class];
    const carried = !cell.isNew && !gold?.isNew;
    const words = name.replaceAll("-", " ") + (carried ? ", carried over" : "");
    return el("td", { class: `${kind}${carried ? " carried" : ""}` },
      el("span", { class: "sign", "aria-hidden": "true" }, MARKS[kind]), " ", valueText(cell), " ", el("small", {}, words));
  }

  const slotName = (slot) => (slot < 0 ? "no prediction" : data.slots[slot]);

  function stateTable(turn, gold, runs) {
    const slots = new Set([...gold].filter(([, cell]) => cell.value >= 0).map(([slot]) => slot));
    runs.forEach(({ cells }) => cells.forEach((cell, slot) => cell.class >= 0 && slots.add(slot)));
    const isUnchanged = (slot) =>
      !gold.get(slot)?.isNew && runs.every(({ cells }) => cells.get(slot)?.class === 0 && !cells.get(slot).isNew);
    const all = [...slots].sort((a, b) => slotName(a).localeCompare(slotName(b)));
    const rows = all.filter((slot) => !state.brief || !isUnchanged(slot)).map((slot) => {
      const isNew = gold.get(slot)?.isNew;
      return el("tr", {}, rowHead(slotName(slot)),
        el("td", { class: isNew && "new" }, valueText(gold.get(slot)), isNew ? el("small", {}, " new") : ""),
        runs.map(({ cells }) => predictionCell(cells.get(slot), gold.get(slot))));
    });
    const hidden = all.length - rows.length;
    if (!rows.length) return el("p", { class: "below" }, hidden ? `${hidden} slots, carried over and correct.` : "No slot yet, in gold or predicted.");
    const heads = ["slot", "gold", ...runs.map(({ name }) => name)].map((text) => columnHead(text));
    const caption = `States in turn ${turn}` + (hidden ? `; ${hidden} more are carried over and correct` : "");
    return wide(caption, tableOf(caption, heads, rows, { class: "states" }));
  }

  /** A table of numbers: a row per run. */
  function numberTable(caption, titles, rows) {
    const heads = [columnHead("run"), ...titles.map((text) => columnHead(text, { class: "n" }))];
    return wide(caption, tableOf(caption, heads, rows.map(([name, ...texts]) => el("tr", {}, rowHead(name), texts.map(numberCell)))));
  }

  function turnSection(i, at, gold, runs) {
    const turn = data.turns[i][at];
    const speakers = ["system", "user"].filter((who) => data.said?.[who][i][at]);
    const scores = runs.map(({ name, own }) => [
      name,
      ...data.metrics.map((m) => shownNumber(own.turn_scores[m][i][at], isShare(m))),
      ...Object.values(own.events).map((counts) => shownNumber(counts[i][at])),
    ]);
    const events = Object.keys(data.of_runs[0].events).map((name) => `${name} changes`);
    return el("section", { class: "turn", id: `turn-${turn}`, "aria-labelledby": `turn-${turn}-title` },
      el("h4", { id: `turn-${turn}-title` }, `Turn ${turn}`),
      speakers.map((who) => el("p", { class: `said ${who}` }, el("b", {}, `${who}: `), el("span", { dir: "auto" }, data.said[who][i][at]))),
      stateTable(turn, gold[at], runs.map(({ name, states }) => ({ name, cells: states[at] }))),
      numberTable(`Scores of turn ${turn}, and changes of state as GCA counts them`, [...data.metrics, ...events], scores));
  }

  function drawDialogue(focus) {
    const i = state.open;
    if (i < 0) return;
    const gold = replay(data.gold, i);
    const shownRuns = [...new Set([state.run, state.beside])].filter((run) => run >= 0);
    const runs = shownRuns.map((run) => ({ name: data.runs[run], own: data.of_runs[run], states: replay(data.of_runs[run].pred, i) }));
    const scores = runs.map(({ name, own }) => [
      name,
      ...data.metrics.map((m) => shownNumber(own.scores[m][i], isShare(m))),
      ...data.traits.map((t) => shownNumber(own.numbers[t][i])),
    ]);
    const at = state.order.indexOf(i);
    const step = (text, to) =>
      button(text, () => (location.hash = link(state.order[to])), { disabled: !(to in state.order) || at < 0 });
    const hide = (event) => {
      state.brief = event.target.checked;
      drawDialogue();
    };
    const brief = el("input", { type: "checkbox", checked: state.brief, change: hide });
    const title = el("h3", { tabindex: "-1" }, `Dialogue ${data.dialogues[i]}`);
    dialogue.replaceChildren(
      title,
      el("p", { class: "controls" }, step("Previous", at - 1), step("Next", at + 1), el("label", {}, brief, " hide what is carried over and correct")),
      numberTable("The whole dialogue", [...data.metrics, ...data.traits], scores),
      ...data.turns[i].map((_, turn) => turnSection(i, turn, gold, runs)),
    );
    if (focus) {
      title.focus();
      title.scrollIntoView();
    }
  }

  /** Open the dialogue that the address names, if it names one. */
  function follow() {
    const address = location.hash.match(/^#dialogue=(.*)$/);
    if (!address) return;
    const id = decodeURIComponent(address[1]);
    state.open = data.dialogues.indexOf(id);
    if (state.open < 0) {
      dialogue.replaceChildren(el("p", { role: "alert" }, `Dialogue ${id} is not in this report.`));
      return;
    }
    drawDialogue(true);
    drawList();
  }

  state.difference = differences()[0]?.key ?? "";
  document.getElementById("explorer").append(controls, count, list, more);
  drawControls();
  drawList();
  addEventListener("hashchange", follow);
  follow();
})();
