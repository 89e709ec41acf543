"use strict";
// What is drawn: the charts made beforehand, and pictures of single columns and pairs, filled in here.
report.pictures = (function () {
  const { data, columns, features, number, percent, percents, make } = report;
  const MOST_LEVELS = { card: 5, panel: 30 };
  const MOST_BARS = 4; // as in figures.py
  const options = { mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, ast: true, tooltip: { disableDefaultStyle: true } };
  const hidden = new Set();
  const drawn = new Map(); // from places to what is drawn in them

  async function draw(place, spec) {
    const before = drawn.get(place);
    // One after the other: drawings that overtake each other would leave the wrong picture in the place.
    const coming = (before || Promise.resolve(null)).then((old) => {
      if (old) old.finalize();
      return window.vegaEmbed(place, spec, options);
    });
    drawn.set(place, coming);
    const result = await coming;
    if (hidden.size) result.view.signal("hidden", [...hidden]).runAsync();
    return result;
  }

  function drawCharts(within) {
    for (const place of within.querySelectorAll("[data-chart]")) {
      const spec = data.charts[place.dataset.chart];
      // In a hidden place there is no width to fill.
      if (spec && !drawn.has(place) && place.offsetParent !== null) draw(place, spec);
    }
  }

  // A picture is { template, datasets, words, ... }; words are for those who cannot see it.
  function show(container, pictures) {
    const places = pictures.map(() => make("div", { class: "chart" }));
    for (const old of container.querySelectorAll(".chart")) {
      const before = drawn.get(old);
      if (before) before.then((result) => result.finalize());
      drawn.delete(old);
    }
    // Vega sets a role of its own on the place it draws in, hence one around it.
    container.replaceChildren(...places.map((place, index) => make("div", { role: "img", "aria-label": pictures[index].words }, place)));
    pictures.forEach((picture, index) => {
      const spec = structuredClone(data.pictures[picture.template]);
      if (picture.height) spec.height = picture.height;
      for (const param of spec.params) if (picture[param.name] !== undefined) param.value = picture[param.name];
      if (picture.axes) {
        const { x, y } = spec.layer[0].encoding;
        x.axis.title = picture.axes[0];
        y.axis.title = picture.axes[1];
        // One unit is as long across as it is up.
        const wider = Math.max(1, (places[index].clientWidth - 40) / (spec.height - 30));
        x.scale.domain = y.scale.domain.map((end) => end * wider);
      }
      if (picture.ends) {
        // As in the report that lies beside this one.
        const { x, y } = spec.layer[0].encoding;
        if (picture.ends.x) x.scale.domain = picture.ends.x;
        y.scale = { ...y.scale, domain: [0, picture.ends.top] };
      }
      spec.datasets = picture.datasets;
      draw(places[index], spec);
    });
  }

  // Pictures of a column, or of one of its features: what the sentence about it says comes first.
  function ofColumn(column, feature = null, size = "panel") {
    const own = report.members(column);
    const missing = own.find((one) => features.kind[one] === "missing");
    const numbers = own.filter((one) => features.kind[one] === "number");
    if (feature !== null) {
      if (features.kind[feature] === "number") return histogram(feature);
      if (features.kind[feature] === "level" || columns.type[column] === "category") return proportions(column, own, size);
      return proportions(column, [feature], size);
    }
    if (!numbers.length) return proportions(column, own, size);
    const widest = numbers.reduce((best, one) => ((report.own(one, "effect") || 0) > (report.own(best, "effect") || 0) ? one : best));
    const pictures = histogram(widest);
    const gaps = missing === undefined ? [] : proportions(column, [missing], size);
    if (size !== "card") return [...pictures, ...gaps];
    return columns.kind[column] === "missing" || !pictures.length ? gaps : pictures;
  }

  function histogram(feature) {
    const kept = data.histograms[feature];
    if (!kept) return [];
    const means = features.mean.map((values) => values[feature]);
    const words = `Distribution of ${report.featureName(feature)} in each group; means: ${means.map((mean, group) => `${data.labels[group]} ${number(mean)}`).join(", ")}`;
    if (kept.values) return [fewValues(feature, kept, words)];
    const edges = kept.edges, last = edges.length - 2;
    const steps = [], bins = [], moments = [];
    for (let bin = 0; bin <= last; bin++) {
      const entry = { x: edges[bin], x2: edges[bin + 1], range: `${number(edges[bin])} to ${number(edges[bin + 1])}` };
      kept.shares.forEach((shares, group) => { entry["g" + group] = percent(shares[bin]); });
      bins.push(entry);
    }
    kept.shares.forEach((shares, group) => {
      shares.forEach((share, bin) => steps.push({ x: edges[bin], y: share, group }));
      steps.push({ x: edges[last + 1], y: shares[last], group });
    });
    // A mean beyond the outermost bin would stretch the axis.
    const inside = (value) => Math.min(Math.max(value, edges[0]), edges[last + 1]);
    const many = data.groups.length > MOST_BARS;
    means.forEach((mean, group) => {
      const sd = features.sd[group][feature];
      if (mean === undefined || mean === null) return;
      moments.push({ group, mean: inside(mean), low: inside(mean - sd), high: inside(mean + sd), at: many ? 6 : 6 + 12 * group });
    });
    return [{ template: "number", datasets: { steps, bins, moments }, words, ends: data.scales.features[feature] }];
  }

  function fewValues(feature, kept, words) {
    const levels = columns.levels[features.column[feature]];
    const digits = new Set(kept.values.map((value) => value.toPrecision(3))).size === kept.values.length ? 3 : 4;
    const names = kept.values.map((value) => (levels && levels[value] !== undefined ? levels[value] : String(Number(value.toPrecision(digits)))));
    const bars = names.flatMap((value, place) => kept.shares.map((shares, group) => ({ place, value, group, share: shares[place], text: percent(shares[place]), name: data.labels[group] })));
    const ends = data.scales.features[feature];
    return { template: "values", datasets: { bars }, names, words, ends: ends && { top: ends.top } };
  }

  // Levels with the largest change first; what there is no room for is one line.
  function proportions(column, own, size) {
    if (features.mean[0][own[0]] === undefined) return [];
    const lines = own.map((feature) => ({ name: levelName(column, feature), values: features.mean.map((values) => values[feature]) }));
    const change = (line) => Math.max(...line.values) - Math.min(...line.values);
    lines.sort((one, other) => change(other) - change(one));
    // In a card bars of many groups would be far taller than the curves beside them.
    const most = size === "card" ? Math.max(2, Math.floor((2 * MOST_LEVELS.card) / Math.max(2, data.groups.length))) : MOST_LEVELS[size];
    if (lines.length > most + 1) {
      const rest = lines.splice(most);
      const sum = data.groups.map((_, group) => rest.reduce((total, line) => total + line.values[group], 0));
      lines.push({ name: `${rest.length} other levels`, values: sum });
    }
    const bars = [];
    let top = 0;
    lines.forEach((line, place) => {
      const texts = percents(line.values);
      const low = Math.min(...line.values), high = Math.max(...line.values);
      line.values.forEach((share, group) => bars.push({ place, level: line.name, group, share, text: texts[group], name: data.labels[group], low, high }));
      top = Math.max(top, high);
    });
    own.forEach((feature) => { top = Math.max(top, (data.scales.features[feature] || { top: 0 }).top); });
    const many = data.groups.length > MOST_BARS;
    const thick = size !== "card" || lines.length > 2 ? 16 : lines.length === 2 ? 22 : 30;
    const each = many ? 26 : thick * data.groups.length + 8;
    const words = `${columns.name[column]}, shares of each group's rows: ` + lines.map((line) => `${line.name} ${percents(line.values).join(" to ")}`).join("; ");
    return [{ template: "levels", datasets: { bars }, height: each * lines.length + (many ? 34 : 10), top: (top || 1) * (many ? 1.02 : 1.3), names: lines.map((line) => line.name), words }];
  }

  function levelName(column, feature) {
    if (features.level[feature]) return features.level[feature];
    return features.kind[feature] === "flag" ? "1" : report.featureName(feature);
  }

  function ofPair(pair) {
    const outlines = [];
    pair.values.forEach((r, group) => {
      if (r === null) return;
      for (let place = 0; place <= 60; place++) {
        const angle = (2 * Math.PI * place) / 60;
        const up = r * Math.cos(angle) + Math.sqrt(Math.max(0, 1 - r * r)) * Math.sin(angle);
        outlines.push({ x: 2 * Math.cos(angle), y: 2 * up, group, place });
      }
    });
    const words = `Correlation of ${pair.first} and ${pair.second}: ` + pair.texts.map((text, group) => `${data.labels[group]} ${text}`).join(", ");
    return [{ template: "pair", datasets: { outlines }, axes: [pair.first, pair.second], words }];
  }

  // Groups that are switched off and on, in every picture.

  function toggle(group) {
    if (hidden.has(group)) hidden.delete(group);
    else if (hidden.size < data.groups.length - 1) hidden.add(group);
    for (const button of document.querySelectorAll(".toggle")) {
      button.setAttribute("aria-pressed", String(!hidden.has(Number(button.dataset.group))));
    }
    for (const mark of document.querySelectorAll("circle[data-group]")) {
      mark.style.display = hidden.has(Number(mark.dataset.group)) ? "none" : "";
    }
    for (const coming of drawn.values()) coming.then((result) => result.view.signal("hidden", [...hidden]).runAsync());
  }
  for (const button of document.querySelectorAll(".toggle")) {
    button.addEventListener("click", () => toggle(Number(button.dataset.group)));
  }

  return { drawCharts, show, ofColumn, ofPair };
})();
