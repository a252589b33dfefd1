// What is done inside a page, in a world of its own that the page's scripts cannot reach.
(() => {
  const MARK = "data-te-id";
  const MARKED =
    "a[href], area[href], button, input, select, textarea, [onclick], [role=button], [role=link], [role=checkbox], " +
    "[role=radio], [role=switch], [role=tab], [role=menuitem], [role=option]";
  const element = (mark) => document.querySelector(`[${MARK}="${mark}"]`);
  const noted = (globalThis.noted ??= { event: null }); // kept from one call to the next

  // Mark what can be acted upon, and write the page out with the state of its fields.
  const read = async (most, turns) => {
    for (let turn = 0; turn < turns; turn++) await new Promise((go) => setTimeout(go, 0));
    if (!document.documentElement) return { html: "", url: location.href, type: "", cut: false };
    for (const old of document.querySelectorAll(`[${MARK}]`)) old.removeAttribute(MARK);
    let next = 0;
    for (const one of document.querySelectorAll(MARKED)) one.setAttribute(MARK, next++);
    const copy = document.documentElement.cloneNode(true);
    const live = document.querySelectorAll("input, select, textarea, option");
    const copies = copy.querySelectorAll("input, select, textarea, option");
    for (let place = 0; place < live.length && place < copies.length; place++) {
      const one = live[place];
      const written = copies[place];
      const tag = one.localName;
      if (tag === "textarea") written.textContent = one.value;
      else if (tag === "option") written.toggleAttribute("selected", one.selected);
      else if (tag === "input") {
        if (one.type === "checkbox" || one.type === "radio") written.toggleAttribute("checked", one.checked);
        else if (one.type !== "file" && (one.value || written.hasAttribute("value"))) {
          written.setAttribute("value", one.value);
        }
      }
      if (one.disabled !== written.disabled) written.toggleAttribute("disabled", one.disabled);
    }
    const kind = document.doctype ? new XMLSerializer().serializeToString(document.doctype) : "";
    const html = kind + copy.outerHTML;
    const type = document.contentType === "application/xhtml+xml" ? document.contentType : "text/html";
    return { html: html.slice(0, most), url: location.href, type, cut: html.length > most };
  };

  // Where to click an element with the mouse; null where it cannot be hit, so that it has to be clicked by script.
  const aim = (mark) => {
    const one = element(mark);
    if (!one) return { found: false };
    for (let up = one; up; up = up.parentElement) up.removeAttribute("target"); // there is one tab
    one.removeAttribute("download"); // what a link leads to is shown, or refused
    noted.event = null;
    window.addEventListener("click", (event) => void (noted.event = event), { once: true, capture: true });
    one.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const boxes = [...one.getClientRects()].filter((box) => box.width > 1 && box.height > 1);
    for (const box of boxes) {
      const x = box.left + box.width / 2;
      const y = box.top + box.height / 2;
      const hit = document.elementFromPoint(x, y);
      if (hit && (hit === one || one.contains(hit))) return { found: true, at: [x, y] };
    }
    return { found: true, at: null };
  };
  const clickByScript = (mark) => void element(mark)?.click();
  // What became of the click: "missed" where the page moved under the mouse, "held" by a script, or "passed" on.
  const fate = () => (!noted.event ? "missed" : noted.event.defaultPrevented ? "held" : "passed");

  const changed = (one) => {
    one.dispatchEvent(new Event("input", { bubbles: true }));
    one.dispatchEvent(new Event("change", { bubbles: true }));
  };

  // Make a field ready for keys: "keys" where they can follow, "done" where its value was set instead.
  const ready = (mark, text) => {
    const one = element(mark);
    if (!one) return "gone";
    one.scrollIntoView({ block: "center", behavior: "instant" });
    one.focus();
    const typed = one.localName === "textarea" || /^(text|search|url|tel|email|password)$/.test(one.type);
    if (typed && document.activeElement === one && !one.readOnly) {
      one.select();
      return "keys";
    }
    one.value = text;
    changed(one);
    return "done";
  };
  const put = (mark, text) => {
    const one = element(mark);
    if (!one) return "gone";
    one.value = text;
    changed(one);
    return "done";
  };
  const leave = (mark) => {
    const one = element(mark);
    if (one) one.dispatchEvent(new Event("change", { bubbles: true }));
  };

  const choose = (mark, values) => {
    const one = element(mark);
    if (!one) return "gone";
    const wanted = [...values];
    for (const option of one.options) {
      const place = wanted.indexOf(option.value);
      option.selected = place >= 0;
      if (place >= 0) wanted.splice(place, 1);
    }
    changed(one);
    return "done";
  };

  const check = (mark, on) => {
    const one = element(mark);
    if (!one) return "gone";
    if (one.checked !== on) one.click();
    return "done";
  };

  // Send a form as its button would: "sent", "gone", or the mark of the field that keeps it from being sent.
  const send = (mark, index) => {
    const one = mark === null ? null : element(mark);
    const form = one ? one.form : document.forms[index];
    if (!form) return "gone";
    form.removeAttribute("target");
    const button = one && one.matches("button:not([type=button]):not([type=reset]), input[type=submit], input[type=image]");
    if (!form.noValidate && !(button && one.formNoValidate)) {
      for (const field of form.elements) {
        if (field.willValidate && !field.checkValidity()) {
          return "field " + (field.getAttribute(MARK) ?? "") + " " + field.validationMessage;
        }
      }
    }
    form.requestSubmit(button ? one : null);
    return "sent";
  };

  return { read, aim, clickByScript, fate, ready, put, leave, choose, check, send };
})()
