// Elements, numbers and colors.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

// Makes an element. `children` are elements or texts; texts are never read as HTML.
function make(name, attributes = {}, children = [], space = null) {
  const made = space ? document.createElementNS(space, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null) continue;
    if (key === "onclick") made.addEventListener("click", value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
const draw = (name, attributes, children) => make(name, attributes, children, SVG);

const count = (n) => n.toLocaleString("en-US");
const counted = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;
function bytes(n) {
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (n >= 999.5 && unit + 1 < units.length) { n /= 1000; unit += 1; }
  return `${unit && n < 99.95 ? n.toFixed(1) : Math.round(n)} ${units[unit]}`;
}
const percent = (part, all) => all ? `${(100 * part / all).toFixed(part === all ? 0 : 1)} %` : "";

// A color for a label: the same label has the same color everywhere. The golden angle spreads the hues of frequent classes.
const places = new Map(data.stats.classes.map((of, n) => [of.name, n]));
function color(label) {
  let place = places.get(label);
  if (place === undefined) {
    place = 7;
    for (const letter of label) place = (place * 31 + letter.codePointAt(0)) >>> 0;
  }
  return `hsl(${Math.round((35 + place * 137.508) % 360)} 90% 55%)`;
}
