// Fills the page and connects its parts.
function option(select, value, text = value) {
  $(select).append(make("option", { value }, [text]));
}

function pickClass(name) {
  if (![...$("class").options].some((one) => one.value === name)) option("class", name);
  $("class").value = name;
  filter();
  $("samples-title").scrollIntoView();
}

function pickProblem(flag) {
  $("problem").value = flag;
  filter();
  $("samples-title").scrollIntoView();
}

function problems({ findings, has_checksums }) {
  const notes = has_checksums ? [] : ["Duplicates were not searched: the sidecars have no checksums."];
  if (!findings.length) notes.unshift("None were found.");
  return [...findings.map((found) => {
    const flag = [found.kind, found.detail].filter(Boolean).join(" ");
    const examples = found.examples.slice(0, 5).map((example) => example.key).join(", ");
    return make("div", { class: "problem" }, [make("strong", {}, [flag]), counted(found.count, "sample", "samples"),
      make("button", { type: "button", "aria-label": `Show ${flag}`, onclick: () => pickProblem(flag) }, ["Show"]),
      make("span", { class: "examples" }, [examples + (found.count > 5 ? ", ..." : "")])]);
  }), ...notes.map((note) => make("p", {}, [note]))];
}

function begin() {
  const stats = data.stats;
  $("title").textContent = data.title;
  const shown = data.live || data.samples.length >= stats.samples ? ""
    : ` This page shows ${count(data.samples.length)} of them, spread evenly, and examples of problems.`;
  const read = stats.examined < stats.samples ? ` Classes and formats were read from ${count(stats.examined)} samples.` : "";
  $("summary").textContent = `${counted(stats.samples, "sample", "samples")}, ${bytes(stats.bytes)}.${shown}${read}`;
  $("made").textContent = `Made by tarflume ${data.version}.`;
  $("charts").append(...drawCharts(stats, pickClass));
  $("problems").append(...problems(stats));
  showDraws(data.draws);
  stats.classes.forEach((of) => option("class", of.name));
  stats.findings.forEach((found) => option("problem", [found.kind, found.detail].filter(Boolean).join(" ")));
  stats.extensions.forEach((of) => option("lacks", of.ext));
  $("filters").classList.toggle("is-live", data.live);
  let waiting = 0;
  $("filters").addEventListener("input", (event) => {
    const kind = event.target.dataset.draws;
    if (kind) return document.body.classList.toggle(`no-${kind}`, !event.target.checked);
    clearTimeout(waiting);
    waiting = setTimeout(filter, data.live ? 250 : 60);
  });
  $("filters").addEventListener("reset", () => setTimeout(() => {
    document.body.classList.remove("no-boxes", "no-masks", "no-points");
    filter();
  }));
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("more-button").addEventListener("click", more);
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, select, textarea");
    if (event.key === "/" && !isTyping && !dialog.open) {
      event.preventDefault();
      $("search").focus();
    }
  });
  return filter();
}
begin();
