// What the navigation opens: the DAGs that deploy something, and that one may read.

import { airflowLink, ask, chip, dagPath, h, losing, many, nothing, runPath, when } from "./dom.js";

export async function overview() {
  const data = await ask("dags");
  if (!data.dags.length) return nothing("No deployments", "No DAG that you may read deploys anything with SparkDeploy.");
  const rows = data.dags.flatMap((dag) => dag.deployments.map((item) => row(dag, item)));
  const head = ["DAG", "Deployed", "To do", "Last run", ""].map((text) => h("th", { scope: "col" }, text));
  return h("div", { class: "overview scroll" }, h("h1", {}, "SparkDeploy"), h("table", { class: "dags" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
}

function row(dag, item) {
  const address = `?${new URLSearchParams({ dag_id: dag.dag_id, ...(item.group ? { group: item.group } : {}) })}`;
  const todo = item.problems
    ? chip(many(item.problems, "problem"), "bad")
    : item.operations
      ? [h("strong", {}, many(item.operations, "operation")), " ", losing(item.destructive)]
      : h("span", { class: "status good" }, "nothing to do");
  return h("tr", {},
    h("td", {}, h("a", { class: "link strong", href: address }, dag.dag_id, item.group ? h("span", { class: "muted" }, ` / ${item.group}`) : null), dag.paused ? [" ", chip("paused")] : null),
    h("td", {}, item.known ? many(item.objects, "object") : h("span", { class: "muted" }, "nothing yet")),
    h("td", {}, todo, item.active ? [" ", chip("running", "info")] : null),
    h("td", { class: "nowrap" }, dag.last ? [h("span", { class: `dot s-${dag.last.state}`, title: dag.last.state }), " ", airflowLink(`${runPath(dag.dag_id, dag.last.run_id)}/plugin/sparkdeploy`, when(dag.last.start))] : h("span", { class: "muted" }, "never")),
    h("td", { class: "nowrap" }, airflowLink(dagPath(dag.dag_id), "DAG")));
}
