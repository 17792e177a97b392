// The sheet of samples: filters, cards, arrow keys. A page of a file filters its own samples; a live one asks the server.
const PAGE = 120;
const problemsOf = new Map();
for (const found of data.stats.findings) {
  for (const example of found.examples) {
    const flag = [found.kind, found.detail].filter(Boolean).join(" ");
    problemsOf.set(example.ordinal, [...(problemsOf.get(example.ordinal) || []), flag]);
  }
}

const sheet = { shown: [], matches: [], total: 0, current: 0, request: 0 };

function wanted() {
  return { text: $("search").value.trim(), className: $("class").value, problem: $("problem").value,
    minWidth: $("min-width").value, minHeight: $("min-height").value, lacks: $("lacks").value };
}

function matches(sample, want) {
  const text = want.text.toLowerCase();
  const classes = sample.classes || [];
  if (text && !sample.key.toLowerCase().includes(text) && !classes.some((name) => name.toLowerCase().includes(text))) return false;
  if (want.className && !classes.includes(want.className)) return false;
  return !want.problem || (problemsOf.get(sample.ordinal) || []).includes(want.problem);
}

function cardOf(sample, index) {
  const url = data.live && sample.picture ? `thumb/${sample.ordinal}` : sample.thumb;
  const children = [make("span", { class: "frame" }, [picture(sample, url)]), make("span", { class: "key" }, [sample.key])];
  if (sample.classes) children.push(make("span", { class: "class" }, [sample.classes.join(", ")]));
  const flags = problemsOf.get(sample.ordinal);
  if (flags) children.push(make("span", { class: "flag" }, [flags.join(", ")]));
  const card = make("button", { class: "card", type: "button", title: sample.key,
    tabindex: index === sheet.current ? "0" : "-1", onclick: () => { sheet.move(index); openSample(index); } }, children);
  return make("li", {}, [card]);
}

function append(samples) {
  const from = sheet.shown.length;
  sheet.shown.push(...samples);
  $("sheet").append(...samples.map((sample, n) => cardOf(sample, from + n)));
  $("more").hidden = sheet.shown.length >= sheet.total;
  const all = data.stats.samples;
  const found = counted(sheet.total, "sample", "samples");
  if (data.live) $("count").textContent = sheet.total === all ? `${found}` : `${found} of ${count(all)}`;
  else if (data.samples.length < all) $("count").textContent = `${found} of the ${count(data.samples.length)} on this page; the data set has ${count(all)}`;
  else $("count").textContent = sheet.total === all ? `${found}` : `${found} of ${count(all)}`;
}

async function more() {
  const request = sheet.request;
  if (!data.live) return append(sheet.matches.slice(sheet.shown.length, sheet.shown.length + PAGE));
  const want = wanted();
  const query = new URLSearchParams({ offset: sheet.shown.length, limit: PAGE, text: want.text, class: want.className,
    problem: want.problem, min_width: want.minWidth, min_height: want.minHeight, lacks: want.lacks });
  $("sheet").setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(`api/samples?${query}`);
    if (!answer.ok) throw new Error(await answer.text());
    const found = await answer.json();
    if (request !== sheet.request) return; // a later filter has been set
    sheet.total = found.total;
    append(found.samples);
  } catch (error) {
    $("count").textContent = `The server did not answer: ${error.message}`;
  } finally {
    $("sheet").removeAttribute("aria-busy");
  }
}

function filter() {
  sheet.request += 1;
  sheet.shown = [];
  sheet.current = 0;
  $("sheet").replaceChildren();
  if (!data.live) {
    const want = wanted();
    sheet.matches = data.samples.filter((sample) => matches(sample, want));
    sheet.total = sheet.matches.length;
  }
  return more();
}

const cards = () => $("sheet").querySelectorAll(".card");
sheet.move = (index) => {
  const list = cards();
  if (list[sheet.current]) list[sheet.current].tabIndex = -1;
  sheet.current = index;
  if (list[index]) list[index].tabIndex = 0;
};
sheet.focus = (index) => {
  const list = cards();
  if (!list[index]) return;
  sheet.move(index);
  list[index].focus();
};

function columnsOfSheet() {
  const list = cards();
  if (!list.length) return 1;
  const top = list[0].getBoundingClientRect().top;
  let across = 0;
  while (across < list.length && Math.abs(list[across].getBoundingClientRect().top - top) < 4) across += 1;
  return Math.max(1, across);
}

$("sheet").addEventListener("keydown", (event) => {
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columnsOfSheet(), ArrowDown: columnsOfSheet() };
  const last = sheet.shown.length - 1;
  let to = steps[event.key] === undefined ? null : sheet.current + steps[event.key];
  if (event.key === "Home") to = 0;
  if (event.key === "End") to = last;
  if (to === null) return;
  event.preventDefault();
  if (to >= 0 && to <= last) sheet.focus(to);
});
