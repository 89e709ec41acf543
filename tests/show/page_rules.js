// Checks that are run inside the page; each returns what breaks a rule.
const checks = {
  structure() {
    const faults = [];
    const seen = (element) => element.checkVisibility({ visibilityProperty: true });
    const text = (element) => (element.textContent || "").trim();
    function name(element) {
      const by = element.getAttribute("aria-labelledby");
      if (by) return by.split(/\s+/).map((id) => text(document.getElementById(id))).join(" ").trim();
      if (element.getAttribute("aria-label")) return element.getAttribute("aria-label").trim();
      if (element.labels && element.labels.length) return [...element.labels].map(text).join(" ").trim();
      return text(element);
    }
    const told = (element) => element.outerHTML.slice(0, 120);
    for (const element of document.querySelectorAll("button, a[href], input, select, summary, aside, section, [role]")) {
      // What is inside a picture is not told one by one.
      if (element.getAttribute("role") === "status" || element.parentElement.closest("[role=img]")) continue;
      if (name(element) === "") faults.push("no name: " + told(element));
    }
    for (const element of document.querySelectorAll("svg, canvas, img")) {
      const picture = element.closest("[role=img]");
      if (!picture || !picture.getAttribute("aria-label")) faults.push("a picture without words: " + told(element));
    }
    const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
    if (new Set(ids).size !== ids.length) faults.push("an id is used twice");
    for (const attribute of ["aria-labelledby", "aria-describedby", "for"]) {
      for (const element of document.querySelectorAll(`[${attribute}]`)) {
        for (const id of element.getAttribute(attribute).split(/\s+/)) if (!document.getElementById(id)) faults.push(`${attribute} leads nowhere: ${id}`);
      }
    }
    let level = 0;
    for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
      const own = Number(heading.tagName[1]);
      if (own > level + 1) faults.push(`h${own} after h${level}: ${text(heading)}`);
      if (text(heading) === "" && seen(heading)) faults.push("an empty heading");
      level = own;
    }
    for (const table of document.querySelectorAll("body table:not(#vg-tooltip-element table)")) {
      if (!table.caption || !text(table.caption)) faults.push("a table without a caption: " + told(table));
      if (!table.querySelector("th[scope]")) faults.push("a table without headers: " + told(table));
    }
    for (const element of document.querySelectorAll("[tabindex]")) if (element.tabIndex > 0) faults.push("a tab order of its own: " + told(element));
    for (const element of document.querySelectorAll("[aria-hidden=true] :is(button, a[href], input, select)")) faults.push("can be reached but not heard: " + told(element));
    for (const element of document.querySelectorAll("ul > :not(li), dl > :not(dt, dd, div)")) faults.push("no item of a list: " + told(element));
    if (!document.documentElement.lang) faults.push("no language");
    if (document.querySelectorAll("main").length !== 1) faults.push("not one main part");
    for (const element of document.querySelectorAll("button, select, input")) {
      const box = element.getBoundingClientRect();
      const target = element.closest("label") ? element.closest("label").getBoundingClientRect() : box;
      if (seen(element) && Math.min(target.width, target.height) < 23.5) faults.push(`too small (${target.width} x ${target.height}): ` + told(element));
    }
    return faults;
  },
  contrast() {
    const faults = new Set();
    const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    function channels(colour) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
      return [r, g, b, a / 255];
    }
    function luminance([r, g, b]) {
      const [x, y, z] = [r, g, b].map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    }
    function ground(element) {
      for (let one = element; one; one = one.parentElement) {
        const colour = channels(getComputedStyle(one).backgroundColor);
        if (colour[3] === 1) return colour;
      }
      return channels(getComputedStyle(document.body).backgroundColor);
    }
    let checked = 0;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || element.closest("script, style, noscript, .unseen")) continue;
      if (!element.checkVisibility({ visibilityProperty: true })) continue;
      const style = getComputedStyle(element);
      const ink = channels(element.closest("svg") ? style.fill : style.color);
      const [low, high] = [luminance(ink), luminance(ground(element))].sort((a, b) => a - b);
      const ratio = (high + 0.05) / (low + 0.05);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      checked += 1;
      if (ratio < (large ? 3 : 4.5)) faults.add(`${ratio.toFixed(2)}: ${walker.currentNode.data.trim().slice(0, 40)} (${element.tagName})`);
    }
    return { checked, faults: [...faults] };
  },
  focus() {
    const element = document.activeElement;
    if (element === document.body) return null;
    const style = getComputedStyle(element);
    return { shown: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1, what: element.outerHTML.slice(0, 100) };
  },
};
return checks[arguments[0]]();
