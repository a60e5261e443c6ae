// The page's script: sorts its tables, and shows dialogues. It sets text and attributes only, never markup.
"use strict";
(() => {
  // --- making elements ---------------------------------------------------------------------------------------------

  // What no eye sees, and what changes how other letters are read; escapes.py has the same, and line breaks.
  const UNSEEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

  const escaped = (letter) => {
    const code = letter.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  };
  const visible = (text) => String(text).replace(UNSEEN, escaped);

  /** An element; children are elements or text, attributes that are functions listen to events. */
  function el(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(key, value);
      else if (value === true) made.setAttribute(key, "");
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, visible(value));
    }
    made.append(...children.flat().map((child) => (child instanceof Node ? child : visible(child))));
    return made;
  }

  const labelled = (text, control) => el("label", {}, `${text} `, control);

  function select(options, chosen, changed) {
    const made = el("select", { change: () => changed(made.value) });
    for (const [value, text] of options) made.append(el("option", { value, selected: String(value) === String(chosen) }, text));
    return made;
  }

  function input(attributes, changed) {
    const made = el("input", { ...attributes, input: () => changed(made.value) });
    return made;
  }

  /** Up before down; what is not there comes last, either way. */
  function compare(one, other, descending) {
    const missing = (one === null) - (other === null);
    if (missing || one === null) return missing;
    const order = typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(other, "en", { numeric: true });
    return descending ? -order : order;
  }

  /** A header that sorts when it is pressed; `order` says how the column is sorted now. */
  const header = (text, order, pressed, numeric) =>
    el("th", { scope: "col", "aria-sort": order || "none", class: numeric && "n" }, el("button", { type: "button", click: pressed }, text));

  // --- tables that are there already -------------------------------------------------------------------------------

  const cellValue = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const number = parseFloat(text.replace(/,/g, ""));
    return text === "-" || text === "" ? null : /^[-+]?[\d.,]+( (to |\().*)?$/.test(text) ? number : text;
  };

  function makeSortable(table) {
    const body = table.tBodies[0];
    if (body.rows.length < 3) return;
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const title = head.textContent;
      head.setAttribute("aria-sort", "none");
      const press = () => {
        const descending = head.getAttribute("aria-sort") !== "descending";
        heads.forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        body.append(...[...body.rows].sort((a, b) => compare(cellValue(a, column), cellValue(b, column), descending)));
      };
      if (title) head.replaceChildren(el("button", { type: "button", click: press }, title));
    });
  }

  document.querySelectorAll("main table").forEach(makeSortable);

  // --- dialogues ---------------------------------------------------------------------------------------------------

  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data) return;

  const PAGE = 100; // rows that are shown at once
  const MARKS = { correct: "✓", missed: "○", wrong: "✗", over: "+" };
  const isShare = (metric) => !data.counts.includes(metric);
  const state = {
    run: 0, // whose scores are shown
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
    order: [], // the dialogues that are listed, by number
    open: -1,
    brief: false, // hide what is carried over and correct
  };

  const shownNumber = (value, share) => {
    if (value === null || value === undefined) return "–";
    if (typeof value === "string") return value;
    return share ? (100 * value).toFixed(2) : String(Math.round(1000 * value) / 1000);
  };

  /** What can be subtracted: the same metric of two runs, and two metrics of one. */
  function differences() {
    const found = [];
    const { run, beside } = state;
    if (beside >= 0) {
      data.metrics.forEach((m) => {
        const get = (i) => less(data.of_runs[run].scores[m][i], data.of_runs[beside].scores[m][i]);
        found.push({ key: `runs:${m}`, title: `${m}: ${data.runs[run]} less ${data.runs[beside]}`, get, share: isShare(m) });
      });
    }
    const shares = data.metrics.filter(isShare);
    shares.forEach((m, number) =>
      shares.slice(number + 1).forEach((other) => {
        const get = (i) => less(data.of_runs[run].scores[m][i], data.of_runs[run].scores[other][i]);
        found.push({ key: `metrics:${m}:${other}`, title: `${m} less ${other}`, get, share: true });
      }),
    );
    return found;
  }

  const less = (one, other) => (one === null || other === null ? null : one - other);

  /** The columns of the list: how each is called, and what it is for a dialogue. */
  function columns() {
    const own = data.of_runs[state.run];
    const found = [{ key: "dialogue", title: "dialogue", get: (i) => data.dialogues[i] }];
    const difference = differences().find((one) => one.key === state.difference);
    if (difference) found.push({ ...difference, key: "difference" });
    data.metrics.forEach((m) => found.push({ key: m, title: m, get: (i) => own.scores[m][i], share: isShare(m) }));
    data.traits.forEach((t) => found.push({ key: t, title: t, get: (i) => own.numbers[t][i] }));
    return found;
  }

  // What can be searched in a dialogue, made when it is first asked for.
  const searched = [];
  const haystack = (i) =>
    (searched[i] ??= [
      data.dialogues[i],
      ...(data.said ? [...data.said.system[i], ...data.said.user[i]] : []),
      ...[data.gold, ...data.of_runs.map((r) => r.pred)].flatMap((c) => [...new Set(c.value[i])].map((v) => data.values[v])),
    ]
      .join("\n")
      .toLowerCase());

  function hasError(i) {
    const { slot, class: classes } = data.of_runs[state.run].pred;
    return classes[i].some((number, at) => {
      const kind = number < 0 ? "correct" : data.classes[number][1];
      return kind !== "correct" && (state.kind === "any" || kind === state.kind) && (state.slot === "" || slot[i][at] === Number(state.slot));
    });
  }

  function listed(all) {
    const wanted = state.text.trim().toLowerCase();
    const column = all.find((one) => one.key === state.column) ?? all[1];
    const unit = column.share ? 100 : 1;
    const least = state.least === "" ? null : Number(state.least);
    const most = state.most === "" ? null : Number(state.most);
    const inside = (i) => {
      if (least === null && most === null) return true;
      const value = column.get(i);
      if (value === null) return false;
      const shown = Math.round(1e6 * unit * value) / 1e6;
      return (least === null || shown >= least) && (most === null || shown <= most);
    };
    const sorted = all.find((one) => one.key === state.sort) ?? all[0];
    return data.dialogues
      .map((_, i) => i)
      .filter((i) => inside(i) && (!state.kind || hasError(i)) && (!wanted || haystack(i).includes(wanted)))
      .sort((a, b) => compare(sorted.get(a), sorted.get(b), state.descending) || a - b);
  }

  const list = document.getElementById("explorer");
  const place = document.getElementById("dialogue");
  const controls = el("form", { class: "controls", submit: (event) => event.preventDefault() });
  const count = el("p", { role: "status" });
  const table = el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Dialogues" });
  const more = el("p", {});

  /** The controls; made anew when the runs change, as what can be chosen changes with them. */
  function drawControls() {
    const runs = data.runs.map((name, number) => [number, name]);
    const all = columns().slice(1);
    const again = (key) => (value) => {
      state[key] = value;
      state.shown = PAGE;
      drawList();
    };
    const anew = (key, read = Number) => (value) => {
      const focused = [...controls.querySelectorAll("select, input")].indexOf(document.activeElement);
      state[key] = read(value);
      if (!differences().some((one) => one.key === state.difference)) state.difference = differences()[0]?.key ?? "";
      drawControls();
      controls.querySelectorAll("select, input")[focused]?.focus();
      drawList();
      drawDialogue();
    };
    const slots = [["", "any slot"], ...data.slots.map((name, n) => [n, name]).sort((a, b) => a[1].localeCompare(b[1]))];
    const kinds = [["", "all dialogues"], ["any", "any error"], ["missed", "missed"], ["wrong", "wrong"], ["over", "over-predicted"]];
    const named = all.map((one) => [one.key, one.title]);
    controls.replaceChildren(
      labelled("Run", select(runs, state.run, anew("run"))),
      labelled("beside", select([[-1, "no other"], ...runs], state.beside, anew("beside"))),
      labelled("difference", select([["", "none"], ...differences().map((d) => [d.key, d.title])], state.difference, anew("difference", String))),
      labelled("search", input({ type: "search", value: state.text, placeholder: "id, words, values" }, again("text"))),
      labelled("with", select(kinds, state.kind, again("kind"))),
      labelled("in", select(slots, state.slot, again("slot"))),
      labelled("where", select(named, state.column, again("column"))),
      labelled("is at least", input({ type: "number", step: "any", value: state.least }, again("least"))),
      labelled("and at most", input({ type: "number", step: "any", value: state.most }, again("most"))),
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
      table.querySelector('[aria-sort="ascending"] button, [aria-sort="descending"] button')?.focus();
    };
    const heads = all.map((one) =>
      header(one.title, one.key === state.sort && (state.descending ? "descending" : "ascending"), sort(one.key), one.key !== "dialogue"),
    );
    const rows = state.order.slice(0, state.shown).map((i) =>
      el("tr", { class: i === state.open && "open" },
        all.map((one) =>
          one.key === "dialogue"
            ? el("th", { scope: "row" }, el("a", { href: link(i) }, data.dialogues[i]))
            : el("td", { class: "n" }, shownNumber(one.get(i), one.share)),
        ),
      ),
    );
    table.replaceChildren(
      el("table", {}, el("caption", {}, `Dialogues, as ${data.runs[state.run]} has them`), el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows)),
    );
    const rest = state.order.length - state.shown;
    const show = () => {
      state.shown += PAGE;
      drawList();
    };
    more.replaceChildren(...(rest > 0 ? [el("button", { type: "button", click: show }, `Show ${Math.min(rest, PAGE)} more of ${rest}`)] : []));
  }

  // --- one dialogue ------------------------------------------------------------------------------------------------

  const link = (i) => `#dialogue=${encodeURIComponent(data.dialogues[i])}`;

  /** The state after each turn, from its changes: slot to what is known of it, and whether its value is new. */
  function replay(changes, i, turns) {
    const states = [];
    let now = new Map();
    let at = 0;
    for (let turn = 0; turn < turns; turn++) {
      now = new Map([...now].filter(([slot]) => slot >= 0).map(([slot, cell]) => [slot, { ...cell, isNew: false }]));
      for (; at < changes.turn[i].length && changes.turn[i][at] === turn; at++) {
        const slot = changes.slot[i][at];
        const value = changes.value[i][at];
        now.set(slot, { value, class: changes.class?.[i][at] ?? -1, isNew: value !== (now.get(slot)?.value ?? -1) });
      }
      states.push(now);
    }
    return states;
  }

  const valueText = (cell) => (cell && cell.value >= 0 ? data.values[cell.value] : "–");

  /** What a run makes of a slot: a sign, the value, and its class in words. */
  function cellOf(cell, gold) {
    if (!cell || cell.class < 0) return el("td", { class: "nothing" }, valueText(cell));
    const [name, kind] = data.classes[cell.class];
    const carried = !cell.isNew && !gold?.isNew;
    const words = name.replaceAll("-", " ") + (carried ? ", carried over" : "");
    return el("td", { class: `${kind}${carried ? " carried" : ""}` },
      el("span", { class: "sign", "aria-hidden": "true" }, MARKS[kind]), " ", valueText(cell), " ", el("small", {}, words));
  }

  const nameOf = (slot) => (slot < 0 ? "no prediction" : data.slots[slot]);

  function stateTable(turn, gold, runs) {
    const slots = new Set([...gold].filter(([, cell]) => cell.value >= 0).map(([slot]) => slot));
    runs.forEach(({ cells }) => cells.forEach((cell, slot) => cell.class >= 0 && slots.add(slot)));
    const isPlain = (slot) => !gold.get(slot)?.isNew && runs.every(({ cells }) => cells.get(slot)?.class === 0 && !cells.get(slot).isNew);
    const all = [...slots].sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
    const rows = all.filter((slot) => !state.brief || !isPlain(slot)).map((slot) =>
      el("tr", {}, el("th", { scope: "row" }, nameOf(slot)),
        el("td", { class: gold.get(slot)?.isNew && "new" }, valueText(gold.get(slot)), gold.get(slot)?.isNew ? el("small", {}, " new") : ""),
        runs.map(({ cells }) => cellOf(cells.get(slot), gold.get(slot)))),
    );
    const hidden = all.length - rows.length;
    if (!rows.length) return el("p", { class: "below" }, hidden ? `${hidden} slots, carried over and correct.` : "No slot yet, in gold or predicted.");
    const heads = ["slot", "gold", ...runs.map(({ name }) => name)].map((text) => el("th", { scope: "col" }, text));
    const caption = `States in turn ${turn}` + (hidden ? `; ${hidden} more are carried over and correct` : "");
    return wide(el("table", { class: "states" }, el("caption", {}, caption), el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows)), caption);
  }

  const wide = (inner, label) => el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, inner);

  /** A table of numbers: a row per run. */
  function numberTable(caption, heads, rows) {
    const head = ["run", ...heads].map((text, n) => el("th", { scope: "col", class: n > 0 && "n" }, text));
    const body = rows.map(([name, ...cells]) => el("tr", {}, el("th", { scope: "row" }, name), cells.map((text) => el("td", { class: "n" }, text))));
    return wide(el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)), caption);
  }

  function turnOf(i, at, gold, runs) {
    const turn = data.turns[i][at];
    const said = ["system", "user"].filter((who) => data.said?.[who][i][at]);
    const scores = runs.map(({ name, own }) => [
      name,
      ...data.metrics.map((m) => shownNumber(own.turn_scores[m][i][at], isShare(m))),
      ...Object.values(own.events).map((counts) => shownNumber(counts[i][at])),
    ]);
    const events = Object.keys(data.of_runs[0].events).map((name) => `${name} changes`);
    return el("section", { class: "turn", id: `turn-${turn}`, "aria-labelledby": `turn-${turn}-title` },
      el("h4", { id: `turn-${turn}-title` }, `Turn ${turn}`),
      said.map((who) => el("p", { class: `said ${who}` }, el("b", {}, `${who}: `), el("span", { dir: "auto" }, data.said[who][i][at]))),
      stateTable(turn, gold[at], runs.map(({ name, states }) => ({ name, cells: states[at] }))),
      numberTable(`Scores of turn ${turn}, and changes of state as GCA counts them`, [...data.metrics, ...events], scores));
  }

  function drawDialogue(focus) {
    const i = state.open;
    if (i < 0) return;
    const turns = data.turns[i].length;
    const gold = replay(data.gold, i, turns);
    const numbers = [...new Set([state.run, state.beside])].filter((n) => n >= 0);
    const runs = numbers.map((n) => ({ name: data.runs[n], own: data.of_runs[n], states: replay(data.of_runs[n].pred, i, turns) }));
    const whole = runs.map(({ name, own }) => [
      name,
      ...data.metrics.map((m) => shownNumber(own.scores[m][i], isShare(m))),
      ...data.traits.map((t) => shownNumber(own.numbers[t][i])),
    ]);
    const at = state.order.indexOf(i);
    const go = (n) => () => (location.hash = link(state.order[n]));
    const step = (text, n) => el("button", { type: "button", disabled: !(n in state.order) || at < 0, click: go(n) }, text);
    const brief = el("input", { type: "checkbox", checked: state.brief, change: (event) => ((state.brief = event.target.checked), drawDialogue()) });
    const title = el("h3", { tabindex: "-1" }, `Dialogue ${data.dialogues[i]}`);
    place.replaceChildren(
      title,
      el("p", { class: "controls" }, step("Previous", at - 1), step("Next", at + 1), el("label", {}, brief, " hide what is carried over and correct")),
      numberTable("The whole dialogue", [...data.metrics, ...data.traits], whole),
      ...data.turns[i].map((_, turn) => turnOf(i, turn, gold, runs)),
    );
    if (focus) {
      title.focus();
      title.scrollIntoView();
    }
  }

  /** Open the dialogue that the address names, if it names one. */
  function follow() {
    const wanted = location.hash.match(/^#dialogue=(.*)$/);
    if (!wanted) return;
    const i = data.dialogues.indexOf(decodeURIComponent(wanted[1]));
    if (i < 0) {
      state.open = -1;
      place.replaceChildren(el("p", { role: "alert" }, `Dialogue ${decodeURIComponent(wanted[1])} is not in this report.`));
      return;
    }
    state.open = i;
    drawDialogue(true);
    drawList();
  }

  state.difference = differences()[0]?.key ?? "";
  list.append(controls, count, table, more);
  drawControls();
  drawList();
  addEventListener("hashchange", follow);
  follow();
})();
