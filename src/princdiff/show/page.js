"use strict";
// The rest of the page: the first pictures, the chosen column, the direction's weights, links and print.
(function () {
  const { data, columns, features, number, percent, pvalue, find, make, pictures, table } = report;
  const MOST_WEIGHTS = 14;
  const KINDS = ["shift", "spread", "shape"];

  // The first pictures

  const cards = data.leading.columns.map((column) => {
    const title = make("a", { href: linkTo(columns.name[column]), dir: "auto", title: columns.name[column] }, ...report.breakable(columns.name[column]));
    return card(title, columns.change[column], pictures.ofColumn(column, null, "card"));
  });
  for (const place of data.leading.pairs) {
    const pair = data.pairs[place];
    const title = make("span", {}, make("bdi", {}, pair.first), " and ", make("bdi", {}, pair.second));
    cards.push(card(title, pair.change.replaceAll("-", "−"), pictures.ofPair(pair)));
  }
  function card(title, words, shown) {
    const holder = make("div", { class: "pictures" });
    const element = make("article", { class: "card" }, make("h3", {}, title), make("p", { class: "soft" }, words), holder);
    return { element, holder, shown };
  }
  find("cards").replaceChildren(...cards.map((one) => one.element));
  for (const { holder, shown } of cards) {
    if (shown.length) pictures.show(holder, shown);
    else holder.append(make("p", { class: "soft" }, "No picture of this column is kept in this page."));
  }

  // The chosen column

  let opener = null;
  table.listen((column, feature, asked) => {
    const name = feature === null ? columns.name[column] : report.featureName(feature);
    find("chosen").textContent = name;
    const words = feature === null ? columns.change[column] : report.own(feature, "change");
    find("changed-words").textContent = words;
    const shown = pictures.ofColumn(column, feature);
    pictures.show(find("distribution"), shown);
    find("unkept").hidden = shown.length > 0;
    find("tails").hidden = !shown.some((picture) => picture.template === "number");
    moments(column, feature);
    facts(column, feature);
    find("link").href = linkTo(name);
    if (!asked) return;
    find("status").textContent = `Showing ${name}: ${words}`;
    history.replaceState(null, "", linkTo(name));
    open();
  });

  const narrow = () => getComputedStyle(find("close")).display !== "none";
  function open() {
    const panel = find("panel");
    const closed = !panel.classList.contains("open");
    panel.classList.add("open");
    if (closed && narrow()) {
      opener = document.activeElement;
      find("close").focus();
    }
  }
  function close() {
    const panel = find("panel");
    if (!panel.classList.contains("open")) return;
    panel.classList.remove("open");
    if (opener && opener.isConnected) opener.focus();
    opener = null;
  }
  find("close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });

  function moments(column, feature) {
    const own = report.members(column);
    const shown = feature !== null ? feature : own.find((one) => features.kind[one] === "number");
    const place = shown === undefined || report.isProportion(shown) ? null : shown;
    find("moments").hidden = place === null;
    if (place === null) return;
    const rows = data.groups.map((name, group) =>
      make("tr", {}, make("th", { scope: "row", title: name }, name), make("td", { class: "n" }, number(features.mean[group][place], 4)), make("td", { class: "n" }, number(features.sd[group][place], 4))));
    find("moments").tBodies[0].replaceChildren(...rows);
  }

  function facts(column, feature) {
    const own = report.members(column);
    const only = feature !== null ? feature : own.length === 1 ? own[0] : null;
    const get = (key) => (feature === null ? columns[key][column] : report.own(feature, key));
    const reason = feature === null ? columns.reason[column] : "";
    const size = get("effect");
    const kind = get("kind");
    const entries = [
      ["differs", get("selected") ? reason || "yes" : "not shown"],
      ["size", size === null ? "–" : `${size.toFixed(2)}\u00a0sd`],
      ["adjusted p", pvalue(get("pvalue"))],
      ["type of column", columns.type[column]],
      ["kind of change", kind === "-" ? "–" : kind],
    ];
    if (only !== null && !report.isProportion(only) && kind !== "-") {
      const parts = KINDS.map((name, part) => [name, features.parts[part][only]]).filter(([, value]) => value !== null);
      if (parts.length) entries.push(["as observed", parts.map(([name, value]) => `${name} ${value}\u00a0%`).join(", ")]);
    }
    features.share.forEach((shares, component) => {
      const of = features.share.length > 1 ? ` (component ${component + 1})` : "";
      const sum = own.reduce((total, one) => (shares[one] === null ? total : total + shares[one]), 0);
      const known = own.some((one) => shares[one] !== null);
      entries.push(["share of the direction" + of, known ? percent(only === null ? sum : shares[only]) : "–"]);
      if (only !== null) entries.push(["weight" + of, number(features.weight[component][only])]);
    });
    if (only !== null) entries.push(["stability", number(features.stability[only], 2)]);
    const shown = entries.filter(([, text]) => text !== "–");
    find("facts").replaceChildren(...shown.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));
  }

  // The direction

  function weights(component) {
    const all = features.weight[component];
    const shares = features.share[component];
    const upper = data.upper[component];
    const order = all.map((_, feature) => feature).filter((feature) => all[feature]);
    order.sort((a, b) => Math.abs(all[b]) - Math.abs(all[a]) || a - b);
    const largest = order.length ? Math.abs(all[order[0]]) : 1;
    const shown = order.length <= MOST_WEIGHTS + 1 ? order : order.slice(0, MOST_WEIGHTS);
    const known = shares.some((share) => share !== null);
    const signs = new Set(shown.map((feature) => Math.sign(all[feature])));
    const rows = shown.map((feature) => {
      const bar = make("i", { class: all[feature] < 0 ? "minus" : "plus" });
      // Of two groups, the one towards which the feature moves the score.
      if (upper !== null) bar.style.background = `var(--g${all[feature] > 0 ? upper : 1 - upper})`;
      const length = (100 * Math.abs(all[feature])) / largest;
      const half = signs.size > 1 ? 2 : 1;
      bar.style.width = length / half + "%";
      bar.style.marginLeft = half === 1 ? "0" : (all[feature] < 0 ? 50 - length / 2 : 50) + "%";
      const name = report.featureName(feature);
      return make("tr", {},
        make("th", { scope: "row", dir: "auto", title: name }, name),
        make("td", { class: "diverging", "aria-hidden": "true" }, bar),
        make("td", { class: "n" }, number(all[feature], 2)),
        make("td", { class: "n share" }, percent(shares[feature])));
    });
    find("weights").tBodies[0].replaceChildren(...rows);
    find("weights").classList.toggle("shareless", !known);
    const rest = order.length - shown.length;
    const none = all.length - order.length;
    const words = [];
    if (rest) words.push(`${rest} more features have smaller weights`);
    if (none) words.push(`${none} of ${all.length} features have none`);
    find("weights-more").textContent = words.length ? words.join("; ") + "." : "";
  }
  const selector = find("component");
  function showComponent(component) {
    for (const part of document.querySelectorAll("[data-component]")) part.hidden = Number(part.dataset.component) !== component;
    weights(component);
    pictures.drawCharts(document);
  }
  if (selector) selector.addEventListener("change", () => showComponent(Number(selector.value)));

  // Links: #feature=name leads to a column or to one of its features.

  function linkTo(name) {
    return "#feature=" + encodeURIComponent(name);
  }
  function follow() {
    const wanted = /^#(?:feature|column)=(.*)$/.exec(location.hash);
    if (!wanted) return false;
    let name = wanted[1];
    try { name = decodeURIComponent(name); } catch { /* a stray percent sign: take it as it is */ }
    let column = columns.name.indexOf(name), feature = null;
    if (column < 0) {
      feature = features.name.indexOf(name);
      if (feature < 0) return false;
      column = features.column[feature];
    }
    table.reveal(column);
    table.choose(column, feature, true);
    const row = document.querySelector("#table tr.chosen");
    if (row) row.scrollIntoView({ block: "center" });
    return true;
  }
  window.addEventListener("hashchange", follow);

  // Print: everything, or one page

  // A closed explanation would be lost on paper.
  window.addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
  find("print").addEventListener("click", () => {
    document.body.classList.add("summary");
    window.print();
  });
  window.addEventListener("afterprint", () => document.body.classList.remove("summary"));

  showComponent(0);
  table.update();
  if (!follow() && table.state.rows.length) table.choose(table.state.rows[0], null, false);
})();
