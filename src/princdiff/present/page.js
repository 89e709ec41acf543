"use strict";
// The page's behaviour: draws the charts, and sorts, searches and shows the features.
// Names from users' files are set with textContent only.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const features = data.features;
  const find = (id) => document.getElementById(id);
  const STEP = 200; // rows added at a time: thousands at once would make the page slow
  const PRINTED = 30; // as in the print style
  const KINDS = { location: "shift", scale: "spread", shape: "shape" };

  // Numbers

  function number(value, digits = 3) {
    if (value === null || value === undefined) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-3) return value.toExponential(digits - 1).replaceAll("-", "−").replace("+", "");
    const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    return value.toFixed(places).replace("-", "−");
  }
  const percent = (value) => (value === null ? "–" : (100 * value).toFixed(1).replace("-", "−") + "\u00a0%");

  // Charts

  const options = { mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, ast: true, tooltip: { disableDefaultStyle: true } };
  const draw = (place, spec) => window.vegaEmbed(place, spec, options);
  for (const place of document.querySelectorAll("[data-chart]")) {
    const spec = data.charts[place.dataset.chart];
    if (spec) draw(place, spec);
  }

  // The table of features

  function mainKind(row) {
    let best = null;
    for (const kind of Object.keys(KINDS)) {
      const value = features[kind][row];
      if (value > 0 && (best === null || value > features[best][row])) best = kind;
    }
    return best === null ? "" : KINDS[best];
  }
  const kinds = features.name.map((_, row) => mainKind(row));
  const largest = features.share.reduce((most, share) => Math.max(most, share || 0), 0) || 1;
  const known = (values) => values.some((value) => value !== null);

  function shareCell(cell, row) {
    const meter = document.createElement("span");
    meter.className = "meter";
    meter.setAttribute("aria-hidden", "true");
    const bar = document.createElement("i");
    bar.style.width = (100 * Math.max(0, features.share[row] || 0)) / largest + "%";
    meter.append(bar);
    cell.append(meter, percent(features.share[row]));
  }
  function nameCell(cell, row) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = features.name[row];
    button.title = features.name[row];
    button.dir = "auto";
    cell.append(button);
  }
  const columns = [
    { key: "name", title: "feature", values: features.name, kind: "name", fill: nameCell, first: 1 },
    { key: "share", title: "share", values: features.share, kind: "n", fill: shareCell },
    { key: "weight", title: "weight", values: features.weight, kind: "n", text: (row) => number(features.weight[row]) },
    { key: "selected", title: "selected", values: features.selected, kind: "", text: (row) => (features.selected[row] ? "yes" : "–") },
    { key: "pvalue", title: "p-value", values: features.pvalue, kind: "n minor", first: 1, text: (row) => number(features.pvalue[row], 2) },
    { key: "stability", title: "stability", values: features.stability, kind: "n minor", text: (row) => number(features.stability[row], 2) },
    { key: "divergence", title: "alone", values: features.divergence, kind: "n minor", text: (row) => number(features.divergence[row]) },
    { key: "kind", title: "mostly", values: kinds, kind: "minor", first: 1, text: (row) => kinds[row] || "–" },
  ].filter((column) => known(column.values));

  const state = { key: "share", sign: -1, shown: STEP, rows: [], chosen: null };
  const lowered = features.name.map((name) => name.toLowerCase());
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const body = find("table").tBodies[0];

  for (const column of columns) {
    const head = document.createElement("th");
    head.scope = "col";
    head.className = column.kind;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = column.title;
    button.addEventListener("click", () => {
      state.sign = state.key === column.key ? -state.sign : column.first || -1;
      state.key = column.key;
      state.shown = STEP;
      update();
    });
    head.append(button);
    column.head = head;
    find("table").tHead.rows[0].append(head);
  }

  function sorted(rows) {
    const column = columns.find((one) => one.key === state.key);
    const values = column.values;
    const words = typeof values[0] === "string";
    // What is not known comes last, whichever way the rest is sorted; equal values keep the given order.
    return rows.sort((a, b) => {
      const one = values[a], other = values[b];
      if (one === null || other === null) return (one === null) - (other === null) || a - b;
      const order = words ? collator.compare(one, other) : one - other;
      return state.sign * order || a - b;
    });
  }

  function update() {
    const wanted = find("search").value.trim().toLowerCase();
    const only = find("only").checked;
    const rows = [];
    for (let row = 0; row < lowered.length; row++) {
      if ((!only || features.selected[row]) && lowered[row].includes(wanted)) rows.push(row);
    }
    state.rows = sorted(rows);
    for (const column of columns) {
      if (column.key === state.key) column.head.setAttribute("aria-sort", state.sign > 0 ? "ascending" : "descending");
      else column.head.removeAttribute("aria-sort");
    }
    show();
  }

  function show() {
    const drawn = state.rows.slice(0, state.shown);
    const fragment = document.createDocumentFragment();
    for (const row of drawn) fragment.append(line(row));
    if (drawn.length === 0) {
      const empty = document.createElement("tr");
      empty.className = "empty";
      const cell = document.createElement("td");
      cell.colSpan = columns.length;
      cell.textContent = "No feature matches.";
      empty.append(cell);
      fragment.append(empty);
    }
    body.replaceChildren(fragment);
    const total = state.rows.length;
    find("count").textContent = drawn.length < total ? `first ${drawn.length} of ${total} features` : `${total} ${total === 1 ? "feature" : "features"}`;
    const left = total - drawn.length;
    find("more").hidden = left === 0;
    find("more").textContent = `Show ${Math.min(STEP, left)} more`;
    find("printed").hidden = total <= PRINTED;
    find("printed").textContent = `The first ${PRINTED} of ${total} features are printed.`;
  }

  function line(row) {
    const element = document.createElement("tr");
    element.dataset.row = row;
    if (row === state.chosen) element.className = "chosen";
    for (const column of columns) {
      const cell = document.createElement("td");
      cell.className = column.kind;
      if (column.fill) column.fill(cell, row);
      else cell.textContent = column.text(row);
      element.append(cell);
    }
    return element;
  }

  body.addEventListener("click", (event) => {
    const element = event.target.closest("tr[data-row]");
    if (element) choose(Number(element.dataset.row), true);
  });
  find("search").addEventListener("input", () => { state.shown = STEP; update(); });
  find("only").addEventListener("change", () => { state.shown = STEP; update(); });
  find("more").addEventListener("click", () => { state.shown += STEP; show(); });

  // The chosen feature

  function choose(row, open) {
    state.chosen = row;
    for (const element of body.rows) element.classList.toggle("chosen", Number(element.dataset.row) === row);
    if (open) find("panel").classList.add("open");
    find("chosen").textContent = features.name[row];
    const column = features.column[row];
    find("origin").hidden = column === null;
    find("origin").textContent = column === null ? "" : `made from the column ${column}`;
    distribution(row);
    moments(row);
    facts(row);
  }

  let drawing = Promise.resolve(null);
  function distribution(row) {
    const kept = data.histograms[row];
    const place = find("distribution");
    place.hidden = !kept;
    find("tails").hidden = !kept;
    find("unkept").hidden = Boolean(kept);
    if (!kept) return;
    const edges = kept.edges, last = edges.length - 2;
    const steps = [], bins = [];
    for (let bin = 0; bin <= last; bin++) {
      const entry = { x: edges[bin], x2: edges[bin + 1], range: `${number(edges[bin])} to ${number(edges[bin + 1])}` };
      kept.shares.forEach((shares, group) => { entry["g" + group] = percent(shares[bin]); });
      bins.push(entry);
    }
    kept.shares.forEach((shares, group) => {
      shares.forEach((share, bin) => steps.push({ x: edges[bin], y: share, group }));
      steps.push({ x: edges[last + 1], y: shares[last], group });
    });
    const spec = { ...data.charts.feature, datasets: { steps, bins } };
    // One after the other: drawings that overtake each other would leave the wrong feature on the page.
    drawing = drawing.then((before) => {
      if (before) before.finalize();
      return draw(place, spec);
    });
  }

  function moments(row) {
    const fragment = document.createDocumentFragment();
    data.groups.forEach((name, group) => {
      const element = document.createElement("tr");
      const cells = [name, number(features.mean[group][row], 4), number(features.sd[group][row], 4)];
      cells.forEach((text, index) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        if (index) cell.className = "n";
        else cell.title = name;
        element.append(cell);
      });
      fragment.append(element);
    });
    find("moments").tBodies[0].replaceChildren(fragment);
  }

  function facts(row) {
    const total = features.divergence[row];
    const parts = Object.keys(KINDS).map((kind) => `${KINDS[kind]} ${total > 0 ? Math.round((100 * features[kind][row]) / total) : 0}\u00a0%`);
    const entries = [
      ["share of the difference", percent(features.share[row])],
      ["weight", number(features.weight[row])],
      ["selected", features.selected[row] ? "yes" : "no"],
      ["p-value, adjusted", number(features.pvalue[row], 2)],
      ["stability", number(features.stability[row], 2)],
      ["divergence alone", number(total)],
      ["made up of", parts.join(", ")],
    ];
    const fragment = document.createDocumentFragment();
    for (const [term, text] of entries) {
      if (text === "–") continue;
      const dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = term;
      dd.textContent = text;
      fragment.append(dt, dd);
    }
    find("facts").replaceChildren(fragment);
  }

  function close() {
    find("panel").classList.remove("open");
  }
  find("close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  // A closed explanation would be lost on paper.
  window.addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) one.open = true; });

  update();
  if (state.rows.length) choose(state.rows[0], false);
})();
