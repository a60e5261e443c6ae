// The list of dialogues, and what chooses and sorts them.

const named = (name) => data.names[name] ?? name;
const isShare = (metric) => !data.counts.includes(metric);
const shownNumber = (value, share) => {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  return share ? (100 * value).toFixed(2) : String(Math.round(1000 * value) / 1000);
};
// As it is shown, so that what looks equal is sorted as equal.
const difference = (one, other) => Math.round(1e4 * (one - other)) / 1e4;
const dataOf = (run) => data.of_runs[data.runs.indexOf(run)];

const ofAll = (i, get) => data.of_runs.map((ofRun) => get(ofRun)[i]).filter((value) => value !== null);
const range = (values) => (values.length > 1 ? difference(Math.max(...values), Math.min(...values)) : null);
const rangeOf = (metric, i) => range(ofAll(i, ({ scores }) => scores[metric]));
const wrongAtEnd = (i) => ofAll(i, ({ numbers }) => numbers.wrong_slots_last);

/** What is worth seeing comes first: the runs disagree; then, a run is one slot away from right at the end. */
function byWorth(one, other) {
  const nearest = (i) => Math.min(...wrongAtEnd(i).filter((n) => n > 0));
  return compare(rangeOf(main, one), rangeOf(main, other), true) || compare(nearest(one), nearest(other));
}

/** The columns to choose one more from: differences between the two runs, all runs, and two metrics of the run. */
function extras() {
  const own = dataOf(state.run).scores;
  const other = dataOf(state.beside)?.scores;
  const between = (key, title, one, two, share) => {
    const get = (i) => (one[i] === null || two[i] === null ? null : difference(one[i], two[i]));
    return { key, title, share, get };
  };
  const ofPair = (m) => between(`runs:${m}`, `${named(m)}: ${state.run} less ${state.beside}`, own[m], other[m], isShare(m));
  const ofRange = (m) =>
    ({ key: `range:${m}`, title: `${named(m)}: highest less lowest run`, share: isShare(m), get: (i) => rangeOf(m, i) });
  const least = (values) => (values.length ? Math.min(...values) : null);
  const fewest = { key: "fewest", title: "Fewest wrong slots at the end", get: (i) => least(wrongAtEnd(i)) };
  const shares = data.metrics.filter(isShare);
  return [
    ...(other ? data.metrics.map(ofPair) : []),
    ...(several ? [...data.metrics.map(ofRange), fewest] : []),
    ...shares.flatMap((a, index) =>
      shares.slice(index + 1).map((b) => between(`metrics:${a}:${b}`, `${named(a)} less ${named(b)}`, own[a], own[b], true))),
  ];
}

/** The columns of the list: the title of each, and its value for a dialogue. */
function columns() {
  const { scores, numbers } = dataOf(state.run);
  const extra = extras().find(({ key }) => key === state.extra);
  return [
    { key: "dialogue", title: "Dialogue", get: (i) => data.dialogues[i] },
    ...(extra ? [{ ...extra, key: "extra" }] : []),
    ...data.metrics.map((m) => ({ key: m, title: named(m), get: (i) => scores[m][i], share: isShare(m) })),
    ...data.traits.map((t) => ({ key: t, title: named(t), get: (i) => numbers[t][i] })),
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
  const { slot, class: classes } = dataOf(state.run).pred;
  const chosen = state.slot === "" ? null : data.slots.indexOf(state.slot);
  return classes[i].some((index, at) => {
    const kind = index < 0 ? "correct" : data.classes[index][1];
    return (chosen === null || slot[i][at] === chosen) && (state.errors === "any" ? kind !== "correct" : kind === state.errors);
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
  const search = state.search.trim().toLowerCase();
  const limited = all.find(({ key }) => key === state.where);
  const { get } = all.find(({ key }) => key === state.sort) ?? {};
  const down = state.order === "descending";
  const by = get ? (a, b) => compare(get(a), get(b), down) : (a, b) => (down ? byWorth(b, a) : byWorth(a, b));
  return [...data.dialogues.keys()]
    .filter((i) => isWithin(i, limited) && (!state.errors || hasError(i)) && (!search || searchText(i).includes(search)))
    .sort((a, b) => by(a, b) || a - b);
}

// What the buttons above the list choose.
const PRESETS = [
  ["All dialogues", {}],
  ...(several ? [["Runs disagree most", { extra: `range:${main}`, sort: "extra", order: "descending" }]] : []),
  // The run that comes nearest to the last turn's state has one slot of it wrong.
  ["One slot away from right", {
    ...(several ? { extra: "fewest", where: "extra" } : { where: "wrong_slots_last" }),
    ...{ least: "1", most: "1", sort: main, order: "descending" },
  }],
  ["First failure early", { where: "first_failure", least: "0", sort: "first_failure" }],
].map(([title, chosen]) => [title, { ...FILTER, ...chosen }]);

const notice = el("p", { role: "alert" });
const presets = el("p", { class: "controls", role: "group", "aria-label": "Dialogues of interest" },
  PRESETS.map(([title, chosen]) => button(title, () => filter(chosen))));
const controls = el("p", { class: "controls" });
const filters = el("p", { class: "controls" });
const folded = el("details", {}, el("summary", {}, "More filters, and the order"), filters);
const form = el("form", { submit: (event) => event.preventDefault() }, controls, folded);
const count = el("p", { role: "status" });
const list = wide("Dialogues");
const more = el("p", {});
const dialogue = document.getElementById("dialogue");

function filter(changes) {
  shown = PAGE;
  go(changes);
}

function drawControls() {
  const all = () => [...form.querySelectorAll("select, input")];
  const focused = all().indexOf(document.activeElement);
  const choice = (label, key) => select(label, choices(key), state[key], (value) => filter({ [key]: value }));
  // A field filters while one types. Its text is in the address when one leaves it, without drawing anything anew: the
  // reader may be about to click on it.
  const text = (label, key, attributes) => {
    const input = (event) => {
      state[key] = event.target.value;
      shown = PAGE;
      drawList();
    };
    return field(label, { ...attributes, value: state[key], input, change: () => go({}, { drawn: () => {} }) });
  };
  controls.replaceChildren(...[
    several && choice("Run", "run"),
    several && choice("beside", "beside"),
    text("search", "search", { type: "search", placeholder: "id, words, values" }),
  ].filter(Boolean));
  filters.replaceChildren(
    choice("one more column", "extra"),
    choice("with", "errors"),
    choice("in", "slot"),
    choice("where", "where"),
    text("is at least", "least", { type: "number", step: "any" }),
    text("and at most", "most", { type: "number", step: "any" }),
    choice("sorted by", "sort"),
    choice("order", "order"),
  );
  all()[focused]?.focus();
}

function drawList() {
  const isChosen = ([, chosen]) => Object.entries(chosen).every(([key, value]) => state[key] === value);
  PRESETS.forEach((preset, at) => presets.children[at].setAttribute("aria-pressed", String(isChosen(preset))));
  const all = columns();
  order = listed(all);
  const [some, whole] = [order, data.dialogues].map(({ length }) => length.toLocaleString("en"));
  count.textContent = `${some} of ${whole} dialogues; shares in percent`;
  const sort = (key) => () => {
    const down = state.sort === key ? state.order === "" : key !== "dialogue";
    go({ sort: key, order: down ? "descending" : "" });
    list.querySelector('[aria-sort$="scending"] button').focus();
  };
  const heads = all.map(({ key, title }) => {
    const sorted = key !== state.sort ? "none" : state.order || "ascending";
    return columnHead(button(title, sort(key)), { "aria-sort": sorted, class: key !== "dialogue" && "n" });
  });
  const rows = order.slice(0, shown).map((i) => {
    const id = data.dialogues[i];
    const isOpen = id === state.dialogue;
    const href = hashOf(addressOf({ dialogue: id, turn: "" }));
    return el("tr", { class: isOpen && "open" },
      rowHead(el("a", { href, "data-number": i, click: isOpen && showTitle }, id)),
      all.slice(1).map(({ get, share }) => numberCell(shownNumber(get(i), share))));
  });
  const table = tableOf(`Dialogues: scores of ${state.run}`, heads, rows);
  asOneStop(table, "thead button");
  list.replaceChildren(table);
  const rest = order.length - shown;
  const show = () => {
    shown += PAGE;
    drawList();
  };
  more.replaceChildren(...(rest > 0 ? [button(`Show ${Math.min(rest, PAGE)} more of ${rest}`, show)] : []));
}
