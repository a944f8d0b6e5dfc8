/** Filter and search. The page is whole without it; it only hides what was not asked for. */
export const pageScript = `
(() => {
  const bar = document.getElementById("bar");
  const cards = [...document.querySelectorAll("article")].map((node) => ({ node, text: node.textContent.toLowerCase() }));
  const find = (id) => document.getElementById(id);
  const search = find("search"), surface = find("surface"), change = find("change"), state = find("state"), mine = find("mine"), shown = find("shown");
  const apply = () => {
    const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let count = 0;
    for (const { node, text } of cards) {
      const data = node.dataset;
      const fits = (!surface.value || data.surface === surface.value)
        && (!change.value || data.change === change.value)
        && (!state.value || data.state === state.value)
        && (!mine.checked || data.scopes !== "0")
        && words.every((word) => text.includes(word));
      node.hidden = !fits;
      if (fits) count++;
    }
    for (const section of document.querySelectorAll("section.surface")) {
      section.hidden = ![...section.querySelectorAll("article")].some((node) => !node.hidden);
    }
    shown.textContent = count + " of " + cards.length + " shown";
  };
  for (const control of [search, surface, change, state, mine]) control.addEventListener("input", apply);
  bar.hidden = false;
  apply();
})();
`;
