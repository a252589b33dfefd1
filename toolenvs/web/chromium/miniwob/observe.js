// What a page of MiniWoB++ shows, as lines, each with the number of its element; run again after every action.
// Elements keep no number from one look to the next: numbers follow the order of the page, so that the same page reads
// the same. The goal, the reward display and the covers over the page are not part of what is shown.
async () => {
  const HIDDEN = new Set(["query", "reward-display", "sync-task-cover", "click-canvas"]);
  const CONTROLS = new Set(["a", "button", "input", "select", "textarea", "option", "canvas", "iframe"]);
  const SHAPES = new Set(["circle", "ellipse", "line", "path", "polygon", "polyline", "rect", "text"]);
  const NOTED = ["id", "title", "placeholder", "aria-label", "data-index", "data-color", "data-result", "href"];
  const lines = [];
  const short = (text, most = 400) => {
    const one = text.replace(/\s+/g, " ").trim();
    return one.length > most ? one.slice(0, most) + "..." : one;
  };

  const ownText = (element) => {
    let text = "";
    for (const child of element.childNodes) if (child.nodeType === Node.TEXT_NODE) text += child.data;
    return short(text);
  };

  const described = (element, tag, style) => {
    const words = [];
    if (tag === "input") words.push("type=" + element.type);
    for (const name of NOTED) {
      const value = element.getAttribute(name);
      if (value && !(name === "href" && value === "#")) words.push(name + "=" + JSON.stringify(short(value, 80)));
    }
    const classes = short(element.getAttribute("class") || "", 80);
    if (classes) words.push("class=" + JSON.stringify(classes));
    if (tag === "input" && (element.type === "checkbox" || element.type === "radio")) {
      words.push(element.checked ? "checked" : "unchecked");
    } else if (tag === "input" || tag === "textarea") {
      words.push("value=" + JSON.stringify(short(element.value)));
    } else if (tag === "select") {
      words.push("chosen=" + JSON.stringify([...element.selectedOptions].map((o) => short(o.text)).join(", ")));
      words.push("options=" + JSON.stringify([...element.options].map((o) => short(o.text, 40)).slice(0, 60)));
    }
    if (SHAPES.has(tag)) {
      words.push("fill=" + style.fill.replace(/ /g, ""));
    } else if (style.backgroundColor !== "rgba(0, 0, 0, 0)" && !CONTROLS.has(tag)) {
      words.push("background=" + style.backgroundColor.replace(/ /g, ""));
    }
    if (document.activeElement === element && tag !== "body") words.push("focused");
    if (element.disabled) words.push("disabled");
    return words;
  };

  // Whether a leaf or a drawing answers the pointer: jQuery and d3 keep their listeners where a script can see them.
  const listens = (element, tag) => {
    if (element.childElementCount > 0 && tag !== "svg") return false;
    const heard = Object.keys((window.jQuery && jQuery._data && jQuery._data(element, "events")) || {});
    return heard.some((name) => /^(click|mousedown|mousemove)$/.test(name)) || "__onclick" in element;
  };

  const look = (element) => {
    if (HIDDEN.has(element.id)) return;
    const tag = element.tagName.toLowerCase();
    if (tag === "script" || tag === "style" || tag === "defs") return;
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden" || style.opacity === "0") return;
    const box = element.getBoundingClientRect();
    const seen = SHAPES.has(tag) ? box.width > 0 || box.height > 0 : box.width > 0 && box.height > 0;
    const text = ownText(element);
    const painted = style.backgroundColor !== "rgba(0, 0, 0, 0)" && element.childElementCount === 0;
    const told =
      seen &&
      (text || CONTROLS.has(tag) || SHAPES.has(tag) || painted || style.cursor === "pointer" || tag === "img" ||
        element.hasAttribute("onclick") || listens(element, tag) || /auto|scroll/.test(style.overflowY));
    if (told && tag !== "option" && tag !== "body") {
      const number = lines.length;
      element.setAttribute("data-te-id", number);
      const place = [box.left, box.top, box.width, box.height].map(Math.round);
      const words = [tag, ...described(element, tag, style)];
      if (text && tag !== "textarea") words.push(JSON.stringify(text));
      lines.push(`[${number}] ${words.join(" ")} @${place[0]},${place[1]} ${place[2]}x${place[3]}`);
    }
    if (tag !== "select" && tag !== "textarea") for (const child of element.children) look(child);
  };

  const loading = [...document.images].filter((image) => !image.complete);
  await Promise.all(
    loading.map((image) => new Promise((go) => ["load", "error"].forEach((name) => image.addEventListener(name, go))))
  );
  // of what is hidden now too, or two elements would have one number
  for (const element of document.querySelectorAll("[data-te-id]")) element.removeAttribute("data-te-id");
  look(document.body);
  const told = core.getUtterance();
  return {
    goal: typeof told === "string" ? told : told.utterance,
    lines,
    done: WOB_DONE_GLOBAL,
    ready: WOB_TASK_READY,
    reward: WOB_REWARD_GLOBAL,
    raw: WOB_RAW_REWARD_GLOBAL,
    reason: WOB_REWARD_REASON,
  };
}
