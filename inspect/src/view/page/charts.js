// Charts of the counts, each with a text that says the same.
function figure(title, parts, caption) {
  const made = make("figure", {}, [make("h3", {}, [title]), ...parts]);
  if (caption) made.append(make("figcaption", {}, [caption]));
  return made;
}

// Columns of equal width; `bars` have `label` and `count`.
function columns(title, bars, caption) {
  const [width, height, foot] = [320, 120, 18];
  const most = Math.max(...bars.map((bar) => bar.count), 1);
  const step = width / Math.max(bars.length, 1);
  const shapes = bars.map((bar, n) => {
    const tall = bar.count ? Math.max(1.5, bar.count / most * (height - 4)) : 0;
    const place = { x: n * step + step * 0.08, y: height - tall, width: step * 0.84, height: tall, class: "column" };
    return draw("rect", place, [draw("title", {}, [`${bar.label}: ${count(bar.count)}`])]);
  });
  const labels = [...new Set([0, Math.floor((bars.length - 1) / 2), bars.length - 1])].map((n, at, all) => {
    const anchor = at === 0 ? "start" : at === all.length - 1 ? "end" : "middle";
    const x = at === 0 ? 0 : at === all.length - 1 ? width : (n + 0.5) * step;
    return draw("text", { x, y: height + 14, "text-anchor": anchor }, [bars[n].label]);
  });
  const line = draw("line", { x1: 0, y1: height, x2: width, y2: height });
  const text = `${title}: ${caption}`;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height + foot}`, role: "img", "aria-label": text }, [...shapes, line, ...labels]);
  return figure(title, [svg], caption);
}

// Rows with a bar each; a row is a button if `pick` is given.
function rows(title, list, caption, pick) {
  const most = Math.max(...list.map((row) => row.count), 1);
  const items = list.map((row) => {
    const bar = draw("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      [draw("rect", { width: Math.max(0.5, 100 * row.count / most), height: 10, class: "column" })]);
    const cells = [make("span", { class: "name", title: row.label }, [row.label]), bar,
      make("span", { class: "number" }, [count(row.count)])];
    const line = pick ? make("button", { class: "row", type: "button", onclick: () => pick(row.label) }, cells)
      : make("div", { class: "row" }, cells);
    return make("li", {}, [line]);
  });
  return figure(title, [make("ul", { class: "rows", tabindex: "0", "aria-label": title }, items)], caption);
}

function spread(of, show = count) {
  return `${show(of.min)} to ${show(of.max)}, median ${show(of.median)}, nine tenths up to ${show(of.p90)}`;
}

function partsTable(stats) {
  const head = ["part", "samples", "median", "largest", "all"].map((text) => make("th", { scope: "col" }, [text]));
  const body = stats.extensions.map((of) => make("tr", {}, [of.ext, percent(of.sizes.count, stats.samples), bytes(of.sizes.median),
    bytes(of.sizes.max), bytes(of.bytes)].map((text) => make("td", {}, [text]))));
  const table = make("table", {}, [make("thead", {}, [make("tr", {}, head)]), make("tbody", {}, body)]);
  const scroll = make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Parts" }, [table]);
  return figure("Parts", [scroll], `${bytes(stats.bytes)} in ${counted(stats.shards, "shard", "shards")}`);
}

function objectCharts(found, some) {
  const more = found.class_count > found.classes.length ? `; the ${count(found.classes.length)} most frequent ones are shown` : "";
  const all = counted(found.objects, "object", "objects");
  const areas = [["below 32 × 32 pixels", found.small], ["below 96 × 96 pixels", found.medium], ["larger", found.large]];
  return [
    columns("Objects of a sample", found.bars.map((bar) => ({ label: count(bar.from), count: bar.count })), spread(found.per_picture)),
    rows("Areas of objects", areas.map(([label, n]) => ({ label, count: n })), `${all}${some}`),
    rows("Classes of objects", found.classes.map((of) => ({ label: of.name, count: of.count })),
      `${counted(found.class_count, "class", "classes")} of ${all}${more}`),
  ];
}

function drawCharts(stats, pickClass) {
  const some = stats.examined < stats.samples ? ` among ${count(stats.examined)} samples that were read` : "";
  const made = [partsTable(stats)];
  if (stats.classes.length) {
    const list = stats.classes.map((of) => ({ label: of.name, count: of.count }));
    const more = stats.class_count > list.length ? `; the ${count(list.length)} most frequent ones are shown` : "";
    made.push(rows("Classes", list, `${counted(stats.class_count, "class", "classes")} at ${stats.class_source}${some}${more}`, pickClass));
  }
  if (stats.objects) made.push(...objectCharts(stats.objects, some));
  if (stats.width) {
    const bars = (list) => list.map((bar) => ({ label: count(bar.from), count: bar.count }));
    made.push(columns("Width in pixels", bars(stats.width_bars), spread(stats.width)));
    made.push(columns("Height in pixels", bars(stats.height_bars), spread(stats.height)));
    const ratio = (r) => r >= 1 ? `${r.toFixed(2).replace(/\.?0+$/, "")}:1` : `1:${(1 / r).toFixed(2).replace(/\.?0+$/, "")}`;
    const wide = stats.aspects.filter((bar) => bar.ratio > 1.06).reduce((sum, bar) => sum + bar.count, 0);
    const tall = stats.aspects.filter((bar) => bar.ratio < 0.94).reduce((sum, bar) => sum + bar.count, 0);
    made.push(columns("Aspect ratio", stats.aspects.map((bar) => ({ label: ratio(bar.ratio), count: bar.count })),
      `${percent(wide, stats.width.count)} wide, ${percent(tall, stats.width.count)} tall`));
    const list = stats.dimensions.map((of) => ({ label: `${of.width} × ${of.height}`, count: of.count }));
    made.push(rows("Most frequent dimensions", list, counted(stats.width.count, "picture with known dimensions", "pictures with known dimensions")));
  }
  if (stats.kinds.length) {
    const list = stats.kinds.map((of) => ({ label: [of.format, of.coding, of.colors].filter(Boolean).join(" "), count: of.count }));
    made.push(rows("Formats", list, `read from headers${some}`));
  }
  for (const of of stats.extensions.slice(0, 4)) {
    const bars = of.bars.map((bar) => ({ label: bytes(bar.from), count: bar.count }));
    made.push(columns(`Size of ${of.ext}`, bars, spread(of.sizes, bytes)));
  }
  return made;
}
