// Copies a block of the report as LaTeX, CSV or SVG, and shows the folded block that an address names.
"use strict";
(() => {
  const button = (text, what, get) => {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = text;
    element.setAttribute("aria-label", `Copy as ${text}: ${what}`);
    element.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(get());
        element.textContent = "copied";
      } catch {
        element.textContent = "not allowed here";
      }
      setTimeout(() => (element.textContent = text), 1500);
    });
    return element;
  };

  const csvCell = (cell) => {
    const [value, interval] = [cell.firstChild?.textContent ?? "", cell.querySelector("small")?.textContent ?? ""];
    const text = cell.tagName === "TH" ? cell.querySelector("button")?.textContent ?? value : value + interval;
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = (table) => [...table.rows].map((row) => [...row.cells].map(csvCell).join(",") + "\n").join("");

  /** A drawing with the colours that it has on this page, for files of its own. */
  const svg = (drawing) => {
    const copy = drawing.cloneNode(true);
    const originals = [drawing, ...drawing.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((element, at) => {
      for (const name of ["fill", "stroke"]) {
        if (element.hasAttribute(name)) element.setAttribute(name, getComputedStyle(originals[at])[name]);
      }
    });
    copy.setAttribute("font-family", "Helvetica, Arial, sans-serif");
    return new XMLSerializer().serializeToString(copy);
  };

  document.querySelectorAll("main .block, main .folded").forEach((block) => {
    const [table, drawing, latex] = ["table", ".panels > svg", "template"].map((name) => block.querySelector(name));
    const what = block.querySelector("figcaption, summary, caption").textContent;
    const copies = document.createElement("p");
    copies.className = "copies";
    if (latex) copies.append(button("LaTeX", what, () => latex.content.textContent));
    if (table) copies.append(button("CSV", what, () => csv(table)));
    if (drawing) copies.append(button("SVG", what, () => svg(drawing)));
    (block.querySelector(":scope > details") ?? block).append(copies);
  });
})();
