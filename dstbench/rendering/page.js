// The script of every report: tables are sorted by their heads and copied as LaTeX. It sets only text and attributes,
// never markup.
"use strict";

// Invisible characters, and those that change how others are read; io/escape.py has the same ones, and line breaks.
const UNSEEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const isModified = (event) => event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;

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
const columnHead = (text, attributes = {}) => el("th", { scope: "col", ...attributes }, text);
const rowHead = (...inner) => el("th", { scope: "row" }, ...inner);
const numberCell = (text) => el("td", { class: "n" }, text);

/** A table of heads and rows, which are elements, in a region that scrolls sideways if need be. */
function tableOf(caption, heads, rows, attributes = {}) {
  const inner = [el("caption", {}, caption), el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows)];
  const region = { class: "wide", role: "region", tabindex: 0, "aria-label": caption };
  return el("div", region, el("table", attributes, inner));
}

/** Make the chosen elements in the cells of a table its one tab stop; the arrow keys lead from one to the next. */
function asOneStop(table, chosen) {
  table.closest(".wide").removeAttribute("tabindex");
  let stop = table.querySelector(chosen);
  table.querySelectorAll(chosen).forEach((element) => (element.tabIndex = element === stop ? 0 : -1));
  table.addEventListener("focusin", ({ target }) => {
    if (!target.matches(chosen)) return;
    stop.tabIndex = -1;
    stop = target;
    stop.tabIndex = 0;
  });
  table.addEventListener("keydown", (event) => {
    if (!ARROWS[event.key] || isModified(event) || !event.target.matches(chosen)) return;
    const [down, right] = ARROWS[event.key];
    const cell = event.target.closest("td, th");
    const next = table.rows[cell.parentNode.rowIndex + down]?.cells[cell.cellIndex + right];
    const element = next?.matches(chosen) ? next : next?.querySelector(chosen);
    element?.focus();
    if (element || right) event.preventDefault();
  });
}

/** The order of two values, numbers or texts; null comes last, ascending and descending. */
function compare(one, other, descending) {
  const missing = (one === null) - (other === null);
  if (missing || one === null) return missing;
  const numbers = typeof one === "number" && typeof other === "number";
  const order = numbers ? one - other : String(one).localeCompare(other, "en", { numeric: true });
  return descending ? -order : order;
}

/** The value that a cell is sorted by: its number, without the interval that follows; else its text; null if empty. */
function cellValue(row, column) {
  const text = row.cells[column].firstChild?.textContent.trim() ?? "";
  if (text === "-" || text === "") return null;
  return /^[-+]?[\d.,]+( (to |\().*)?$/.test(text) ? parseFloat(text.replace(/,/g, "")) : text;
}

document.querySelectorAll("main table").forEach((table) => {
  const [body] = table.tBodies;
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
  asOneStop(table, "thead button");
});

document.querySelectorAll(".block template, .folded template").forEach((latex) => {
  const caption = latex.parentNode.querySelector("caption").textContent;
  const say = (words) => () => (copy.textContent = words);
  const text = latex.content.textContent;
  const write = () => navigator.clipboard.writeText(text).then(say("Copied"), say("Not allowed here"));
  const copy = button("Copy as LaTeX", write, { "aria-label": `Copy as LaTeX: ${caption}` });
  latex.after(el("p", { class: "copies" }, copy));
});
