/** The page's own style: two palettes from one list of names, no font or image from anywhere. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#f6f5f2, #14161a);
  --card: light-dark(#ffffff, #1d2026);
  --ink: light-dark(#1c1e21, #e7e8ea);
  --soft: light-dark(#5a5f66, #a3a9b3);
  --line: light-dark(#dcdad4, #343942);
  --well: light-dark(#f1efea, #16191e);
  --accent: light-dark(#1f5fae, #82b4f5);
  --widens: light-dark(#a3341f, #ff9b85);
  --widens-bg: light-dark(#fbe9e4, #3a211c);
  --shifts: light-dark(#7a5600, #f0c465);
  --shifts-bg: light-dark(#faf0d7, #352b15);
  --narrows: light-dark(#32587d, #9cc4ea);
  --narrows-bg: light-dark(#e5eef7, #1c2b3a);
  --good: light-dark(#21693a, #86d29c);
  --good-bg: light-dark(#e3f3e7, #1a3022);
}
* { box-sizing: border-box; }
html { scroll-padding-top: 5rem; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
main, header.top > div { max-width: 1080px; margin: 0 auto; padding: 0 1.25rem; }
header.top { background: var(--card); border-bottom: 1px solid var(--line); padding: 2rem 0 1.25rem; }
h1 { font-size: 1.65rem; line-height: 1.2; margin: 0 0 .35rem; text-wrap: balance; }
h2 { font-size: 1.2rem; margin: 0; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; line-height: 1.4; }
p { margin: .35rem 0; }
a { color: var(--accent); }
code, .mono { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .88em; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.facts { display: flex; flex-wrap: wrap; gap: .2rem 1.6rem; margin: .6rem 0 0; padding: 0; list-style: none; color: var(--soft); }
.facts b { color: var(--ink); font-weight: 600; }
.verdict { margin: 1.1rem 0 0; padding: .7rem 1rem; border-radius: 8px; border-left: 4px solid; font-weight: 600; }
.verdict.open { background: var(--shifts-bg); border-color: var(--shifts); }
.verdict.refused { background: var(--widens-bg); border-color: var(--widens); }
.verdict.finished { background: var(--good-bg); border-color: var(--good); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(215px, 1fr)); gap: .8rem; margin: 1.4rem 0 1rem; }
.tile { display: block; background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .8rem 1rem; color: inherit; text-decoration: none; }
.tile:hover, .tile:focus-visible { border-color: var(--accent); }
.tile strong { display: block; margin-bottom: .3rem; }
.tile .n { font-size: 1.5rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.tile ul { list-style: none; margin: .2rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0 .9rem; font-size: .87rem; }
.bar { position: sticky; top: 0; z-index: 2; background: var(--paper); border-bottom: 1px solid var(--line); padding: .7rem 0; display: flex; flex-wrap: wrap; gap: .5rem .7rem; align-items: center; }
.bar[hidden] { display: none; }
.bar input, .bar select {
  font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 7px; padding: .35rem .6rem; min-width: 0;
}
.bar input[type=search] { flex: 1 1 11rem; }
.bar label { display: inline-flex; gap: .35rem; align-items: center; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
section.surface { margin: 2rem 0; }
section.surface > .head { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: baseline; margin-bottom: .3rem; }
article { background: var(--card); border: 1px solid var(--line); border-left-width: 4px; border-radius: 8px; padding: .85rem 1.1rem; margin: .7rem 0; }
article.widens { border-left-color: var(--widens); }
article.shifts { border-left-color: var(--shifts); }
article.narrows { border-left-color: var(--narrows); }
.line { display: flex; flex-wrap: wrap; gap: .3rem .6rem; align-items: baseline; justify-content: space-between; }
.chips { display: flex; flex-wrap: wrap; gap: .3rem; margin: .45rem 0 0; padding: 0; list-style: none; }
.chip { font-size: .78rem; padding: .08rem .5rem; border-radius: 99px; background: var(--well); color: var(--soft); border: 1px solid var(--line); }
.chip.widens { background: var(--widens-bg); color: var(--widens); border-color: transparent; }
.chip.shifts { background: var(--shifts-bg); color: var(--shifts); border-color: transparent; }
.chip.narrows { background: var(--narrows-bg); color: var(--narrows); border-color: transparent; }
.chip.done { background: var(--good-bg); color: var(--good); border-color: transparent; }
.chip.bad { background: var(--widens-bg); color: var(--widens); border-color: transparent; }
.id { color: var(--soft); user-select: all; white-space: nowrap; }
.ba { display: grid; grid-template-columns: 1fr 1fr; gap: .6rem; margin: .65rem 0 .2rem; }
.ba.one { grid-template-columns: 1fr; }
.ba > div { background: var(--well); border-radius: 6px; padding: .45rem .7rem; min-width: 0; }
.ba .what { display: block; font-size: .74rem; letter-spacing: .03em; color: var(--soft); }
.ba pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 14rem; overflow: auto; font: .86rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem .9rem; margin: .6rem 0 0; font-size: .93rem; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
dd p { margin: 0 0 .2rem; }
dd ul { margin: 0; padding-left: 1.1rem; }
details { margin-top: .55rem; }
summary { cursor: pointer; color: var(--accent); width: fit-content; }
table { border-collapse: collapse; width: 100%; font-size: .87rem; margin-top: .5rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .55rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; }
.wide { overflow-x: auto; }
.wide table { min-width: 900px; }
footer { max-width: 1080px; margin: 3rem auto 2rem; padding: 1rem 1.25rem 0; border-top: 1px solid var(--line); color: var(--soft); font-size: .87rem; }
.none { padding: 1rem 0; color: var(--soft); }
[hidden] { display: none !important; }
@media (max-width: 640px) {
  .ba { grid-template-columns: 1fr; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .4rem; }
  h1 { font-size: 1.35rem; }
  .bar { position: static; }
  .bar input[type=search] { flex-basis: 100%; }
}
@media print {
  .bar { display: none; }
  article { break-inside: avoid; }
}
`;
