// Samples beside what a recipe makes of them.
function actionText(action) {
  const [[name, numbers]] = Object.entries(action);
  const parts = Object.entries(numbers || {}).map(([key, value]) => `${key} ${JSON.stringify(value, (_, n) => typeof n === "number" ? +n.toPrecision(4) : n)}`);
  return [name, ...parts].join(" ");
}

function drawnPicture(url, title, lines) {
  const caption = [make("strong", {}, [title]), ...lines.map((line) => make("span", {}, [line]))];
  return make("figure", {}, [make("img", { src: url, alt: [title, ...lines].join(", ") }), make("figcaption", {}, caption)]);
}

function drawnSample(sample) {
  const name = make("h3", {}, [sample.key]);
  if (sample.trouble) return make("li", {}, [name, make("p", {}, [sample.trouble])]);
  const draws = sample.draws.map((draw) => drawnPicture(draw.url, `epoch ${draw.epoch}`, draw.actions.map(actionText)));
  return make("li", {}, [name, make("div", { class: "drawn" }, [drawnPicture(sample.original, "original", []), ...draws])]);
}

function showDraws(draws) {
  if (!draws) return;
  $("draws-link").hidden = false;
  $("draws").hidden = false;
  $("recipe").textContent = `The recipe: ${draws.operations.join(", ") || "no operation"}.`;
  $("drawn").append(...draws.samples.map(drawnSample));
}
