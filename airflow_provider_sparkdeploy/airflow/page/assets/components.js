// The tab Components: materialized views that read each other.

import { airflowLink, ask, banner, chip, dagPath, h, many, nothing, runPath, s, when } from "./dom.js";

export async function componentsTab(place) {
  const data = await ask(dagPath(place.dag, "components"), { group: place.group });
  if (!data.components.length) {
    return { element: nothing("No cycles", data.known ? "Every deployed object can be built after what it depends on." : "Nothing is deployed yet.") };
  }
  return { element: h("div", { class: "components scroll" }, data.components.map((item) => card(place, item))) };
}

function card(place, item) {
  const last = item.computed[0];
  const verdict = item.monotone === true ? chip("monotone: it converges", "good") : item.monotone === false ? chip("not proven monotone", "warn") : null;
  return h("article", { class: "card" },
    h("header", {}, h("h3", {}, `Component ${item.id}`), h("span", { class: "muted" }, many(item.members.length, "member")), verdict, last ? outcome(last) : null),
    item.why.length ? banner("warn", h("ul", {}, item.why.map((line) => h("li", {}, line)))) : null,
    h("div", { class: "two" },
      h("section", {}, h("h4", {}, "Members"), ring(item.members),
        h("ul", { class: "members" }, item.members.map((member) =>
          h("li", {}, h("a", { class: "ref", href: `#objects/${encodeURIComponent(member.name)}` }, member.name),
            h("span", { class: "muted" }, " reads ", member.reads.join(", "), member.outside.length ? `; from outside ${member.outside.join(", ")}` : ""))))),
      h("section", {}, h("h4", {}, "Last computation"), last ? computation(place, last) : h("p", { class: "muted" }, "None in the runs that Airflow still has."), item.computed.length > 1 ? earlier(place, item.computed.slice(1)) : null)));
}

const outcome = (run) =>
  run.converged ? chip("converged", "good") : run.outcome === "done" ? chip("published", "good") : run.outcome === "failed" ? chip("failed", "bad") : run.outcome ? chip(run.outcome, "warn") : null;

function computation(place, run) {
  return h("div", {},
    run.passes.length ? plot(run) : null,
    h("p", {},
      run.iterations ? h("strong", {}, many(run.iterations, "pass").replace("passs", "passes")) : null,
      run.iterations ? `, ${run.passes.reduce((sum, rows) => sum + rows, 0).toLocaleString("en")} rows; ` : "",
      when(run.at), " by ", airflowLink(`${runPath(place.dag, run.run_id)}/plugin/sparkdeploy`, run.run_id)),
    run.saw ? h("p", { class: "muted" }, `An attempt was killed, and the next one looked: ${run.saw}. Its passes were not told.`) : null,
    run.error ? h("pre", { class: "error" }, run.error) : null);
}

const earlier = (place, runs) =>
  h("details", { class: "fold" }, h("summary", {}, `${runs.length} before it`),
    h("ul", { class: "plain" }, runs.map((run) => h("li", {}, when(run.at), " ", outcome(run), run.iterations ? ` ${run.iterations} passes ` : " ", airflowLink(`${runPath(place.dag, run.run_id)}/plugin/sparkdeploy`, run.run_id)))));

/** Rows that each pass added; the last one adds none, which is why it ended. */
function plot(run) {
  const most = Math.max(...run.passes, 1);
  const step = Math.max(7, Math.min(46, 520 / run.passes.length));
  const width = Math.max(run.passes.length * step, 120);
  const height = 96;
  const svg = s("svg", { class: "passes", viewBox: `0 0 ${width + 2} ${height + 34}`, width: width + 2, height: height + 34, role: "img", "aria-label": `Rows added per pass: ${run.passes.join(", ")}` });
  svg.append(s("line", { class: "axis", x1: 0, x2: width, y1: height + 14.5, y2: height + 14.5 }));
  run.passes.forEach((rows, at) => {
    const tall = rows ? Math.max(3, (rows / most) * height) : 0;
    const told = Object.entries(run.rows[at] ?? {}).map(([name, count]) => `${name}: ${count.toLocaleString("en")}`);
    svg.append(
      s("g", {},
        s("title", {}, [`Pass ${at + 1}: ${rows.toLocaleString("en")} rows`, ...told].join("\n")),
        s("rect", { class: rows ? "pass" : "pass none", x: at * step + step * 0.14, y: rows ? height + 14 - tall : height + 11, width: step * 0.72, height: rows ? tall : 3, rx: 2 }),
        step >= 24 ? s("text", { class: "rows", x: at * step + step / 2, y: height + 9 - tall, "text-anchor": "middle" }, short(rows)) : null,
        step >= 18 ? s("text", { class: "number", x: at * step + step / 2, y: height + 29, "text-anchor": "middle" }, at + 1) : null));
  });
  return h("figure", {}, svg, h("figcaption", { class: "muted" }, "Rows added by each pass"));
}

const short = (rows) => (rows >= 1e6 ? `${(rows / 1e6).toFixed(1)}M` : rows >= 1e4 ? `${Math.round(rows / 1e3)}k` : rows.toLocaleString("en"));

/** The members as a circle. */
function ring(members) {
  if (members.length > 12) return null;
  const [w, middle, radius] = [300, [150, 78], [96, 52]];
  const places = new Map(members.map((member, at) => {
    const turn = (2 * Math.PI * at) / members.length - Math.PI / (members.length === 2 ? 1 : 2);
    return [member.name, [middle[0] + radius[0] * Math.cos(turn), middle[1] + radius[1] * Math.sin(turn)]];
  }));
  const svg = s("svg", { class: "ring", viewBox: members.length === 2 ? `-70 38 ${w + 140} 84` : `-70 0 ${w + 140} 160`, "aria-hidden": "true" }, s("defs", {}, s("marker", { id: "ring-tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { d: "M0 .8 7.2 4 0 7.2z" }))));
  for (const member of members) {
    for (const need of member.reads) {
      const [ax, ay] = places.get(need);
      const [bx, by] = places.get(member.name);
      const [mx, my] = [(ax + bx) / 2, (ay + by) / 2];
      const [dx, dy] = [bx - ax, by - ay];
      const far = Math.hypot(dx, dy) || 1;
      const bend = 34;
      const [cx, cy] = [mx - (dy / far) * bend, my + (dx / far) * bend];
      const back = Math.hypot(bx - cx, by - cy) || 1;
      const front = Math.hypot(ax - cx, ay - cy) || 1;
      svg.append(s("path", { class: "edge", "marker-end": "url(#ring-tip)", d: `M${ax + ((cx - ax) / front) * 9} ${ay + ((cy - ay) / front) * 9}Q${cx} ${cy} ${bx - ((bx - cx) / back) * 11} ${by - ((by - cy) / back) * 11}` }));
    }
  }
  for (const [name, [x, y]] of places) {
    const low = y >= middle[1] - 1;
    svg.append(s("circle", { class: "dot", cx: x, cy: y, r: 6 }), s("text", { x, y: low ? y + 27 : y - 14, "text-anchor": "middle" }, name.length > 30 ? `${name.slice(0, 29)}…` : name));
  }
  return svg;
}
