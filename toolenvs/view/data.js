// What the page holds: a row of each episode at once, the rest of it when it is asked for.

const data = JSON.parse(at("data").textContent);
const rows = (data.columns.task ?? []).map((_, place) => {
  const row = { place };
  for (const name of Object.keys(data.columns)) row[name] = data.columns[name][place];
  return row;
});
const packed = [...document.getElementsByClassName("chunk")];
const OPEN_CHUNKS = 8;
const opened = new Map(); // the latest last

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function chunk(index) {
  const found = opened.get(index) ?? unpack(packed[index].textContent);
  opened.delete(index);
  opened.set(index, found);
  if (opened.size > OPEN_CHUNKS) opened.delete(opened.keys().next().value);
  return found;
}

// A row together with the rest of its episode.
async function whole(row) {
  const rests = await chunk(Math.floor(row.place / data.chunk));
  return { ...row, ...rests[row.place % data.chunk] };
}

// Places of the episodes in which anybody wrote these words; `stale` tells that nobody waits for them any more.
async function written(words, stale, progress) {
  const places = new Set();
  for (let index = 0; index < packed.length; index++) {
    const rests = await unpack(packed[index].textContent);
    if (stale()) return null;
    rests.forEach((rest, offset) => {
      if (rest.segments.some(segment => segment.text.toLowerCase().includes(words))) places.add(index * data.chunk + offset);
    });
    progress(index + 1, packed.length);
  }
  return places;
}
