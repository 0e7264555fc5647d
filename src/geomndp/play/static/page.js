// The page: where the address holds the token, and its fragment a state.
import { connectSocket, encodeState, mount } from "./playground.js";

const path = location.pathname;
const element = document.getElementById("playground");
let kept = false;
try {
  localStorage.setItem("path", path); // for `/`, so that links need no token
  kept = localStorage.getItem("path") === path;
} catch {
  kept = false; // the address stays as it is
}
mount(element, connectSocket(`ws://${location.host}${path}socket`), {
  fragment: location.hash,
  link: (state) => `${location.origin}/#${encodeState(state)}`,
  onState: (state) => history.replaceState(null, "", `${kept ? "/" : path}#${encodeState(state)}`),
});
window.addEventListener("hashchange", () => location.reload());
