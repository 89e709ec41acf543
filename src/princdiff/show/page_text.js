"use strict";
// The page's data, and how its numbers are written. Names from users' files are set with textContent only.
const report = (function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const columns = data.columns, features = data.features;

  // Words that come again and again are stored once.
  for (const table of [columns, features]) {
    for (const [key, value] of Object.entries(table)) {
      if (value && value.words) table[key] = value.at.map((place) => value.words[place]);
    }
  }
  // Features of a column follow each other.
  columns.start = [];
  features.column = [];
  columns.width.forEach((width, column) => {
    columns.start.push(features.column.length);
    for (let j = 0; j < width; j++) features.column.push(column);
  });

  function number(value, digits = 3) {
    if (value === null || value === undefined) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e6 || size < 1e-3) return value.toExponential(digits - 1).replaceAll("-", "−").replace("+", "");
    const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    return value.toFixed(places).replace("-", "−");
  }

  function percent(value, digits = 1) {
    if (value === null || value === undefined) return "–";
    const text = (100 * value).toFixed(digits).replace("-", "−");
    const least = value > 0 && Number(text) === 0 ? "<" + (1 / 10 ** digits).toFixed(digits) : text;
    return (value === 0 ? "0" : least) + "\u00a0%";
  }

  // With as many digits as tell the groups apart.
  function percents(values) {
    const known = values.filter((value) => value !== null && value !== undefined);
    const range = 100 * (Math.max(...known) - Math.min(...known));
    for (let digits = 0; digits < 4; digits++) {
      const ends = [Math.max(...known), Math.min(...known)].map((value) => Number((100 * value).toFixed(digits)));
      if (digits === 3 || range === 0 || Math.abs(ends[0] - ends[1] - range) <= 0.2 * range) return values.map((value) => percent(value, digits));
    }
  }

  // P-values as short as they are written elsewhere.
  function pvalue(value) {
    if (value === null || value === undefined) return "–";
    return value !== 0 && value < 1e-4 ? value.toExponential(1).replace("-", "−") : String(Number(value.toPrecision(2)));
  }

  const find = (id) => document.getElementById(id);

  // An element with text and children; attributes by name.
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") element.className = value;
      else if (value !== null && value !== false) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  // A long name without its middle: such names tend to differ at their ends.
  const middled = (text, most = 38) => (text.length <= most ? text : text.slice(0, most / 2).trimEnd() + "…" + text.slice(1 - most / 2).trimStart());

  // A long name breaks between its parts, as in body_mass_g, and within a word only where that is too long.
  const breakable = (text) => middled(text).split(/(?<=[_./:-])(?=[^_./:-])/).flatMap((part, place) => (place ? [make("wbr"), part] : [part]));

  const featureName = (feature) => features.name[feature] ?? columns.name[features.column[feature]];
  const isProportion = (feature) => features.kind[feature] !== "number";
  // Features of a column, and what each has for itself: that of the column where it is the only one.
  const members = (column) => Array.from({ length: columns.width[column] }, (_, j) => columns.start[column] + j);
  function own(feature, key) {
    const entry = features.own[feature];
    return entry ? entry[key] : columns[key][features.column[feature]];
  }

  return { data, columns, features, number, percent, percents, pvalue, find, make, breakable, featureName, isProportion, members, own };
})();
