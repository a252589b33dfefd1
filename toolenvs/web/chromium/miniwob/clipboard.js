// A clipboard of the page's own: Chromium has one for all of its pages, so that what one episode copies another would
// paste.
(() => {
  let kept = "";
  const selected = () => {
    const field = document.activeElement;
    const fits = field && typeof field.value === "string" && field.type !== "password" && field.selectionStart !== null;
    return fits ? field.value.slice(field.selectionStart, field.selectionEnd) : String(getSelection());
  };
  const take = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    kept = selected() || kept;
  };
  window.addEventListener("copy", take, true);
  window.addEventListener("cut", (event) => {
    take(event);
    document.execCommand("delete");
  }, true);
  window.addEventListener("paste", (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    if (kept) document.execCommand("insertText", false, kept);
  }, true);
})();
