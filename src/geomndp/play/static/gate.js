// Leads a browser that has seen the token of this playground back to it, with the state of a link.
let path = null;
try {
  path = localStorage.getItem("path");
} catch {
  path = null;
}
if (path && /^\/[\w-]+\/$/.test(path)) {
  fetch(path, { method: "HEAD" }).then((answer) => {
    if (answer.ok) location.replace(path + location.hash);
    else localStorage.removeItem("path");
  });
}
