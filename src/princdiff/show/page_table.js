"use strict";
// The table of columns: sorted, searched, unfolded into levels, saved as CSV.
report.table = (function () {
  const { data, columns, features, pvalue, find, make } = report;
  const STEP = 200; // columns added at a time: thousands at once would make the page slow
  const PRINTED = 30; // as in the print style
  const body = find("table").tBodies[0];
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const state = { key: null, sign: -1, shown: STEP, rows: [], column: null, feature: null, open: new Set(), all: false };
  const known = (values) => values.some((value) => value !== null);
  const differs = columns.differs.map((how) => how || "–");
  const kinds = columns.kind.map((kind) => (kind === "-" ? "–" : kind));
  // Of a single feature the column says everything.
  const unfolds = columns.width.map((width) => width > 1);

  function sizeCell(cell, size, certain) {
    const bar = make("i", { class: certain ? "" : "unsure" });
    bar.style.width = Math.min(100, (100 * Math.max(0, size || 0)) / data.scales.effect) + "%";
    cell.append(make("span", { class: "meter", "aria-hidden": "true" }, bar), size === null ? "–" : size.toFixed(2) + "\u00a0sd");
  }

  const shown = [
    { key: "name", title: "column", values: columns.name, kind: "name", first: 1 },
    { key: "kind", title: "kind", values: kinds, kind: "word minor", first: 1 },
    { key: "change", title: "what changed", kind: "minor change" },
    { key: "effect", title: "size", values: columns.effect, kind: "n" },
    { key: "pvalue", title: "adjusted p", values: columns.pvalue, kind: "n minor", first: 1 },
    { key: "differs", title: "differs", values: differs, kind: "word", first: 1 },
  ].filter((column) => !column.values || known(column.values));

  for (const column of shown) {
    const head = make("th", { scope: "col", class: column.kind });
    if (!column.values) head.append(make("span", {}, column.title));
    else {
      const button = make("button", { type: "button" }, column.title);
      button.addEventListener("click", () => {
        state.sign = state.key === column.key ? -state.sign : column.first || -1;
        state.key = column.key;
        state.shown = STEP;
        update();
      });
      head.append(button);
    }
    column.head = head;
    find("table").tHead.rows[0].append(head);
  }

  // Rows

  function sorted(rows) {
    if (state.key === null) return rows; // as the result has them: what differs first
    const values = shown.find((one) => one.key === state.key).values;
    const words = typeof values[0] === "string";
    // What is not known comes last, whichever way the rest is sorted; equal values keep the given order.
    return rows.sort((a, b) => {
      const one = values[a], other = values[b];
      if (one === null || other === null) return (one === null) - (other === null) || a - b;
      const order = words ? collator.compare(one, other) : one - other;
      return state.sign * order || a - b;
    });
  }

  const lowered = columns.name.map((name) => name.toLowerCase());
  function matches(column, wanted) {
    if (lowered[column].includes(wanted)) return true;
    return unfolds[column] && report.members(column).some((feature) => report.featureName(feature).toLowerCase().includes(wanted));
  }

  function update() {
    const wanted = find("search").value.trim().toLowerCase();
    const only = find("only").checked;
    const rows = [];
    for (let column = 0; column < columns.name.length; column++) {
      if ((!only || columns.selected[column]) && (wanted === "" || matches(column, wanted))) rows.push(column);
    }
    state.rows = sorted(rows);
    for (const column of shown) {
      if (column.key === state.key) column.head.setAttribute("aria-sort", state.sign > 0 ? "ascending" : "descending");
      else column.head.removeAttribute("aria-sort");
    }
    show();
  }

  function show() {
    const drawn = state.rows.slice(0, state.shown);
    const fragment = document.createDocumentFragment();
    for (const column of drawn) fragment.append(...lines(column));
    if (drawn.length === 0) {
      fragment.append(make("tr", { class: "empty" }, make("td", { colspan: shown.length }, "No column matches.")));
    }
    body.replaceChildren(fragment);
    const total = state.rows.length;
    find("count").textContent = drawn.length < total ? `first ${drawn.length} of ${total} columns` : `${total} ${total === 1 ? "column" : "columns"}`;
    const left = total - drawn.length;
    find("more").hidden = left === 0;
    find("more").textContent = `Show ${Math.min(STEP, left)} more`;
    find("printed").hidden = total <= PRINTED;
    find("printed").textContent = `The first ${PRINTED} of ${total} columns are printed.`;
    find("unfold").hidden = !state.rows.some((column) => unfolds[column]);
  }

  function lines(column) {
    const open = unfolds[column] && (state.all || state.open.has(column));
    const result = [columnLine(column, open)];
    if (open) for (const feature of byChange(column)) result.push(featureLine(column, feature));
    return result;
  }

  function byChange(column) {
    return report.members(column).sort((a, b) => (report.own(b, "effect") || 0) - (report.own(a, "effect") || 0) || a - b);
  }

  function columnLine(column, open) {
    const name = make("td", { class: "name" });
    const row = make("div", { class: "named" });
    if (unfolds[column]) {
      const words = `${open ? "Fold" : "Unfold"} ${columns.name[column]}`;
      row.append(make("button", { type: "button", class: "fold", "aria-expanded": String(open), "aria-label": words, "data-fold": column }, open ? "▾" : "▸"));
    } else row.append(make("span", { class: "fold" }));
    row.append(nameButton(columns.name[column]));
    name.append(row, make("span", { class: "below" }, columns.change[column]));
    const entry = { selected: differs[column], kind: kinds[column], change: columns.change[column], interval: columns.interval[column], effect: columns.effect[column], pvalue: columns.pvalue[column] };
    return line(name, entry, { "data-column": column }, column === state.column && state.feature === null);
  }

  function featureLine(column, feature) {
    const own = (key) => report.own(feature, key);
    const label = features.level[feature] || report.featureName(feature);
    const name = make("td", { class: "name level" }, nameButton(label), make("span", { class: "below" }, own("change")));
    const entry = { selected: own("selected") ? "yes" : "–", kind: "", change: own("change"), effect: own("effect"), pvalue: own("pvalue") };
    return line(name, entry, { class: "feature", "data-column": column, "data-feature": feature }, feature === state.feature);
  }

  function nameButton(text) {
    return make("button", { type: "button", class: "choose", title: text, dir: "auto" }, ...report.breakable(text));
  }

  function line(name, entry, attributes, chosen) {
    const element = make("tr", attributes, name);
    if (chosen) mark(element, true);
    for (const column of shown.slice(1)) {
      const cell = make("td", { class: column.kind });
      if (column.key === "kind") cell.textContent = entry.kind;
      else if (column.key === "change") {
        cell.append(make("span", { class: "lines", title: entry.change }, entry.change));
        if (entry.interval) cell.append(make("span", { class: "interval" }, entry.interval));
      }
      else if (column.key === "effect") sizeCell(cell, entry.effect, entry.selected !== "–");
      else if (column.key === "pvalue") cell.textContent = pvalue(entry.pvalue);
      else cell.textContent = entry.selected;
      element.append(cell);
    }
    return element;
  }

  function mark(element, chosen) {
    element.classList.toggle("chosen", chosen);
    const button = element.querySelector("button.choose");
    if (chosen) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }

  body.addEventListener("click", (event) => {
    const fold = event.target.closest("button[data-fold]");
    if (fold) {
      const column = Number(fold.dataset.fold);
      setOpen(column, !(state.all || state.open.has(column)));
      body.querySelector(`button[data-fold="${column}"]`).focus();
      return;
    }
    const element = event.target.closest("tr[data-column]");
    if (element) choose(Number(element.dataset.column), element.dataset.feature === undefined ? null : Number(element.dataset.feature), true);
  });
  function setOpen(column, open) {
    if (state.all) {
      // One folded out of all unfolded: the others stay as they are.
      state.open = new Set(state.rows.filter((one) => unfolds[one]));
      setAll(false);
    }
    if (open) state.open.add(column);
    else state.open.delete(column);
    show();
  }
  function setAll(all) {
    state.all = all;
    find("unfold").setAttribute("aria-pressed", String(all));
  }
  find("unfold").addEventListener("click", () => { state.open.clear(); setAll(!state.all); show(); });
  find("search").addEventListener("input", () => { state.shown = STEP; update(); });
  find("only").addEventListener("change", () => { state.shown = STEP; update(); });
  find("more").addEventListener("click", () => { state.shown += STEP; show(); });

  // The chosen column, or one of its features; and listeners are notified.

  const listeners = [];
  function choose(column, feature, asked) {
    state.column = column;
    state.feature = feature;
    if (feature !== null && unfolds[column] && !(state.all || state.open.has(column))) setOpen(column, true);
    for (const element of body.querySelectorAll("tr[data-column]")) {
      mark(element, Number(element.dataset.column) === column && (element.dataset.feature === undefined ? null : Number(element.dataset.feature)) === feature);
    }
    for (const listener of listeners) listener(column, feature, asked);
  }

  // Make sure that a column can be seen: no search hides it, and it is among the rows drawn.
  function reveal(column) {
    if (!state.rows.includes(column)) {
      find("search").value = "";
      find("only").checked = false;
      update();
    }
    const place = state.rows.indexOf(column);
    if (place >= state.shown) {
      state.shown = STEP * Math.ceil((place + 1) / STEP);
      show();
    }
  }

  // CSV: columns and their levels, all of them, whatever is shown.

  function csv() {
    const head = ["column", "level", "type", "differs", "reason", "adjusted p", "kind", "size (sd)", "what changed", "difference (interval)"];
    data.groups.forEach((group) => head.push(`mean ${group}`, `sd ${group}`));
    features.weight.forEach((_, component) => {
      const of = features.weight.length > 1 ? ` ${component + 1}` : "";
      head.push(`weight${of}`, `share${of}`);
    });
    const rows = [head];
    for (let column = 0; column < columns.name.length; column++) {
      const own = report.members(column);
      rows.push(csvRow(column, "", columns, column, own.length === 1 ? own[0] : null));
      if (unfolds[column]) for (const feature of own) rows.push(csvRow(column, features.level[feature] || "value", features.own[feature], null, feature));
    }
    return rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
  }
  function csvRow(column, level, source, place, feature) {
    const get = (key) => (place === null ? source[key] : source[key][place]);
    const reason = place === null ? "" : columns.reason[column];
    const row = [columns.name[column], level, columns.type[column], get("selected") ? "yes" : "no", reason, get("pvalue"), get("kind"), get("effect"), get("change"), place === null ? "" : columns.interval[column]];
    data.groups.forEach((_, group) => {
      row.push(feature === null ? null : features.mean[group][feature], feature === null ? null : features.sd[group][feature]);
    });
    features.weight.forEach((weights, component) => {
      const shares = features.share[component];
      const sum = report.members(column).reduce((total, one) => (shares[one] === null ? total : total + shares[one]), 0);
      row.push(feature === null ? null : weights[feature], feature === null ? Number(sum.toPrecision(4)) : shares[feature]);
    });
    return row;
  }
  function csvCell(value) {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    // A spreadsheet would take such text for a formula.
    const text = /^[=+\-@]/.test(value) ? "'" + value : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  find("csv").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob(["\ufeff" + csv()], { type: "text/csv;charset=utf-8" }));
    const link = make("a", { href: address, download: "columns.csv" });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  });

  return { state, update, choose, reveal, csv, differs, listen: (listener) => listeners.push(listener) };
})();
