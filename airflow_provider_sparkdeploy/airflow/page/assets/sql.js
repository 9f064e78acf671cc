// SQL for people: keywords, strings, comments and numbers in their colours, and differences.

import { h } from "./dom.js";

const WORDS = new Set(
  ("add all alter and anti any as asc between by cascade case cast column columns comment create cross current data database delete desc " +
    "describe distinct drop else end except exists external false first for from full function group having if in index inner insert " +
    "intersect interval into is join last lateral left like limit location materialized merge not null nulls on or order outer over " +
    "overwrite partition partitioned primary properties recursive references rename replace return returns right rows schema select semi " +
    "set show sort table tblproperties then to true truncate union unique update use using values view when where window with").split(" "),
);
const TOKEN = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^'\\]|\\.|'')*'?|"(?:[^"\\]|\\.)*"?)|(`(?:[^`]|``)*`?)|(\b\d+(?:\.\d+)?\b)|([A-Za-z_]\w*)/g;

export function coloured(text) {
  const parts = [];
  let done = 0;
  for (const found of text.matchAll(TOKEN)) {
    const [all, comment, string, quoted, number, word] = found;
    const tone = comment ? "c" : string ? "s" : number ? "n" : quoted ? "q" : word && WORDS.has(word.toLowerCase()) ? "k" : "";
    if (!tone) continue;
    if (found.index > done) parts.push(text.slice(done, found.index));
    parts.push(h("span", { class: `q-${tone}` }, all));
    done = found.index + all.length;
  }
  parts.push(text.slice(done));
  return parts;
}

export const sql = (text) => h("pre", { class: "sql", tabindex: "0" }, h("code", {}, ...coloured(text)));

const SAID = { "+": "new", "-": "gone", " ": "same" };

export function difference(rows) {
  const lines = rows.map(([tag, line]) =>
    tag === "@"
      ? h("div", { class: "line skip", "aria-label": "lines left out" }, "⋯")
      : h(
          "div",
          { class: `line ${tag === "+" ? "plus" : tag === "-" ? "minus" : ""}` },
          h("span", { class: "tag", "aria-label": SAID[tag] }, tag === "-" ? "−" : tag),
          h("span", {}, ...coloured(line)),
        ),
  );
  return h("pre", { class: "sql diff", tabindex: "0" }, ...lines);
}
