// Pictures with boxes, masks and keypoints, and the dialog of one sample.
function objectsOf(shape, width, height) {
  const style = { class: "shape", stroke: color(shape.label) };
  const made = { masks: [], boxes: [], points: [] };
  for (const outline of shape.polygons || []) {
    const points = [];
    for (let n = 0; n + 1 < outline.length; n += 2) points.push(`${outline[n] * width},${outline[n + 1] * height}`);
    made.masks.push(draw("polygon", { ...style, points: points.join(" "), "fill-opacity": 0.25 }));
  }
  if (shape.box) {
    const [x, y, w, h] = shape.box;
    const place = { x: x * width, y: y * height, width: Math.max(0, w * width), height: Math.max(0, h * height) };
    made.boxes.push(draw("rect", { ...style, ...place }, [draw("title", {}, [shape.label])]));
    const size = Math.max(width, height) / 36; // of the name, which stays in the picture
    if (shape.label) made.boxes.push(draw("text", { class: "name", x: Math.max(0, x * width), y: Math.max(size, y * height - size / 5),
      "font-size": size, "stroke-width": size / 6 }, [shape.label]));
  }
  for (const [x, y, u, v] of shape.lines || []) {
    made.points.push(draw("line", { ...style, x1: x * width, y1: y * height, x2: u * width, y2: v * height }));
  }
  for (const [x, y, visible] of shape.points || []) {
    made.points.push(draw("circle", { class: visible ? "point" : "point hidden", cx: x * width, cy: y * height,
      r: Math.max(width, height) / 120, stroke: color(shape.label), fill: color(shape.label) }));
  }
  return made;
}

function overlays(sample) {
  const made = (sample.masks || []).map((mask) => make("img", { class: "overlay", src: mask.url, alt: "", loading: data.live ? "lazy" : null }));
  if (sample.shapes && sample.size) {
    const [width, height] = sample.size;
    const objects = sample.shapes.map((shape) => objectsOf(shape, width, height));
    const groups = ["masks", "boxes", "points"].map((kind) => draw("g", { class: kind }, objects.flatMap((one) => one[kind])));
    made.push(draw("svg", { class: "overlay", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, groups));
  }
  return made;
}

function picture(sample, url) {
  if (!url) return make("span", { class: "none" }, [sample.trouble || (sample.picture ? "not decoded" : "no picture")]);
  return make("span", { class: "picture" }, [make("img", { src: url, alt: "", loading: data.live ? "lazy" : null, decoding: "async" }), ...overlays(sample)]);
}

function facts(sample) {
  const made = [];
  const line = (name, value) => make("tr", {}, [make("td", {}, [name]), make("td", {}, [value])]);
  const table = [line("shard", sample.shard), line("ordinal", count(sample.ordinal))];
  if (sample.size) table.push(line("pixels", `${sample.size[0]} × ${sample.size[1]}`));
  if (sample.classes) table.push(line("class", sample.classes.join(", ")));
  for (const part of sample.parts) {
    const link = data.live ? make("a", { href: `part/${sample.ordinal}/${encodeURIComponent(part.ext)}`, target: "_blank", rel: "noopener" }, [part.ext]) : part.ext;
    table.push(line(link, bytes(part.bytes)));
  }
  made.push(make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Parts" }, [make("table", {}, [make("tbody", {}, table)])]));
  const flags = problemsOf.get(sample.ordinal) || [];
  if (flags.length) made.push(make("h3", {}, ["Problems"]), make("p", {}, [flags.join(", ")]));
  if (sample.trouble) made.push(make("p", {}, [sample.trouble]));
  const labels = new Map();
  for (const shape of sample.shapes || []) labels.set(shape.label, (labels.get(shape.label) || 0) + 1);
  if (labels.size) {
    const items = [...labels].map(([label, n]) => make("li", {}, [
      draw("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, [draw("rect", { width: 12, height: 12, fill: color(label) })]),
      `${label || "unnamed"}: ${count(n)}`]));
    made.push(make("h3", {}, ["Objects"]), make("ul", { class: "legend" }, items));
  }
  for (const [ext, text] of sample.texts || []) {
    made.push(make("h3", {}, [ext]), make("pre", { tabindex: "0", role: "group", "aria-label": ext }, [text]));
  }
  return made;
}

const dialog = $("dialog");
let opened = -1;

function openSample(index) {
  const sample = sheet.shown[index];
  if (!sample) return;
  opened = index;
  $("dialog-title").textContent = sample.key;
  $("before").disabled = index === 0;
  $("after").disabled = index + 1 >= sheet.shown.length;
  const url = data.live && sample.picture ? `picture/${sample.ordinal}` : sample.thumb;
  const large = make("div", { class: "large" }, [picture(sample, url)]);
  if (!data.live && url) large.append(make("p", { class: "none" }, ["A preview; `pack view` without -o shows the picture itself."]));
  $("detail").replaceChildren(large, make("div", { class: "facts" }, facts(sample)));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  $("dialog-title").focus();
}

function closeSample() {
  if (dialog.open) dialog.close();
}

dialog.addEventListener("close", () => sheet.focus(opened));
dialog.addEventListener("click", (event) => { if (event.target === dialog) closeSample(); });
dialog.addEventListener("keydown", (event) => {
  if (event.target.closest("pre, .scroll")) return;
  if (event.key === "ArrowLeft") openSample(opened - 1);
  if (event.key === "ArrowRight") openSample(opened + 1);
});
$("close").addEventListener("click", closeSample);
$("before").addEventListener("click", () => openSample(opened - 1));
$("after").addEventListener("click", () => openSample(opened + 1));
