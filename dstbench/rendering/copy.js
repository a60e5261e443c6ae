// --- copies of the report's blocks, as LaTeX, CSV or SVG ---------------------------------------------------------------

function copyButton(text, what, get) {
  const said = (words) => {
    element.textContent = words;
    setTimeout(() => (element.textContent = text), 1500);
  };
  const copy = () => navigator.clipboard.writeText(get()).then(() => said("copied"), () => said("not allowed here"));
  const element = button(text, copy, { "aria-label": `Copy as ${text}: ${what}` });
  return element;
}

const csvText = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
/** The text of a cell: a value and its interval, or a name without its badges. */
const cellText = (cell) => (cell.firstChild?.textContent ?? "") + (cell.querySelector("small")?.textContent ?? "");
const csv = (table) => [...table.rows].map((row) => [...row.cells].map(cellText).map(csvText).join(",") + "\n").join("");

/** A drawing with the colours that it has on this page, for a file of its own. */
function svg(drawing) {
  const copy = drawing.cloneNode(true);
  const originals = drawing.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((element, at) => {
    for (const name of ["fill", "stroke"]) {
      if (element.hasAttribute(name)) element.setAttribute(name, getComputedStyle(originals[at])[name]);
    }
  });
  copy.setAttribute("font-family", "Helvetica, Arial, sans-serif");
  return new XMLSerializer().serializeToString(copy);
}

document.querySelectorAll("main .block, main .folded").forEach((block) => {
  const [table, drawing, latex] = ["table", ".panels > svg", "template"].map((name) => block.querySelector(name));
  const what = block.querySelector("figcaption, summary, caption").textContent;
  const copies = el("p", { class: "copies" });
  if (latex) copies.append(copyButton("LaTeX", what, () => latex.content.textContent));
  if (table) copies.append(copyButton("CSV", what, () => csv(table)));
  if (drawing) copies.append(copyButton("SVG", what, () => svg(drawing)));
  (block.querySelector(":scope > details") ?? block).append(copies);
});
